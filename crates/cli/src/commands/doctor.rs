//! `doctor`: the engines of this build, and their devices.

use crate::args::DoctorArgs;
use crate::terminal::one_line;
use crate::{Error, output};
use inkstone::compute::DeviceInfo;
use inkstone::engines::{self, EngineInfo};
use serde::Serialize;
use std::io::Write;

use super::table::figure;

/// The object of `--json`.
#[derive(Serialize)]
struct Report<'e> {
    engines: Vec<EngineLine<'e>>,
}

#[derive(Serialize)]
struct EngineLine<'e> {
    name: &'e str,
    available: bool,
    reason: Option<&'e str>,
    devices: Vec<DeviceLine<'e>>,
}

#[derive(Serialize)]
struct DeviceLine<'e> {
    name: &'e str,
    #[serde(rename = "type")]
    kind: &'e str,
    driver: &'e str,
    memory: u64,
    memory_known: bool,
    binding: Option<u64>,
    features: &'e [String],
    variant: &'e str,
    self_check: Option<&'e str>,
}

impl<'e> EngineLine<'e> {
    fn new(engine: &'e EngineInfo) -> EngineLine<'e> {
        let EngineInfo { name, available, reason, devices, .. } = engine;
        let devices = devices.iter().map(DeviceLine::new).collect();
        EngineLine { name, available: *available, reason: reason.as_deref(), devices }
    }
}

impl<'e> DeviceLine<'e> {
    fn new(device: &'e DeviceInfo) -> DeviceLine<'e> {
        DeviceLine {
            name: &device.name,
            kind: device.kind,
            driver: &device.driver,
            memory: device.memory,
            memory_known: device.memory_known,
            binding: device.binding,
            features: &device.features,
            variant: &device.variant,
            self_check: device.self_check.as_deref(),
        }
    }
}

pub(crate) fn doctor(args: &DoctorArgs) -> Result<(), Error> {
    let engines = engines::describe();
    let mut out = output::stdout();
    if args.json {
        let report = Report { engines: engines.iter().map(EngineLine::new).collect() };
        serde_json::to_writer(&mut out, &report).map_err(std::io::Error::from)?;
        out.write_all(b"\n")?;
    } else {
        for engine in &engines {
            match &engine.reason {
                None => writeln!(out, "{}: available", engine.name)?,
                Some(reason) => writeln!(out, "{}: not available: {}", engine.name, one_line(reason))?,
            }
            for (number, device) in engine.devices.iter().enumerate() {
                lines(number, device).iter().try_for_each(|line| writeln!(out, "  {line}"))?;
            }
        }
    }
    out.flush()?;
    Ok(())
}

/// A device, in a few lines.
fn lines(number: usize, device: &DeviceInfo) -> Vec<String> {
    let driver = if device.driver.is_empty() { String::new() } else { format!(", {}", one_line(&device.driver)) };
    let assumed = if device.memory_known { "" } else { " (assumed)" };
    let memory = format!("memory {}{assumed}", figure(device.memory as f64, "B"));
    let binding = device.binding.map(|bytes| format!("buffers up to {}", figure(bytes as f64, "B")));
    let mut lines = vec![
        format!("{number} {} ({}{driver})", one_line(&device.name), device.kind),
        format!("  {}", [Some(memory), binding].into_iter().flatten().collect::<Vec<_>>().join(", ")),
    ];
    if !device.features.is_empty() {
        lines.push(format!("  {}", device.features.join(", ")));
    }
    lines.push(format!("  kernels: {}", if device.variant.is_empty() { "-" } else { &device.variant }));
    lines.extend(device.self_check.as_ref().map(|check| format!("  self-check: {}", one_line(check))));
    lines
}
