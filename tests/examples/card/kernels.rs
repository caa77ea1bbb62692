//! Every kernel of the engine on the shapes of models: against its definition, and its speed.

use crate::{Options, figure, verdict};
use inkstone::compute::Engine;
use inkstone::compute::conformance::large::{self, LLAMA_1B, LLAMA_8B, Measured, Scale, TINY};
use inkstone::tensor::DType;
use inkstone_engine_wgpu::Wgpu;
use serde_json::json;
use std::collections::BTreeSet;

/// The formats of the measured models and of floats, which come first.
const MOST: [DType; 4] = [DType::Q8_0, DType::F16, DType::Q4_K, DType::Q6_K];

/// Kernels without a case: they move a few words of a step, or pages that are seldom copied.
const BOOKKEEPING: [&str; 4] = ["begin_step", "advance", "accept", "kv_copy"];

pub fn kernels(options: &Options) -> Result<(), String> {
    let engine = Wgpu::new(&options.engine()).map_err(|error| error.to_string())?;
    let mut seen = BTreeSet::new();
    let mut told = |scale: &Scale, measured: Measured| {
        seen.insert(measured.kernel);
        tell(options, scale, measured);
    };
    let rest = rest(&engine);
    if options.tiny {
        large::run(&engine, &TINY, &MOST[..2], |measured| told(&TINY, measured));
    } else {
        large::run(&engine, &LLAMA_8B, &MOST, |measured| told(&LLAMA_8B, measured));
        large::run(&engine, &LLAMA_1B, &MOST, |measured| told(&LLAMA_1B, measured));
        large::products(&engine, &LLAMA_8B, &rest, |measured| told(&LLAMA_8B, measured));
    }
    let features = &engine.caps().features;
    let here = engine.registry().kernels.iter().filter(|kernel| kernel.requires.iter().all(|f| features.contains(f)));
    let other = here.map(|kernel| kernel.name).filter(|name| !seen.contains(name) && !BOOKKEEPING.contains(name));
    let other = other.collect::<Vec<&str>>().join(", ");
    let fault = (!other.is_empty()).then(|| format!("not measured: {other}"));
    verdict("kernels.all", fault, json!({ "isa": options.isa }));
    Ok(())
}

/// The other formats of weights.
fn rest(engine: &Wgpu) -> Vec<DType> {
    let mut all = Vec::new();
    for format in engine.registry().kernels.iter().flat_map(|kernel| kernel.weights) {
        if !MOST.contains(format) && !all.contains(format) {
            all.push(*format);
        }
    }
    all
}

fn tell(options: &Options, scale: &Scale, measured: Measured) {
    let Measured { op, kernel, format, rows, fault, time, bytes, flops } = measured;
    let fields = || {
        json!({
            "kernel": kernel, "op": op, "format": format.map(DType::name), "rows": rows, "shapes": scale.name,
            "isa": options.isa,
        })
    };
    verdict("kernels.values", fault, fields());
    let seconds = time.as_secs_f64();
    if seconds > 0.0 {
        let mut fields = fields();
        fields["us"] = json!(seconds * 1e6);
        fields["gflops"] = json!(flops as f64 / seconds / 1e9);
        figure("kernels.read", bytes as f64 / seconds / 1e9, "GB/s", fields);
    }
}
