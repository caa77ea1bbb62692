//! Each call of an engine fails once, or from then on, while two sequences run and one waits: what ends with an error
//! keeps what it had, everything else has the bits that it has alone, and memory and pages are back.

use inkstone::compute::conformance::{Call, Delayed, Fault};
use inkstone::compute::{Engine, EngineOptions, Reference, Usage};
use inkstone::{FinishReason, Generator, Options, Stream};
use inkstone_tests::tiny::{BOS, Tiny};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The memory of the engine.
const BUDGET: u64 = 8 << 20;
/// Pieces that each stream asks for at most: no call hangs.
const CALLS: usize = 40;

/// The three requests: a prompt of several steps, a short one with scores, and one that waits.
fn requests() -> [(Vec<u32>, Options); 3] {
    let options = |seed| Options::default().seed(seed).max_tokens(4).ignore_end(true);
    [(vec![5; 40], options(1)), (vec![BOS, 7], options(2).logprobs(2)), (vec![BOS, 9, 4], options(3))]
}

/// What a stream gave.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    ids: Vec<u32>,
    error: Option<String>,
    panics: usize,
}

/// Asks the streams in turns until all have ended.
fn run(generator: &Generator) -> Vec<Outcome> {
    let open = |(prompt, options): (Vec<u32>, Options)| generator.stream_ids(&prompt, &options).unwrap();
    let mut streams: Vec<Stream> = requests().into_iter().map(open).collect();
    let mut outcomes: Vec<Outcome> = streams.iter().map(|_| Outcome::default()).collect();
    for _ in 0..CALLS {
        for (stream, outcome) in streams.iter_mut().zip(&mut outcomes) {
            match catch_unwind(AssertUnwindSafe(|| stream.next())) {
                Ok(Some(Ok(piece))) => outcome.ids.extend(piece.ids),
                Ok(Some(Err(error))) => outcome.error = Some(error.to_string()),
                Ok(None) => {}
                Err(payload) => {
                    assert_eq!(payload.downcast_ref(), Some(&Delayed::MESSAGE));
                    outcome.panics += 1;
                }
            }
        }
    }
    for (stream, outcome) in streams.iter().zip(&outcomes) {
        assert_eq!(stream.finish() == Some(FinishReason::Error), outcome.error.is_some(), "{outcome:?}");
        assert!(stream.finish().is_some(), "{outcome:?} has not ended");
    }
    outcomes
}

/// Opens the model behind a fault, and runs the requests. `None` if it can't be opened.
fn with_fault(inner: &Arc<dyn Engine>, ahead: usize, seed: u64, fault: Option<Fault>) -> Option<Vec<Outcome>> {
    let tiny = Tiny::random().open_with(&inkstone::ModelOptions::default().engine("reference").ctx(48)).unwrap();
    let (graph, tokenizer) = (tiny.graph().clone(), tiny.tokenizer().clone());
    let mut config = tiny.config().clone();
    (config.sequences, config.chunk) = (2, 4);
    let engine = Arc::new(Delayed::new(inner.clone(), ahead, seed));
    engine.inject(fault);
    let opened =
        catch_unwind(AssertUnwindSafe(|| Generator::new(graph, tokenizer, engine.clone(), config, Options::default())));
    let generator = opened.ok()?.ok()?;
    let outcomes = run(&generator);
    let (free, all) = generator.pages();
    assert_eq!(free, all, "pages are back: {outcomes:?}");
    Some(outcomes)
}

/// The number of calls of each kind without a fault.
fn calls(inner: &Arc<dyn Engine>, ahead: usize) -> [u64; Call::ALL.len()] {
    let tiny = Tiny::random().open_with(&inkstone::ModelOptions::default().engine("reference").ctx(48)).unwrap();
    let mut config = tiny.config().clone();
    (config.sequences, config.chunk) = (2, 4);
    let engine = Arc::new(Delayed::new(inner.clone(), ahead, 1));
    let (graph, tokenizer) = (tiny.graph().clone(), tiny.tokenizer().clone());
    run(&Generator::new(graph, tokenizer, engine.clone(), config, Options::default()).unwrap());
    engine.counts().calls
}

fn every_call_fails(call: Call) {
    let inner: Arc<dyn Engine> = Arc::new(Reference::new(&EngineOptions::default().budget(BUDGET)).unwrap());
    let wanted = with_fault(&inner, 1, 0, None).unwrap();
    let index = Call::ALL.iter().position(|c| *c == call).unwrap();
    for ahead in [1, 3] {
        let most = calls(&inner, ahead)[index];
        assert!(most > 0, "no {call:?}");
        for (after, lasts, panics) in
            (0..most).flat_map(|k| [(k, false, false), (k, true, false), (k, false, true), (k, true, true)])
        {
            let fault = Fault { call, after, lasts, panics };
            let what = format!("{fault:?} with {ahead} steps under way");
            let found = with_fault(&inner, ahead, after + 2, Some(fault));
            // All memory is back.
            drop(inner.alloc(BUDGET, Usage::Port).unwrap_or_else(|e| panic!("{what}: {e}")));
            let Some(found) = found else { continue };
            let mut failed = 0;
            for (found, wanted) in found.iter().zip(&wanted) {
                assert!(wanted.ids.starts_with(&found.ids), "{what}: {found:?}, alone {wanted:?}");
                match &found.error {
                    None => assert_eq!(found.ids, wanted.ids, "{what}"),
                    Some(error) => {
                        failed += 1;
                        let known = ["injected", "a thread panicked", "the model is closed"];
                        assert!(known.iter().any(|k| error.contains(k)), "{what}: {error}");
                    }
                }
            }
            if !lasts {
                assert!(failed <= 2, "{what} ends what runs: {found:?}");
                assert!(found.iter().map(|o| o.panics).sum::<usize>() <= 1, "{what}: {found:?}");
            }
        }
    }
}

#[test]
fn each_allocation_fails() {
    every_call_fails(Call::Alloc);
}

#[test]
fn loading_fails() {
    every_call_fails(Call::Load);
}

#[test]
fn each_plan_that_is_prepared_fails() {
    every_call_fails(Call::Prepare);
}

#[test]
fn each_write_fails() {
    every_call_fails(Call::Write);
}

#[test]
fn each_submit_fails() {
    every_call_fails(Call::Submit);
}

#[test]
fn each_fetch_fails() {
    every_call_fails(Call::Fetch);
}

#[test]
fn each_wait_fails() {
    every_call_fails(Call::Wait);
}
