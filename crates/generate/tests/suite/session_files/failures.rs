//! An engine that fails while a session is saved or restored.

use super::{bits, cold, options, session, setup};
use crate::rig::Setup;
use inkstone_compute::conformance::{Call, Delayed, Fault};
use inkstone_generate::{Generator, Options};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A generator with three steps under way, and its engine.
fn delayed() -> (Generator, Arc<Delayed>) {
    let engine = Arc::new(Delayed::new(setup().engine(), 3, 7));
    (setup().open(engine.clone(), Options::default()).unwrap(), engine)
}

fn fault(call: Call, after: u64, panics: bool) -> Option<Fault> {
    Some(Fault { call, after, lasts: false, panics })
}

#[test]
fn rows_of_a_step_that_failed_are_not_saved() {
    let (generator, engine) = delayed();
    let mut first = session(&generator, 20);
    // The steps behind the second piece are under way when the stream is dropped.
    assert_eq!(first.stream(&options(2)).unwrap().take(2).count(), 2);
    engine.inject(fault(Call::Fetch, 0, false));
    let error = first.to_bytes(b"").unwrap_err().to_string();
    assert_eq!(error, "an injected fault of Fetch");
    // Nothing is in the cache then, but the text is.
    let (mut restored, _) = generator.restore_bytes(&first.to_bytes(b"").unwrap()).unwrap();
    let reply = restored.generate(&options(3)).unwrap();
    assert_eq!((bits(&reply), reply.usage.cached_tokens), (cold(&setup(), &first, 3), 0));
}

#[test]
fn a_restore_that_fails_leaves_no_pages() {
    let first = session(&setup().generator(), 20);
    let bytes = first.to_bytes(b"").unwrap();
    for panics in [false, true] {
        for after in [0, 3] {
            let (generator, engine) = delayed();
            let mut other = generator.stream_ids(&[3, 4, 5], &options(5)).unwrap();
            other.next().unwrap().unwrap();
            engine.inject(fault(Call::Write, after, panics));
            let restored = catch_unwind(AssertUnwindSafe(|| generator.restore_bytes(&bytes).map(drop)));
            assert_eq!(restored.is_err(), panics);
            // What ran has ended, because the states of the device are unknown.
            assert!(other.by_ref().any(|piece| piece.is_err()));
            let (free, all) = generator.pages();
            assert_eq!(free, all);
            let (mut restored, _) = generator.restore_bytes(&bytes).unwrap();
            let reply = restored.generate(&options(3)).unwrap();
            assert_eq!((bits(&reply), reply.usage.cached_tokens), (cold(&setup(), &first, 3), 28));
        }
    }
}

#[test]
fn a_session_that_is_dropped_during_a_step_leaves_no_pages() {
    // What stays of the sessions pushes out what was there before, which has more pages than any of them.
    let setup = Setup { sequences: 2, cache: 400, ..setup() };
    let bytes = session(&setup.generator(), 20).to_bytes(b"").unwrap();
    let engine = setup.gated_engine();
    let generator = setup.open(engine.clone(), Options::default()).unwrap();
    let kept = session(&generator, 100);
    for _ in 0..6 {
        std::thread::scope(|scope| {
            let (mut restored, _) = generator.restore_bytes(&bytes).unwrap();
            let mut stream = restored.stream(&options(3).max_tokens(80)).unwrap();
            stream.next().unwrap().unwrap();
            // Until its unread pieces are so many that it takes part in no step.
            generator.generate_ids(&[3], &options(4).max_tokens(70).cache_salt("other")).unwrap();
            let closed = engine.gate().closed();
            let other = scope.spawn(|| generator.generate_ids(&[3], &options(4).cache_salt("other")).unwrap());
            engine.gate().wait_for_call();
            drop(stream);
            drop(restored);
            drop(closed);
            other.join().unwrap();
        });
    }
    let mut again = generator.session();
    again.append_ids(kept.ids()).unwrap();
    assert_eq!(again.generate(&options(4)).unwrap().usage.cached_tokens, 108, "nothing was evicted");
}
