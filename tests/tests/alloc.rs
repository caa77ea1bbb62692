//! Nothing is allocated in a decode step, from composing it to reading its results, on any thread. A test binary of its
//! own, because it counts what the whole process allocates.
//!
//! What is not part of the step: the pieces that a reader takes away, which are one list of tokens and, if there is text,
//! one text each. They are taken off the count; whatever is left over is a fault.
#![allow(unsafe_code)]

use inkstone::compute::EngineOptions;
use inkstone::compute::conformance::{Counts, Delayed};
use inkstone::tensor::ops::Window;
use inkstone::{Model, ModelOptions, Options, Piece, Stream, engines};
use inkstone_engine_cpu::Cpu;
use inkstone_tests::{assets, oracle};
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Allocations of all threads.
static COUNT: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call goes to the system's allocator as it is; the counter is a static number.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise; the pointer came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise; the pointer came from `System`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Steps before the count begins: the prompt's, those in which each plan is made ready, and as many as keep the ranges
/// that they bring back.
const WARM_UP: usize = 14;
/// Steps that are counted, over several pages of the caches.
const STEPS: usize = 150;

/// All stages of the chain, so that each has worked once before the count begins.
fn sampling() -> Options {
    let chain = Options::default().temperature(0.9).top_k(50).top_p(0.95).min_p(0.01).typical_p(0.98);
    let chain = chain.repeat_penalty(1.1).frequency_penalty(0.1).presence_penalty(0.1);
    chain.seed(7).stop("never in a story: \u{1}\u{2}").unlimited().ignore_end(true)
}

/// What a piece itself is made of.
fn parts(piece: &Piece) -> usize {
    usize::from(!piece.ids.is_empty()) + usize::from(!piece.text.is_empty())
}

/// Takes a piece of each stream; gives the allocations that are left over.
fn round(streams: &mut [Stream]) -> usize {
    let before = COUNT.load(Ordering::Relaxed);
    let mut own = 0;
    for stream in streams {
        own += parts(&stream.next().expect("more text").unwrap());
    }
    COUNT.load(Ordering::Relaxed) - before - own
}

fn nothing_is_allocated(file: &Path, threads: usize, options: &Options, sequences: usize) {
    let open = ModelOptions::default().engine("cpu").threads(threads).ctx(512).sequences(sequences);
    let model = Model::open_with(file, &open).unwrap();
    nothing_is_allocated_by(&model, options, sequences, || ());
}

/// `warm` is called before the count begins.
fn nothing_is_allocated_by(model: &Model, options: &Options, sequences: usize, warm: impl FnOnce()) {
    let stream = |i: usize| model.stream("Once upon a time".split_at(6 + i).0, options).unwrap();
    let mut streams: Vec<Stream> = (0..sequences).map(stream).collect();
    for _ in 0..WARM_UP {
        round(&mut streams);
    }
    warm();
    for step in WARM_UP..WARM_UP + STEPS {
        let left = round(&mut streams);
        assert_eq!(left, 0, "{model:?}, {sequences} sequences, step {step}");
    }
}

#[test]
fn nothing_is_allocated_in_a_decode_step() {
    let (counted, word) = (COUNT.load(Ordering::Relaxed), Box::new(1));
    assert!(COUNT.load(Ordering::Relaxed) > counted && *word == 1, "the counter counts");
    let greedy = Options::default().temperature(0.0).unlimited().ignore_end(true);
    let (draft, target) = (assets("story-draft-q8_0.gguf"), oracle("story/story-5m-q4_k_m.gguf"));
    for threads in [1, 2, 3] {
        nothing_is_allocated(&draft, threads, &greedy, 1);
    }
    nothing_is_allocated(&draft, 2, &sampling(), 3);
    a_decode_step_is_one_submit_and_a_row_of_the_ring(&draft, &greedy);
    nothing_is_allocated(&target, 2, &sampling(), 1);
    nothing_is_allocated_when_pages_are_short(&draft, &greedy);
    nothing_is_allocated_when_pages_of_windows_come_and_go(&draft, &greedy);
    the_steps_of_a_beam_search_allocate_nothing(&draft);
}

/// The traffic between host and device, with four steps under way.
fn a_decode_step_is_one_submit_and_a_row_of_the_ring(file: &Path, options: &Options) {
    static ENGINE: Mutex<Option<Arc<Delayed>>> = Mutex::new(None);
    let factory = |options: &EngineOptions| {
        let delayed = Arc::new(Delayed::new(Arc::new(Cpu::new(options)?), 4, 5));
        *ENGINE.lock().unwrap() = Some(delayed.clone());
        Ok(delayed as _)
    };
    engines::register("counted", Arc::new(factory));
    for sequences in [1, 8] {
        let open = ModelOptions::default().engine("counted").threads(2).ctx(512).sequences(sequences);
        let model = Model::open_with(file, &open).unwrap();
        let engine = ENGINE.lock().unwrap().take().unwrap();
        let mut before = Counts::default();
        nothing_is_allocated_by(&model, options, sequences, || before = engine.counts());
        let after = engine.counts();
        let steps = after.submits - before.submits;
        assert_eq!(steps as usize, STEPS, "a submit for each step of {sequences} sequences");
        assert_eq!((after.back - before.back) / steps, 256, "{sequences} sequences");
        // The words of a step change only with a new page.
        let pages = STEPS.div_ceil(model.config().page) * sequences;
        let writes = (after.writes - before.writes) as usize;
        assert!((1..=pages).contains(&writes), "{writes} writes for at most {pages} pages");
    }
}

/// Windows of less than a page and of some pages: each page goes back as soon as no token sees it.
fn nothing_is_allocated_when_pages_of_windows_come_and_go(file: &Path, options: &Options) {
    for (size, first) in [(5, 0), (40, 4)] {
        let open = ModelOptions::default().engine("cpu").threads(2).ctx(512).sequences(3).kv_page(16);
        let model = Model::open_with(file, &open.kv_window(Window { size, first })).unwrap();
        nothing_is_allocated_by(&model, options, 3, || ());
        let (held, all) = model.metrics().windows[0];
        assert!(held < 3 * 8 && all > 0, "{held} of {all} pages");
    }
}

/// A cache for less than half of the tokens: sequences give up their pages, find them again, copy the page in which they
/// go on, and push out what others left.
fn nothing_is_allocated_when_pages_are_short(file: &Path, options: &Options) {
    let sequences = 3;
    let probe = Model::open_with(file, &ModelOptions::default().engine("cpu").ctx(512)).unwrap();
    let bytes = (probe.graph().kv_bytes_per_token() + 4) * 544;
    let open = ModelOptions::default().engine("cpu").threads(2).ctx(512).sequences(sequences).kv_memory(bytes);
    let model = Model::open_with(file, &open).unwrap();
    let stream = |i: usize| model.stream("Once upon a time".split_at(6 + i).0, options).unwrap();
    let mut streams: Vec<Stream> = (0..sequences).map(stream).collect();
    // Until each plan that prompts need when they begin anew has been made ready.
    while model.metrics().preemptions < 4 {
        // Some have pieces that were drawn earlier, so that single rounds can't be counted.
        streams.iter_mut().for_each(|stream| drop(stream.next().expect("more text").unwrap()));
    }
    let drawn = |streams: &[Stream]| streams.iter().map(|s| s.usage().completion_tokens as usize).collect::<Vec<_>>();
    // All that was drawn before is taken first.
    let taken = drawn(&streams);
    for (stream, drawn) in streams.iter_mut().zip(taken) {
        while stream.ids().len() < drawn {
            stream.next().expect("more text").unwrap();
        }
    }
    let (before, metrics) = (COUNT.load(Ordering::Relaxed), model.metrics());
    let mut own = 0;
    while model.metrics().preemptions < metrics.preemptions + 3 {
        for stream in &mut streams {
            own += parts(&stream.next().expect("more text").unwrap());
        }
    }
    // So are the pieces that were drawn by then.
    let count = COUNT.load(Ordering::Relaxed);
    let taken = drawn(&streams);
    for (stream, drawn) in streams.iter_mut().zip(taken) {
        while stream.ids().len() < drawn {
            own += parts(&stream.next().expect("more text").unwrap());
        }
    }
    assert_eq!(count - before, own);
}

/// The results of a search are allocated, and the memory of its sequences, but nothing for each of its tokens.
fn the_steps_of_a_beam_search_allocate_nothing(file: &Path) {
    let open = ModelOptions::default().engine("cpu").threads(2).ctx(512).sequences(4);
    let model = Model::open_with(file, &open).unwrap();
    let allocations = |tokens: u64| {
        let search = Options::default().num_beams(4).max_tokens(tokens).ignore_end(true);
        let before = COUNT.load(Ordering::Relaxed);
        let replies = model.generate_all("Once upon a time", &search).unwrap();
        assert!(replies.iter().all(|reply| reply.ids.len() as u64 == tokens));
        COUNT.load(Ordering::Relaxed) - before
    };
    // The plans are made ready.
    allocations(200);
    let [short, long] = [50, 200].map(allocations);
    // A longer text and its pieces grow more often.
    assert!(long < short + 30, "{short} allocations for 50 tokens, {long} for 200");
}
