//! The length of the context: from the request, the training of the model and the available memory.

use crate::{Error, ModelOptions, Result};
use inkstone_compute::Caps;
use inkstone_generate::sampler_bytes;
use inkstone_model::ModelGraph;
use inkstone_tensor::step::SEQS;

/// The largest number of threads: more than any machine has, but few enough to start.
const MAX_THREADS: usize = 1024;
/// The largest context that can be requested.
const MAX_CONTEXT: u32 = 1 << 30;

/// The bytes of a token in addition to its keys and values: its id.
const HISTORY_BYTES: u64 = 4;

/// The sizes of pages that can be requested.
const PAGES: std::ops::RangeInclusive<usize> = 16..=1024;

/// The context, the tokens of the cache that all sequences share, and notes about unexpected values.
pub(crate) struct Context {
    pub tokens: usize,
    pub cache: usize,
    pub notes: Vec<String>,
}

pub(crate) fn choose(graph: &ModelGraph, options: &ModelOptions, caps: &Caps) -> Result<Context> {
    let bytes = graph.kv_bytes_per_token().saturating_add(HISTORY_BYTES);
    let free = caps.memory.saturating_sub(activations(graph, caps));
    let sequences = options.sequences.clamp(1, SEQS);
    // The other half is for the weights, which have not been read.
    let half = (free / 2).saturating_sub(sampler_bytes(graph.config.vocab, sequences));
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
            let fits = (half / bytes).min(u64::from(MAX_CONTEXT)).max(1);
            let note = format!("a context of {fits} tokens, because memory does not hold the trained {trained}");
            (trained.min(fits), (fits < trained).then_some(note))
        }
    };
    let (tokens, page) = (tokens as usize, options.kv_page as u64);
    let mut notes: Vec<String> = ended.into_iter().chain(note).collect();
    let Some(memory) = options.kv_memory else {
        // Pages are committed when they are used, but the address space may also be limited.
        let whole = tokens.next_multiple_of(options.kv_page);
        let all = whole.saturating_mul(sequences);
        let half = usize::try_from(half / bytes).unwrap_or(usize::MAX);
        return Ok(Context { tokens, cache: all.min(half).max(tokens), notes });
    };
    let of_page = bytes.saturating_mul(page);
    if memory < of_page || memory > free {
        let allowed = format!("{of_page} (a page of {page} tokens) to {free} (the free memory)");
        return Err(Error::Option { option: "kv_memory", value: memory.to_string(), allowed });
    }
    let cache = usize::try_from(memory / of_page * page).unwrap_or(usize::MAX);
    if cache < tokens {
        notes.push(format!("a context of {cache} tokens, not {tokens}, because the cache has {memory} bytes"));
    }
    Ok(Context { tokens: tokens.min(cache), cache, notes })
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
    let page = options.kv_page;
    if !PAGES.contains(&page) || !page.is_power_of_two() {
        return bad("kv_page", page.to_string(), "a power of two, 16 to 1024".to_owned());
    }
    match options.ctx {
        Some(ctx) if ctx == 0 || ctx > MAX_CONTEXT => bad("ctx", ctx.to_string(), format!("1 to {MAX_CONTEXT}")),
        _ => Ok(()),
    }
}
