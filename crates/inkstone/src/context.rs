//! The length of the context: from the request, the training of the model and the available memory.

use crate::{Error, ModelOptions, Result};
use inkstone_compute::Caps;
use inkstone_model::ModelGraph;

/// The largest number of threads: more than any machine has, but few enough to start.
const MAX_THREADS: usize = 1024;
/// The largest context that can be requested.
const MAX_CONTEXT: u32 = 1 << 30;

/// The bytes of a token in addition to its keys and values: its id.
const HISTORY_BYTES: u64 = 4;

/// The context, the number of resident sequences, and notes about unexpected values.
pub(crate) struct Context {
    pub tokens: usize,
    pub sequences: usize,
    pub notes: Vec<String>,
}

pub(crate) fn choose(graph: &ModelGraph, options: &ModelOptions, caps: &Caps) -> Result<Context> {
    let bytes = graph.kv_bytes_per_token().saturating_add(HISTORY_BYTES);
    let free = caps.memory.saturating_sub(activations(graph, caps));
    let trained = graph.config.context as u64;
    let (most, ended) = learned(graph, options.ctx.map_or(trained, u64::from));
    let trained = trained.min(most);
    let (tokens, note) = match options.ctx {
        Some(ctx) => {
            let ctx = u64::from(ctx).min(most);
            let needs = ctx.saturating_mul(bytes);
            if needs > free {
                let largest = free / bytes;
                return Err(Error::ContextMemory { context: ctx, bytes: needs, free, largest });
            }
            let note = format!("a context of {ctx} tokens is more than the {trained} that the model was trained with");
            (ctx, (ctx > trained).then_some(note))
        }
        None => {
            let fits = (free / 2 / bytes).min(u64::from(MAX_CONTEXT)).max(1);
            let note = format!("a context of {fits} tokens, because memory does not hold the trained {trained}");
            (trained.min(fits), (fits < trained).then_some(note))
        }
    };
    // Pages are committed when they are used, but the address space may also be limited.
    let resident = (free / 2 / bytes / tokens).clamp(1, 64) as usize;
    Ok(Context {
        tokens: tokens as usize,
        sequences: options.sequences.clamp(1, resident),
        notes: ended.into_iter().chain(note).collect(),
    })
}

/// The longest context that the model supports, at most `wanted`, and a note if learned positions limit it.
fn learned(graph: &ModelGraph, wanted: u64) -> (u64, Option<String>) {
    let Some(most) = graph.config.positions.limit() else { return (u64::MAX, None) };
    let note = format!("a context of {most} tokens, not {wanted}, because the model has learned {most} positions");
    (most as u64, (wanted > most as u64).then_some(note))
}

/// The approximate memory of the values between the steps of the largest plan, in f32, which is not available for
/// caches.
fn activations(graph: &ModelGraph, caps: &Caps) -> u64 {
    let c = &graph.config;
    let largest = |buckets: &[usize]| buckets.iter().copied().max().unwrap_or(0) as u64;
    let heads = c.heads.saturating_mul(c.head_dim.max(c.value_dim));
    let row = [c.width, c.ffn, heads].iter().fold(0u64, |sum, n| sum.saturating_add(*n as u64)).saturating_mul(12);
    let logits = (c.vocab as u64).saturating_mul(8);
    row.saturating_mul(largest(&caps.rows)).saturating_add(logits.saturating_mul(largest(&caps.logit_rows)))
}

/// Checks the numbers in the options.
pub(crate) fn check(options: &ModelOptions) -> Result<()> {
    let bad = |option, value: String, allowed: String| Err(Error::Option { option, value, allowed });
    if options.threads > MAX_THREADS {
        return bad("threads", options.threads.to_string(), format!("1 to {MAX_THREADS}, or none for all cores"));
    }
    match options.ctx {
        Some(ctx) if ctx == 0 || ctx > MAX_CONTEXT => bad("ctx", ctx.to_string(), format!("1 to {MAX_CONTEXT}")),
        _ => Ok(()),
    }
}
