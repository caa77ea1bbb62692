//! Whether the device computes what the definitions say: drivers that break barriers or round wrongly are reported often.

use crate::Wgpu;
use crate::adapters::none;
use inkstone_compute::{Plan, Result, Step, conformance};
use inkstone_tensor::DType;
use std::collections::{HashMap, HashSet};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Kernels that must compute the same bits: for few rows and for many, and the dtype of a matrix. If only their bits differ, the
/// second is not used, or of attention the first, which the second one can replace for any number of rows. The norm, in which all
/// threads add, is only held against its definition.
const PAIRS: [([&str; 2], Option<DType>, usize); 4] = [
    (["rms_norm", "rms_norm"], None, 0),
    (["linear.few.q8", "linear.tiled.q8"], Some(DType::Q8_0), 1),
    (["linear.few.f32", "linear.tiled.f32"], Some(DType::F16), 1),
    (["attend.split", "attend"], None, 0),
];

/// The kernels that are left out, by device and driver: the check is made once.
static KNOWN: LazyLock<Mutex<HashMap<String, Vec<&'static str>>>> = LazyLock::new(Mutex::default);

/// The kernels that must be left out, so that the bits of a row don't depend on the rows of its step.
///
/// # Errors
/// A kernel goes too far from its definition.
pub(crate) fn left_out(engine: &Wgpu) -> Result<Vec<&'static str>> {
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(left_out) = engine.sound_device().and_then(|device| known().get(&device).cloned()) {
        return Ok(left_out);
    }
    let mut left_out = Vec::new();
    for (kernels, matrix, worse) in PAIRS {
        let equal = conformance::equal_bits(engine, kernels, matrix);
        if equal.map_err(|fault| none(format!("self-check: {fault}")))? == Some(false) {
            if kernels[0] == kernels[1] {
                return Err(none(format!("self-check: {} has other bits when it runs again", kernels[0])));
            }
            left_out.push(kernels[worse]);
        }
    }
    if let Some(device) = engine.sound_device() {
        known().insert(device, left_out.clone());
    }
    Ok(left_out)
}

/// The result for people.
pub(crate) fn verdict(left_out: &[&str]) -> String {
    match left_out {
        [] => "kernels for few and for many rows compute the same bits".to_owned(),
        names => format!("not used, because their bits differ from those of other kernels: {}", names.join(", ")),
    }
}

/// A kernel and the dtypes of its matrices, on a device with its driver.
type Use = (String, String, Vec<DType>);

/// The kernels that passed in this process: each is checked once.
static PASSED: LazyLock<Mutex<HashSet<Use>>> = LazyLock::new(Mutex::default);

/// That each kernel of these plans computes what its definition says.
///
/// # Errors
/// The first one that does not.
pub(crate) fn of_plans(engine: &Wgpu, plans: &[&Plan]) -> Result<()> {
    let passed = || PASSED.lock().unwrap_or_else(PoisonError::into_inner);
    let device = engine.sound_device();
    let used =
        |step: &Step| -> Use { (device.clone().unwrap_or_default(), step.kernel.clone(), step.matrices().collect()) };
    let mut seen = if device.is_some() { passed().clone() } else { HashSet::new() };
    let steps = plans.iter().flat_map(|plan| &plan.steps);
    let new: Vec<&Step> = steps.filter(|step| seen.insert(used(step))).collect();
    if new.is_empty() {
        return Ok(());
    }
    let report = conformance::chosen(engine, &new);
    if let Some(failed) = report.failed().next() {
        return Err(none(format!("the self-check of the device {failed}")));
    }
    if device.is_some() {
        passed().extend(seen);
    }
    Ok(())
}
