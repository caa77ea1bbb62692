//! A cache with fewer pages than the sequences need: some give theirs up and come back with the same outcome.

use crate::rig::{BOS, Reader, Request, Setup};
use inkstone_compute::conformance::Delayed;
use inkstone_generate::Options;
use std::sync::Arc;

/// A cache for one context and a page.
fn short() -> Setup {
    Setup { context: 64, cache: 68, page: 4, sequences: 4, ..Setup::default() }
}

fn requests() -> Vec<Request> {
    (1..=6).map(|seed| Request { logprobs: Some(2), ..Request::new(seed, &[BOS, 5, 3]).tokens(50) }).collect()
}

#[test]
fn sequences_that_gave_up_their_pages_have_the_same_outcome() {
    for ahead in 0..=4 {
        let generator = Setup { ahead, ..short() }.generator();
        let mut readers: Vec<Reader> = requests().iter().map(|r| r.stream(&generator)).collect();
        // All of them read, in turns.
        while readers.iter_mut().filter_map(|reader| reader.read().then_some(())).count() > 0 {}
        for (reader, request) in readers.iter_mut().zip(requests()) {
            assert_eq!(reader.rest(), request.outcome(64));
            crate::scores::check(&request, reader.ids(), reader.scores());
        }
        let metrics = generator.metrics();
        assert!(metrics.preemptions > 0, "{metrics:?}");
        assert_eq!((metrics.held_pages, metrics.generation_tokens), (0, 300), "{metrics:?}");
    }
}

#[test]
fn the_newest_sequence_gives_up_its_pages() {
    let generator = short().generator();
    let [first, second] = [1, 2].map(|seed| Request::new(seed, &[BOS]).tokens(60));
    let (mut first_reader, mut second_reader) = (first.stream(&generator), second.stream(&generator));
    // The reader of the newer one asks, and waits for the older one.
    assert_eq!(second_reader.rest(), second.outcome(64));
    assert_eq!(first_reader.rest(), first.outcome(64));
    assert_eq!(generator.metrics().preemptions, 1);
}

#[test]
fn a_reader_that_is_behind_gives_up_first() {
    let setup = Setup { context: 200, cache: 204, ..short() };
    let generator = setup.generator();
    let [unread, read] = [1, 2].map(|seed| Request::new(seed, &[BOS]).tokens(150));
    let (mut first, mut second) = (unread.stream(&generator), read.stream(&generator));
    assert_eq!(second.rest(), read.outcome(200));
    assert_eq!(first.stream().usage().completion_tokens, 64, "it has waited for its reader");
    assert_eq!(generator.metrics().preemptions, 1);
    assert_eq!(first.rest(), unread.outcome(200));
}

#[test]
fn a_sequence_that_gave_up_keeps_its_place_in_the_queue() {
    let generator = Setup { context: 200, sequences: 1, ..short() }.generator();
    let requests = [1, 2, 3].map(|seed| Request::new(seed, &[BOS]).tokens(100));
    let [mut first, mut second, mut third] = requests.each_ref().map(|r| r.stream(&generator));
    // The first one is not read any more, so the second one takes its slot, until the first one waits for a step again.
    second.read_pieces(1);
    assert_eq!((first.stream().usage().completion_tokens, generator.metrics().preemptions), (64, 1));
    first.read_pieces(10);
    assert_eq!(second.rest(), requests[1].outcome(200));
    third.read_pieces(1);
    assert!(first.stream().usage().completion_tokens > 64, "the third one has passed it");
    assert_eq!(first.rest(), requests[0].outcome(200));
    assert_eq!(third.rest(), requests[2].outcome(200));
}

#[test]
fn logits_are_given_once() {
    for ahead in 1..=3 {
        let setup = Setup { chunk: 4, ..short() };
        let engine = Arc::new(Delayed::new(setup.engine(), ahead, 3));
        let generator = setup.open(engine, Options::default()).unwrap();
        let old = Request::new(1, &[BOS; 4]).tokens(60);
        let mut reader = old.stream(&generator);
        reader.read_pieces(1);
        // The prompt needs the pages that the older sequence takes while both run.
        let ids: Vec<u32> = (0..40).map(|i| i % 16).collect();
        let logits = std::thread::scope(|scope| {
            let logits = scope.spawn(|| generator.logits(&ids, &[1]).unwrap());
            while !logits.is_finished() {
                reader.read();
            }
            logits.join().unwrap()
        });
        let wanted: Vec<f32> = ids.iter().flat_map(|last| (0..16).map(|id| crate::rig::logit(*last, id))).collect();
        assert_eq!(logits, wanted, "{ahead} steps under way");
        assert_eq!(reader.rest(), old.outcome(64));
    }
}

#[test]
fn prompts_are_composed_in_the_order_of_their_arrival() {
    let setup = Setup { rows: vec![1, 4], sequences: 3, ..short() };
    let generator = Setup { cache: 0, ..setup }.generator();
    let requests: Vec<Request> = (1..=3).map(|seed| Request::new(seed, &[seed as u32 + 2; 12]).tokens(2)).collect();
    let mut readers: Vec<Reader> = requests.iter().map(|r| r.stream(&generator)).collect();
    readers[2].read_pieces(1);
    let drawn: Vec<u64> = readers.iter().map(|r| r.stream().usage().completion_tokens).collect();
    assert_eq!(drawn, [2, 2, 1]);
}
