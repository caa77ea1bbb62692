//! The length of the context: from the request, the training of the model and the available memory.

use crate::{Error, ModelOptions, Result};
use inkstone_generate::Needs;
use inkstone_model::ModelGraph;
use inkstone_tensor::ops::Window;
use inkstone_tensor::step::SEQS;

/// The largest number of threads: more than any machine has, but few enough to start.
const MAX_THREADS: usize = 1024;
/// The largest context that can be requested.
const MAX_CONTEXT: u32 = 1 << 30;

/// The largest window, and the most checkpoints of a sequence, that can be requested.
const MAX_WINDOW: usize = 1 << 30;
const MAX_CHECKPOINTS: usize = 1024;

/// The sizes of pages that can be requested.
const PAGES: std::ops::RangeInclusive<usize> = 16..=1024;

/// The context, the tokens of the cache that all sequences share, and notes about unexpected values.
pub(crate) struct Context {
    pub tokens: usize,
    pub cache: usize,
    pub notes: Vec<String>,
}

/// Chooses within the memory that everything else leaves.
pub(crate) fn choose(graph: &ModelGraph, options: &ModelOptions, needs: &Needs) -> Result<Context> {
    let page = options.kv_page as u64;
    let most = needs.pages(needs.free());
    if most == 0 || needs.fixed() > needs.memory {
        return Err(needs.too_large(1, 1).into());
    }
    // The program and the system also need memory, and other programs. A request for more is granted.
    let half = needs.pages(needs.free() / 2).max(1);
    let trained = graph.config.context as u64;
    let (learned, ended) = learned(graph, options.ctx.map_or(trained, u64::from));
    let trained = trained.min(learned);
    let (tokens, note) = match options.ctx {
        Some(ctx) => {
            let ctx = u64::from(ctx).min(learned);
            let pages = ctx.div_ceil(page);
            if pages > most {
                let (bytes, largest) = (needs.cache(pages, pages), most.saturating_mul(page));
                return Err(Error::ContextMemory { context: ctx, bytes, free: needs.cache(most, most), largest });
            }
            let note = format!("a context of {ctx} tokens is more than the {trained} that the model was trained with");
            (ctx, (ctx > trained).then_some(note))
        }
        None => {
            let fits = half.saturating_mul(page).min(u64::from(MAX_CONTEXT));
            let note = format!("a context of {fits} tokens, because memory does not hold the trained {trained}");
            (trained.min(fits), (fits < trained).then_some(note))
        }
    };
    let tokens = to_usize(tokens);
    let mut notes: Vec<String> = ended.into_iter().chain(note).collect();
    let all = tokens.next_multiple_of(options.kv_page).saturating_mul(options.sequences.clamp(1, SEQS));
    let Some(memory) = options.kv_memory else {
        // Pages are committed when they are used, but the address space may also be limited.
        return Ok(Context { tokens, cache: all.min(to_usize(half.saturating_mul(page))).max(tokens), notes });
    };
    let windows = needs.windows.least((tokens as u64).div_ceil(page));
    let (of_page, largest) = (needs.page, needs.page.saturating_mul(most).saturating_add(windows));
    let least = of_page.saturating_add(windows);
    if memory < least || memory > largest {
        let allowed = format!("{least} (a page of {page} tokens) to {largest} (the free memory)");
        return Err(Error::Option { option: "kv_memory", value: memory.to_string(), allowed });
    }
    let mut cache = to_usize((memory - windows) / of_page * page);
    if windows > 0 {
        // The rest is for checkpoints.
        cache = cache.min(all);
    }
    if cache < tokens {
        notes.push(format!("a context of {cache} tokens, not {tokens}, because the cache has {memory} bytes"));
    }
    Ok(Context { tokens: tokens.min(cache), cache, notes })
}

fn to_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// The longest context that the model supports, at most `wanted`, and a note if learned positions limit it.
fn learned(graph: &ModelGraph, wanted: u64) -> (u64, Option<String>) {
    let Some(most) = graph.config.positions.limit() else { return (u64::MAX, None) };
    let note = format!("a context of {most} tokens, not {wanted}, because the model has learned {most} positions");
    (most as u64, (wanted > most as u64).then_some(note))
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
    if let Some(Window { size, first }) = options.kv_window
        && (size == 0 || size > MAX_WINDOW || first >= size)
    {
        let allowed = format!("a size of 1 to {MAX_WINDOW}, and fewer first tokens than its size");
        return bad("kv_window", format!("{size}:{first}"), allowed);
    }
    if options.ctx_checkpoints > MAX_CHECKPOINTS {
        return bad("ctx_checkpoints", options.ctx_checkpoints.to_string(), format!("0 to {MAX_CHECKPOINTS}"));
    }
    match options.ctx {
        Some(ctx) if ctx == 0 || ctx > MAX_CONTEXT => bad("ctx", ctx.to_string(), format!("1 to {MAX_CONTEXT}")),
        _ => Ok(()),
    }
}
