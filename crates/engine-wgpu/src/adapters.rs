//! The adapters of this machine, and the choice of one.

use crate::{Wgpu, vulkan_heap};
use inkstone_compute::{Caps, DeviceInfo, Error, Result, available_memory};
use std::path::Path;
use wgpu::{Adapter, Backends, DeviceType, Instance, InstanceDescriptor, InstanceFlags};

/// The memory of an adapter that does not tell it.
pub(crate) const UNKNOWN: u64 = 4 << 30;

/// For the automatic choice of an engine, models of fewer bytes are as fast on the CPU.
const SMALL: u64 = 64 << 20;

/// The error of an engine without a device.
pub(crate) fn none(reason: impl Into<String>) -> Error {
    Error::NoDevice { engine: Wgpu::NAME.to_owned(), reason: reason.into() }
}

/// Kinds in the order in which they are preferred.
const KINDS: [(DeviceType, &str); 5] = [
    (DeviceType::DiscreteGpu, "discrete"),
    (DeviceType::IntegratedGpu, "integrated"),
    (DeviceType::VirtualGpu, "virtual"),
    (DeviceType::Other, "other"),
    (DeviceType::Cpu, "software"),
];

fn kind(adapter: &Adapter) -> (usize, &'static str) {
    let ty = adapter.get_info().device_type;
    let place = KINDS.iter().position(|(known, _)| *known == ty).unwrap_or(KINDS.len() - 1);
    (place, KINDS[place].1)
}

/// All adapters, the best first.
///
/// # Errors
/// There is none; the error says where drivers were looked for.
pub(crate) fn all() -> Result<Vec<Adapter>> {
    let mut description = InstanceDescriptor::new_without_display_handle();
    description.backends = Backends::VULKAN | Backends::METAL | Backends::DX12;
    description.flags = InstanceFlags::empty();
    let instance = Instance::new(description);
    let mut adapters = pollster::block_on(instance.enumerate_adapters(Backends::all()));
    adapters.sort_by_key(|adapter| kind(adapter).0);
    if adapters.is_empty() { Err(none(nowhere())) } else { Ok(adapters) }
}

/// Where drivers were looked for.
fn nowhere() -> String {
    if cfg!(target_os = "linux") {
        "no driver of Vulkan was found; the loader is libvulkan.so.1 in the library path, and drivers are listed in \
         VK_DRIVER_FILES or in vulkan/icd.d below /usr/share, /etc and ~/.local/share"
            .to_owned()
    } else if cfg!(windows) {
        "no adapter of DirectX 12 or Vulkan was found".to_owned()
    } else {
        "no adapter of Metal was found".to_owned()
    }
}

/// Whether the system has a device file of a GPU, so that it is worth while to load a driver.
fn is_likely() -> bool {
    let has = |folder: &str, prefix: &str| {
        let names = std::fs::read_dir(Path::new(folder)).into_iter().flatten().flatten();
        names.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
    };
    !cfg!(target_os = "linux") || has("/dev/dri", "renderD") || has("/dev", "nvidia")
}

/// The adapter for an engine that was not asked for by its name, and weights of so many bytes.
///
/// # Errors
/// Another engine is faster.
pub(crate) fn automatic(weight_bytes: u64) -> Result<Adapter> {
    if weight_bytes <= SMALL {
        return Err(none(format!("a model of {weight_bytes} bytes is as fast on the CPU")));
    }
    if !is_likely() {
        return Err(none("the system has no device file of a GPU"));
    }
    let adapters = all()?;
    let discrete = adapters.into_iter().find(|adapter| kind(adapter).1 == "discrete");
    discrete.ok_or_else(|| none("none is discrete; others are used only by name"))
}

/// The adapter with a name, a part of one, or a number; without one, the best.
///
/// # Errors
/// There is none such; the error lists all.
pub(crate) fn named(name: Option<&str>) -> Result<Adapter> {
    let mut adapters = all()?;
    let Some(name) = name else { return Ok(adapters.swap_remove(0)) };
    let names: Vec<String> = adapters.iter().map(|adapter| adapter.get_info().name).collect();
    let lower = name.to_lowercase();
    let place = match name.parse::<usize>() {
        Ok(number) => (number < adapters.len()).then_some(number),
        Err(_) => names.iter().position(|known| known.to_lowercase().contains(&lower)),
    };
    match place {
        Some(place) => Ok(adapters.swap_remove(place)),
        None => {
            let known =
                names.iter().enumerate().map(|(i, name)| format!("{i} ({name})")).collect::<Vec<_>>().join(", ");
            Err(none(format!("no device {name}; there are: {known}")))
        }
    }
}

/// The memory of an adapter, if it tells it: its size, and the bytes that an engine may use.
fn memory_of(adapter: &Adapter) -> Option<(u64, u64)> {
    let heap = vulkan_heap::largest(adapter)?;
    let shared = matches!(kind(adapter).1, "software" | "integrated");
    let size = if shared { heap.size.min(available_memory()) } else { heap.size };
    Some((size, usable(size, heap.free)))
}

/// The usable bytes of a heap: the free ones, and at most all but a sixteenth, which is left to the driver.
fn usable(size: u64, free: Option<u64>) -> u64 {
    (size - size / 16).min(free.unwrap_or(u64::MAX))
}

/// The memory that an engine may use on an adapter, if it tells it.
pub(crate) fn told_memory(adapter: &Adapter) -> Option<u64> {
    memory_of(adapter).map(|(_, usable)| usable)
}

/// The most bytes of a buffer that a kernel reaches with these limits.
pub(crate) fn binding(limits: &wgpu::Limits) -> u64 {
    limits.max_storage_buffer_binding_size.min(limits.max_buffer_size) / 256 * 256
}

/// The driver of an adapter: the programming interface, the name of the driver and its version.
fn driver(adapter: &Adapter) -> String {
    let info = adapter.get_info();
    let words = [format!("{:?}", info.backend), info.driver, info.driver_info];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The name of an adapter with its driver: results may differ on another one.
pub(crate) fn identity(adapter: &Adapter) -> String {
    format!("{}, {}", adapter.get_info().name, driver(adapter))
}

/// An adapter as it is described to people.
pub(crate) fn describe(adapter: &Adapter, caps: &Caps) -> DeviceInfo {
    let (info, told, limits) = (adapter.get_info(), memory_of(adapter), adapter.limits());
    let mut device = DeviceInfo::of(caps, kind(adapter).1);
    device.driver = driver(adapter);
    (device.memory, device.memory_known) = (told.map_or(UNKNOWN, |(size, _)| size), told.is_some());
    device.binding = Some(binding(&limits));
    device.features = vec![
        format!("subgroups of {} to {}", info.subgroup_min_size, info.subgroup_max_size),
        format!("{} bytes of workgroup memory", limits.max_compute_workgroup_storage_size),
    ];
    device.name = info.name;
    device
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_others_use_is_not_used() {
        assert_eq!(usable(16 << 30, None), 15 << 30);
        assert_eq!(usable(16 << 30, Some(16 << 30)), 15 << 30);
        assert_eq!(usable(16 << 30, Some(3 << 30)), 3 << 30);
        assert_eq!(usable(16 << 30, Some(0)), 0);
    }
}
