//! The card without the engine: for limits, and for kernels of its own.

use inkstone::compute::{Engine, EngineOptions};
use inkstone_engine_wgpu::Wgpu;
use std::time::{Duration, Instant};
use wgpu::{Adapter, Backends, Device, DeviceDescriptor, Instance, InstanceDescriptor, InstanceFlags, PollType, Queue};

/// The longest time of a submit.
const PATIENCE: Duration = Duration::from_secs(60);

/// The adapter that the engine uses.
pub fn adapter() -> Result<Adapter, String> {
    let engine = Wgpu::new(&EngineOptions::default()).map_err(|error| error.to_string())?;
    let device = engine.caps().device.clone();
    let mut description = InstanceDescriptor::new_without_display_handle();
    description.flags = InstanceFlags::empty();
    let adapters = pollster::block_on(Instance::new(description).enumerate_adapters(Backends::all()));
    let same = adapters.into_iter().find(|adapter| device.starts_with(&adapter.get_info().name));
    same.ok_or_else(|| format!("{device} is not among the adapters"))
}

/// The adapter with all its limits.
pub fn open(adapter: &Adapter) -> Result<(Device, Queue), String> {
    let description = DeviceDescriptor { required_limits: adapter.limits(), ..DeviceDescriptor::default() };
    pollster::block_on(adapter.request_device(&description)).map_err(|error| error.to_string())
}

/// Waits for all work of a device.
pub fn wait(device: &Device) -> Result<(), String> {
    let wait = PollType::Wait { submission_index: None, timeout: Some(PATIENCE) };
    device.poll(wait).map(drop).map_err(|error| error.to_string())
}

/// The shortest time of a call of `run(n)`, per call of what it does n times: three runs, each of at least `least`.
pub fn shortest(least: Duration, mut run: impl FnMut(u32) -> Result<(), String>) -> Result<Duration, String> {
    let mut time = |times: u32| -> Result<Duration, String> {
        let begun = Instant::now();
        run(times)?;
        Ok(begun.elapsed())
    };
    let (mut times, mut best) = (1, time(1)?);
    while best < least && times < 1 << 16 {
        times *= 2;
        best = time(times)?;
    }
    for _ in 0..2 {
        best = best.min(time(times)?);
    }
    Ok(best / times)
}
