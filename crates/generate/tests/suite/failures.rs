//! Each call of the engine fails once, or from then on, while two sequences run and one waits: what ends with an error
//! keeps what it had, everything else has the outcome that it has alone, and memory and pages are back.

use crate::rig::{BOS, BUDGET, Leaves, Outcome, Reader, Request, Setup};
use inkstone_compute::conformance::{Call, Delayed, Fault};
use inkstone_compute::{Engine, Usage};
use inkstone_generate::{FinishReason, Generator, Options};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Pieces that each stream is asked for: no call hangs.
const CALLS: usize = 40;

fn setup() -> Setup {
    Setup { sequences: 2, chunk: 4, ..Setup::default() }
}

/// A setup with the outcomes of the requests.
struct Case {
    setup: Setup,
    wanted: Vec<Outcome>,
}

/// Draws of the device, of the host, and of the host after the device has tried some.
fn cases() -> [Case; 3] {
    let whole = requests().iter().map(|request| request.outcome(setup().context)).collect();
    let drawing = Setup { samples: true, attention: Some(2), ..setup() };
    let alone = drawing.generator();
    let drawn: Vec<Outcome> = requests().iter().map(|request| request.reply(&alone)).collect();
    let by_host = |leaves| Case { setup: Setup { leaves, ..drawing.clone() }, wanted: drawn.clone() };
    [Case { setup: setup(), wanted: whole }, by_host(Leaves::EveryChain), by_host(Leaves::Some)]
}

/// A long prompt, of which some steps draw nothing, a short one with scores, and one that waits.
fn requests() -> [Request; 3] {
    let scored = Request { logprobs: Some(2), ..Request::new(5, &[BOS, 7]).tokens(4) };
    [Request::new(1, &[5; 40]).tokens(4), scored, Request::new(3, &[BOS, 9, 4]).tokens(4)]
}

/// What a stream gave, and how often reading it panicked.
struct Found {
    outcome: Outcome,
    error: Option<String>,
    panics: usize,
}

/// Reads the streams in turns until all have ended.
fn run(generator: &Generator) -> Vec<Found> {
    let mut readers: Vec<(Reader, usize)> = requests().iter().map(|r| (r.stream(generator), 0)).collect();
    for _ in 0..CALLS {
        for (reader, panics) in &mut readers {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| reader.read())) {
                assert_eq!(payload.downcast_ref(), Some(&Delayed::MESSAGE));
                *panics += 1;
            }
        }
    }
    let found = |(mut reader, panics): (Reader, usize)| Found {
        outcome: reader.rest(),
        error: reader.error.map(|error| error.to_string()),
        panics,
    };
    readers.into_iter().map(found).collect()
}

/// Opens the model behind a fault and runs the requests. `None` if it can't be opened.
fn with_fault(case: &Case, inner: &Arc<dyn Engine>, ahead: usize, seed: u64, fault: Fault) -> Option<Vec<Found>> {
    let engine = Arc::new(Delayed::new(inner.clone(), ahead, seed));
    engine.inject(Some(fault));
    let opened = catch_unwind(AssertUnwindSafe(|| case.setup.open(engine, Options::default())));
    let generator = opened.ok()?.ok()?;
    let found = run(&generator);
    let (free, all) = generator.pages();
    assert_eq!(free, all, "pages that nobody has, with {fault:?}");
    if !fault.lasts {
        // Nothing is found in the cache that was never computed.
        for (request, wanted) in requests().iter().zip(&case.wanted) {
            let again = request.stream(&generator).rest();
            assert_eq!(&again, wanted, "again after {fault:?}");
        }
    }
    Some(found)
}

fn every_call_fails(call: Call) {
    cases().iter().for_each(|case| every_call_of_a_case_fails(case, call));
}

fn every_call_of_a_case_fails(case: &Case, call: Call) {
    let (inner, index) = (case.setup.engine(), Call::ALL.iter().position(|c| *c == call).unwrap());
    for ahead in [1, 3] {
        let whole = Arc::new(Delayed::new(inner.clone(), ahead, 1));
        run(&case.setup.open(whole.clone(), Options::default()).unwrap());
        let calls = whole.counts().calls[index];
        assert!(calls > 0, "no {call:?}");
        let faults = (0..calls)
            .flat_map(|after| [(false, false), (true, false), (false, true), (true, true)].map(|f| (after, f)));
        for (after, (lasts, panics)) in faults {
            let fault = Fault { call, after, lasts, panics };
            let found = with_fault(case, &inner, ahead, after + 2, fault);
            let all = inner.alloc(BUDGET, Usage::Port);
            drop(all.unwrap_or_else(|error| panic!("memory that nobody has, with {fault:?}: {error}")));
            check(case, &found.unwrap_or_default(), fault, ahead);
        }
    }
}

fn check(case: &Case, found: &[Found], fault: Fault, ahead: usize) {
    let what = format!("{fault:?} with {ahead} steps under way, {:?} left to the host", case.setup.leaves);
    for ((found, request), whole) in found.iter().zip(requests()).zip(&case.wanted) {
        match &found.error {
            None => assert_eq!(&found.outcome, whole, "{what}"),
            Some(error) => {
                let drawn = &whole.ids[..found.outcome.ids.len().min(whole.ids.len())];
                assert_eq!(found.outcome, request.cut(drawn, FinishReason::Error), "{what}");
                let known = ["an injected fault", "a thread panicked", "the model is closed"];
                assert!(known.iter().any(|known| error.starts_with(known)), "{what}: {error}");
            }
        }
    }
    if !fault.lasts {
        // The sequence that waits goes on, and may have been one of two that ran by then.
        assert!(found.iter().filter(|f| f.error.is_some()).count() <= 2, "{what} ends what runs, no more");
        assert!(found.iter().map(|f| f.panics).sum::<usize>() <= 1, "{what}: one call panics");
        assert!(found.iter().all(|f| f.error.as_ref().is_none_or(|e| !e.contains("closed"))), "{what}: open");
    }
    if fault.call == Call::Prepare && !fault.panics {
        // No state is lost: only a sequence whose own step can't run ends.
        let failed = found.iter().filter(|f| f.error.is_some()).count();
        assert!(fault.lasts || failed <= 1, "{what}: {failed} ended");
    }
}

#[test]
fn each_allocation_fails() {
    every_call_fails(Call::Alloc);
    every_call_fails(Call::AllocAll);
}

#[test]
fn preparing_the_kernels_fails() {
    every_call_fails(Call::Warm);
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

#[test]
fn a_sequence_whose_step_can_not_run_ends_and_the_others_go_on() {
    let engine = Arc::new(Delayed::new(setup().engine(), 2, 3));
    let generator = setup().open(engine.clone(), Options::default()).unwrap();
    let (long, short) = (Request::new(1, &[5; 20]).tokens(3), Request::new(2, &[BOS]).tokens(30));
    let mut decoding = short.stream(&generator);
    decoding.read_pieces(3);
    // The plan for steps with the rows of a prompt can't be prepared; the plan for one row is ready.
    engine.inject(Some(Fault { call: Call::Prepare, after: 0, lasts: true, panics: false }));
    let mut refused = long.stream(&generator);
    assert_eq!(refused.rest(), long.cut(&[], FinishReason::Error));
    assert_eq!(refused.error.unwrap().to_string(), "an injected fault of Prepare");
    assert_eq!(decoding.rest(), short.outcome(64));
    engine.inject(None);
    assert_eq!(long.reply(&generator), long.outcome(64));
}
