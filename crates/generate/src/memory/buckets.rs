//! Fewer buckets for a device with little memory.

use super::needs::values;
use crate::{Error, Result};
use inkstone_compute::{Caps, Engine};
use inkstone_graph::{Compiled, compile};
use inkstone_model::ModelGraph;
use inkstone_tensor::Slots;

/// The most of the memory beyond the weights that values between steps may take, as a divisor. Larger steps make prompts
/// faster; a cache lets more sequences run.
const SHARE: u64 = 4;

/// Compiles the graphs of a model, with a cache of one place. While the values between steps exceed their share of the
/// memory, or the bytes that a kernel reaches, the largest bucket goes: of logit rows, then of rows, in turns.
///
/// # Errors
/// The graphs can't be compiled, or even the smallest buckets exceed the bytes that a kernel reaches.
pub(crate) fn compile_to_fit(graph: &ModelGraph, engine: &dyn Engine, without: &[String]) -> Result<Compiled> {
    let (mut caps, registry, place) = (engine.caps().clone(), engine.registry(), Slots::every_group(1));
    let mut compiled = compile(&graph.graphs, &caps, registry, place, without)?;
    let left = caps.memory.saturating_sub(engine.weight_bytes(&compiled.interface().weights));
    let (binding, share) = (caps.binding, left / SHARE);
    let mut rows_next = false;
    while values(&compiled) > share.min(binding) {
        if !drop_largest(&mut caps, rows_next) {
            break;
        }
        rows_next = !rows_next;
        compiled = compile(&graph.graphs, &caps, registry, place, without)?;
    }
    let needs = values(&compiled);
    if needs > binding {
        let (engine, what) = (caps.name, "values of a step");
        return Err(Error::Binding { engine, what, unit: "bytes", needs, most: binding });
    }
    Ok(compiled)
}

/// Drops the largest bucket of rows or of logit rows, or else of the other. False if each has only one bucket.
fn drop_largest(caps: &mut Caps, rows_first: bool) -> bool {
    let (rows, logit_rows) = (&mut caps.rows, &mut caps.logit_rows);
    let order = if rows_first { [rows, logit_rows] } else { [logit_rows, rows] };
    for buckets in order {
        let largest = buckets.iter().copied().max();
        if buckets.iter().any(|n| Some(*n) != largest && *n > 0) {
            buckets.retain(|n| Some(*n) != largest);
            return true;
        }
    }
    false
}
