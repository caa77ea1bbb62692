//! The card, its driver and its limits; the variants of the engine.

use crate::{Options, figure, gpu};
use inkstone::compute::Engine;
use inkstone_engine_wgpu::{VARIANTS, Wgpu};
use serde_json::json;

/// A line for each variant of kernels.
pub fn variants(_: &Options) -> Result<(), String> {
    VARIANTS.iter().for_each(|name| println!("{name}"));
    Ok(())
}

/// What the driver tells.
pub fn limits(options: &Options) -> Result<(), String> {
    let adapter = gpu::adapter()?;
    let (info, limits) = (adapter.get_info(), adapter.limits());
    let engine = Wgpu::new(&options.engine()).map_err(|error| error.to_string())?;
    let device = engine.devices().into_iter().find(|device| device.self_check.is_some());
    let device = device.ok_or("the engine does not describe its device")?;
    let fields = json!({
        "device": device.name, "kind": device.kind, "driver": device.driver, "self_check": device.self_check,
        "pci": info.device_pci_bus_id, "known": device.memory_known,
    });
    figure("limits.memory", device.memory as f64, "bytes", fields);
    for (name, value, unit) in [
        ("binding", limits.max_storage_buffer_binding_size as f64, "bytes"),
        ("buffer", limits.max_buffer_size as f64, "bytes"),
        ("workgroup_memory", f64::from(limits.max_compute_workgroup_storage_size), "bytes"),
        ("workgroup", f64::from(limits.max_compute_invocations_per_workgroup), "threads"),
        ("storage_buffers", f64::from(limits.max_storage_buffers_per_shader_stage), "bindings"),
        ("least_subgroup", f64::from(info.subgroup_min_size), "threads"),
        ("most_subgroup", f64::from(info.subgroup_max_size), "threads"),
    ] {
        figure(&format!("limits.{name}"), value, unit, json!({}));
    }
    Ok(())
}
