//! The device: how it is opened, its limits, and whether it is still there.

use crate::Wgpu;
use crate::adapters::none;
use crate::bindings::{Layouts, PARAMETERS};
use crate::faults::Faults;
use crate::memory;
use inkstone_compute::{Error, Result};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use wgpu::{Adapter, DeviceDescriptor, Features, Limits};

/// How long the host waits for work. A driver that loses a device can drop what would tell that the work is over.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// An open device, and all that is made once for it.
pub(crate) struct Device {
    pub(crate) wgpu: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) limits: Limits,
    pub(crate) layouts: Layouts,
    pub(crate) faults: Faults,
    /// Allocations of memory so far.
    pub(crate) allocations: AtomicU64,
    none: OnceLock<[wgpu::Buffer; 3]>,
    failure: Arc<Mutex<Option<String>>>,
}

/// The limits that the engine asks for: the core limits, or all that the adapter has.
fn limits(adapter: &Adapter, core: bool) -> Limits {
    if core { Limits::defaults() } else { adapter.limits() }
}

impl Device {
    /// Opens an adapter; with only the limits and features that every adapter has, if `core`.
    ///
    /// # Errors
    /// The driver refuses.
    pub(crate) fn open(adapter: &Adapter, core: bool, faults: Faults) -> Result<Device> {
        let required_limits = limits(adapter, core);
        let description = DeviceDescriptor {
            required_limits: required_limits.clone(),
            required_features: Features::empty(),
            ..DeviceDescriptor::default()
        };
        let opened = pollster::block_on(adapter.request_device(&description));
        let (device, queue) = opened.map_err(|error| none(format!("{}: {error}", adapter.get_info().name)))?;
        Ok(Device::new(device, queue, required_limits, faults))
    }

    fn new(wgpu: wgpu::Device, queue: wgpu::Queue, limits: Limits, faults: Faults) -> Device {
        let failure = Arc::new(Mutex::new(None));
        let first = |failure: &Mutex<Option<String>>, message: String| {
            failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(message);
        };
        let lost = failure.clone();
        wgpu.set_device_lost_callback(move |_, message| first(&lost, message));
        let uncaptured = failure.clone();
        wgpu.on_uncaptured_error(Arc::new(move |error: wgpu::Error| first(&uncaptured, error.to_string())));
        let layouts = Layouts::new(&wgpu);
        Device { wgpu, queue, limits, layouts, faults, allocations: AtomicU64::new(0), none: OnceLock::new(), failure }
    }

    /// Buffers for bindings that a kernel does not use: one to read, and two to write.
    ///
    /// # Errors
    /// There is no memory for them.
    pub(crate) fn none(&self) -> Result<[&wgpu::Buffer; 3]> {
        if let Some(none) = self.none.get() {
            return Ok(none.each_ref());
        }
        let [read, first, second] = [0; 3].map(|_: u8| memory::buffer(self, PARAMETERS, "no operand"));
        let made = [read?, first?, second?];
        Ok(self.none.get_or_init(|| made).each_ref())
    }

    /// That the device is there.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] with the first message of the driver.
    pub(crate) fn check(&self) -> Result<()> {
        match &*self.failure.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(reason) => Err(lost(reason.clone())),
        }
    }

    /// Waits for a submission, or for all.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], also if it takes longer than any step may.
    pub(crate) fn wait(&self, submission: Option<wgpu::SubmissionIndex>) -> Result<()> {
        let poll = self.wgpu.poll(wgpu::PollType::Wait { submission_index: submission, timeout: Some(DEADLINE) });
        self.check()?;
        poll.map(drop).map_err(|error| lost(error.to_string()))
    }

    /// Runs `make`, and gives the error of the device instead if it made one.
    pub(crate) fn scoped<T>(&self, filter: wgpu::ErrorFilter, make: impl FnOnce() -> T) -> Result<T, String> {
        let scope = self.wgpu.push_error_scope(filter);
        let made = make();
        match pollster::block_on(scope.pop()) {
            None => Ok(made),
            Some(error) => Err(error.to_string()),
        }
    }
}

/// The error of a device that failed.
pub(crate) fn lost(reason: String) -> Error {
    Error::DeviceLost { engine: Wgpu::NAME.to_owned(), reason }
}
