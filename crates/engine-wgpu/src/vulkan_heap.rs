//! The memory of Vulkan devices: wgpu does not tell it, so the driver is asked.

use wgpu::Adapter;

/// A heap of memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heap {
    /// Its bytes.
    pub(crate) size: u64,
    /// The bytes that neither this process nor others use, where the driver tells them (`VK_EXT_memory_budget`).
    pub(crate) free: Option<u64>,
}

/// The largest heap of an adapter's own memory; `None` if it is not one of Vulkan.
#[cfg(not(target_vendor = "apple"))]
#[allow(unsafe_code)]
pub(crate) fn largest(adapter: &Adapter) -> Option<Heap> {
    use ash::{ext, vk};
    use wgpu::hal::api::Vulkan;
    let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
    // SAFETY: the handles are only read, and live as long as the adapter, which is borrowed. The second query and its
    // extension exist where `supports_extension` and the version of the instance say so.
    let (properties, tells_budget) = unsafe {
        let vulkan = adapter.as_hal::<Vulkan>()?;
        let (shared, device) = (vulkan.shared_instance(), vulkan.raw_physical_device());
        let extended = vulkan.physical_device_capabilities().supports_extension(ext::memory_budget::NAME)
            && shared.instance_api_version() >= vk::API_VERSION_1_1;
        let properties = if extended {
            let mut all = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
            shared.raw_instance().get_physical_device_memory_properties2(device, &mut all);
            all.memory_properties
        } else {
            shared.raw_instance().get_physical_device_memory_properties(device)
        };
        (properties, extended)
    };
    let heaps = properties.memory_heaps.iter().zip(budget.heap_budget.iter().zip(&budget.heap_usage));
    let own = heaps
        .take(properties.memory_heap_count as usize)
        .filter(|(heap, _)| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL));
    let heap = own.map(|(heap, (budget, usage))| Heap {
        size: heap.size,
        free: tells_budget.then(|| budget.saturating_sub(*usage)).filter(|_| *budget > 0),
    });
    heap.max_by_key(|heap| heap.size)
}

/// There is only Metal.
#[cfg(target_vendor = "apple")]
pub(crate) fn largest(_adapter: &Adapter) -> Option<Heap> {
    None
}
