//! Calls that don't need a result of a step don't wait for one.

use crate::rig::{BOS, Gate, Request, Setup};
use inkstone_generate::{Error, FinishReason, Generator, Options};
use std::sync::mpsc;
use std::time::Duration;

/// More than any call takes that does not wait for a step.
const SOON: Duration = Duration::from_secs(20);

fn setup() -> Setup {
    Setup { sequences: 2, queue: 2, ..Setup::default() }
}

/// A generator, and the gate of its engine.
fn gated() -> (Generator, Gate) {
    let engine = setup().gated_engine();
    let gate = engine.gate().clone();
    (setup().open(engine, Options::default()).unwrap(), gate)
}

fn request(seed: u64) -> Request {
    Request::new(seed, &[BOS, 3]).tokens(20)
}

/// Runs a function on a thread while a step is held up.
fn while_a_step_is_held_up(f: impl FnOnce(&Generator) + Send) {
    let (generator, gate) = gated();
    let mut other = request(1).stream(&generator);
    other.read_pieces(2);
    std::thread::scope(|scope| {
        let closed = gate.closed();
        let other = scope.spawn(move || other.rest());
        gate.wait_for_call();
        let (sender, done) = mpsc::channel();
        let generator = &generator;
        scope.spawn(move || {
            f(generator);
            _ = sender.send(());
        });
        let in_time = done.recv_timeout(SOON);
        drop(closed);
        in_time.expect("the call does not wait for the step");
        assert_eq!(other.join().unwrap(), request(1).outcome(64));
    });
    let metrics = generator.metrics();
    assert_eq!((metrics.running, metrics.waiting, metrics.held_pages), (0, 0, 0), "{metrics:?}");
}

#[test]
fn a_request_is_taken_while_a_step_runs() {
    while_a_step_is_held_up(|generator| {
        let stream = request(2).stream(generator);
        assert_eq!(generator.metrics().running, 1, "it waits in the inbox");
        stream.stream().stop();
    });
}

#[test]
fn a_dropped_stream_does_not_wait() {
    while_a_step_is_held_up(|generator| drop(request(2).stream(generator)));
}

#[test]
fn what_arrives_during_a_step_counts_after_it() {
    let (generator, gate) = gated();
    let mut other = request(1).stream(&generator);
    std::thread::scope(|scope| {
        let closed = gate.closed();
        let piece = scope.spawn(move || {
            other.read_pieces(1);
            other
        });
        gate.wait_for_call();
        drop(request(2).stream(&generator));
        let _kept = request(4).stream(&generator);
        drop(closed);
        let _other = piece.join().unwrap();
        let metrics = generator.metrics();
        assert_eq!((metrics.running, metrics.waiting), (1, 1), "{metrics:?}");
    });
}

#[test]
fn counts_are_there_while_a_step_runs() {
    while_a_step_is_held_up(|generator| {
        let (free, all) = generator.pages();
        assert!(free < all);
        let metrics = generator.metrics();
        assert_eq!((metrics.running, metrics.generation_tokens), (1, 2), "{metrics:?}");
        assert!(metrics.to_string().contains("\ninkstone:generation_tokens_total 2\n"), "{metrics}");
    });
}

#[test]
fn a_full_queue_refuses_by_name() {
    while_a_step_is_held_up(|generator| {
        let _waiting: Vec<_> = (2..4).map(|seed| request(seed).stream(generator)).collect();
        let error = generator.stream_ids(&[BOS], &Options::default()).unwrap_err();
        assert!(matches!(error, Error::QueueFull { limit: 2 }), "{error}");
        assert_eq!(error.to_string(), "2 requests wait already, which is the limit");
    });
}

#[test]
fn after_stop_no_token_is_given_out() {
    let (generator, gate) = gated();
    let mut stopped = request(1).stream(&generator);
    stopped.read_pieces(2);
    std::thread::scope(|scope| {
        let closed = gate.closed();
        // Another caller runs the step that computes the next token of both.
        let mut other = request(2).stream(&generator);
        let other = scope.spawn(move || other.rest());
        gate.wait_for_call();
        let drawn = stopped.stream().usage().completion_tokens as usize;
        stopped.stream().stop();
        drop(closed);
        assert_eq!(other.join().unwrap(), request(2).outcome(64));
        let whole = request(1).outcome(64);
        assert_eq!(stopped.rest(), request(1).cut(&whole.ids[..drawn], FinishReason::Callback));
    });
    assert_eq!(generator.metrics().held_pages, 0);
}
