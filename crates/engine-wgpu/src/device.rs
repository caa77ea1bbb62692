//! The device: how it is opened, its limits, and whether it is still there.

use crate::Wgpu;
use crate::adapters::none;
use crate::bindings::{Layouts, PARAMETERS};
use crate::faults::Faults;
use crate::memory;
use crate::times::CLOCK;
use crate::variant::Variant;
use inkstone_compute::{EngineOptions, Error, Result};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use wgpu::{Adapter, DeviceDescriptor, Features, Limits};

/// How long the host waits for work before it looks whether the device is still there, and how often. A driver that loses a
/// device can forget to tell that its work is over; a driver that computes on the CPU may take minutes for a long prompt.
const PATIENCE: Duration = Duration::from_secs(1);
const ROUNDS: usize = 3600;

/// An open device, and all that is made once for it.
pub(crate) struct Device {
    pub(crate) wgpu: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) limits: Limits,
    /// The variant of its kernels.
    pub(crate) variant: Variant,
    pub(crate) layouts: Layouts,
    /// Held while work is submitted or written: all queues are one line, because plans share arenas and states.
    line: Mutex<()>,
    pub(crate) faults: Faults,
    /// Whether it does nothing.
    pub(crate) is_noop: bool,
    /// Allocations of memory so far.
    pub(crate) allocations: AtomicU64,
    none: OnceLock<[wgpu::Buffer; 3]>,
    failure: Arc<Mutex<Option<String>>>,
}

impl Device {
    /// Opens an adapter with a variant: with its least limits, if the options name it; with a clock, if they ask for the times of
    /// steps and the adapter has one.
    ///
    /// # Errors
    /// The driver refuses.
    pub(crate) fn open(adapter: &Adapter, variant: Variant, options: &EngineOptions, faults: Faults) -> Result<Device> {
        let required_limits = variant.limits(adapter, options.isa.is_some());
        let clock = if options.profile { adapter.features() & CLOCK } else { Features::empty() };
        let description = DeviceDescriptor {
            required_limits: required_limits.clone(),
            required_features: variant.features() | clock,
            ..DeviceDescriptor::default()
        };
        let opened = pollster::block_on(adapter.request_device(&description));
        let (device, queue) = opened.map_err(|error| none(format!("{}: {error}", adapter.get_info().name)))?;
        Ok(Device { variant, ..Device::new(device, queue, required_limits, faults) })
    }

    /// A device that does nothing.
    pub(crate) fn noop() -> Device {
        let (device, queue) = wgpu::Device::noop(&DeviceDescriptor::default());
        Device { is_noop: true, ..Device::new(device, queue, Limits::defaults(), Faults::default()) }
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
        Device {
            wgpu,
            queue,
            limits,
            variant: Variant::Core,
            layouts,
            line: Mutex::default(),
            faults,
            is_noop: false,
            allocations: AtomicU64::new(0),
            none: OnceLock::new(),
            failure,
        }
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

    /// Keeps other queues from submitting and writing.
    pub(crate) fn line(&self) -> MutexGuard<'_, ()> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
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
        for _ in 0..ROUNDS {
            let wait = wgpu::PollType::Wait { submission_index: submission.clone(), timeout: Some(PATIENCE) };
            let poll = self.wgpu.poll(wait);
            self.check()?;
            match poll {
                Ok(_) => return Ok(()),
                Err(wgpu::PollError::Timeout) => {}
                Err(error) => return Err(lost(error.to_string())),
            }
        }
        Err(lost(format!("a step took more than {ROUNDS} seconds")))
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
