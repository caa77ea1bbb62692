//! Deadlines, with a clock that stands still until a test moves it.

use self::rig::{BOS, Request, Setup};
use crate::{FinishReason, Generator, Stream};
use std::cell::Cell;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

#[path = "../../tests/suite/rig/mod.rs"]
pub(crate) mod rig;

thread_local! {
    static PASSED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// The time of this thread.
pub(crate) fn now() -> Instant {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    *START + PASSED.get()
}

fn pass(time: Duration) {
    PASSED.set(PASSED.get() + time);
}

const DEADLINE: Duration = Duration::from_secs(60);
const INSTANT: Duration = Duration::from_nanos(1);

fn request() -> Request {
    Request::new(5, &[BOS, 3, 4, 5, 6, 7]).tokens(20)
}

/// The request with a deadline.
fn stream(generator: &Generator, deadline: Duration) -> Stream {
    generator.stream_ids(&request().prompt, &request().options().deadline(deadline)).unwrap()
}

/// Its tokens to the end.
#[track_caller]
fn rest(stream: &mut Stream) -> (Vec<u32>, FinishReason) {
    assert!(stream.all(|piece| piece.is_ok()));
    (stream.ids().to_vec(), stream.finish().unwrap())
}

#[test]
fn a_text_ends_at_the_first_step_at_its_deadline() {
    let generator = Setup::default().generator();
    let whole = request().outcome(64).ids;
    for tokens in 0..20 {
        let mut stream = stream(&generator, DEADLINE);
        pass(DEADLINE - INSTANT);
        assert!(stream.by_ref().take(tokens).all(|piece| piece.is_ok()));
        assert_eq!((stream.ids(), stream.finish()), (&whole[..tokens], None));
        pass(INSTANT);
        assert_eq!(rest(&mut stream), (whole[..tokens].to_vec(), FinishReason::Deadline));
        assert_eq!(stream.usage().completion_tokens as usize, tokens);
        assert_eq!(generator.pages().0, generator.pages().1);
    }
}

#[test]
fn a_text_that_ended_before_its_deadline_keeps_its_end() {
    let generator = Setup::default().generator();
    let mut stream = stream(&generator, DEADLINE);
    let whole = (request().outcome(64).ids, FinishReason::Length);
    assert_eq!(rest(&mut stream), whole);
    pass(2 * DEADLINE);
    assert_eq!(rest(&mut stream), whole);
}

#[test]
fn a_deadline_counts_from_the_request_and_the_time_in_the_queue_counts() {
    let generator = Setup { sequences: 1, ..Setup::default() }.generator();
    let mut first = stream(&generator, 3 * DEADLINE);
    pass(DEADLINE);
    let (mut late, mut next) = (stream(&generator, DEADLINE), stream(&generator, 3 * DEADLINE));
    pass(DEADLINE - INSTANT);
    assert!(first.next().unwrap().is_ok());
    assert_eq!(late.finish(), None);
    pass(INSTANT);
    // A step of another stream ends it.
    assert!(first.next().unwrap().is_ok());
    assert_eq!(late.finish(), Some(FinishReason::Deadline));
    assert_eq!(rest(&mut late), (vec![], FinishReason::Deadline));
    assert_eq!(rest(&mut first).1, FinishReason::Length);
    assert_eq!(rest(&mut next), (request().outcome(64).ids, FinishReason::Length));
}

#[test]
fn a_deadline_in_a_prompt_ends_it_between_two_chunks() {
    let generator = Setup { chunk: 2, ..Setup::default() }.generator();
    let mut other = Request::new(6, &[BOS]).tokens(20).stream(&generator);
    // The prompt has three chunks.
    for steps in 0..3 {
        let mut stream = stream(&generator, DEADLINE);
        other.read_pieces(steps);
        pass(DEADLINE);
        assert_eq!(rest(&mut stream), (vec![], FinishReason::Deadline), "after {steps} steps");
    }
    assert_eq!(other.rest(), Request::new(6, &[BOS]).tokens(20).outcome(64));
}

#[test]
fn deadlines_now_and_never() {
    let generator = Setup::default().generator();
    assert_eq!(rest(&mut stream(&generator, Duration::ZERO)), (vec![], FinishReason::Deadline));
    // The end of time has no instant.
    for deadline in [Duration::MAX, Duration::from_secs(u64::MAX / 4)] {
        let mut stream = stream(&generator, deadline);
        pass(1000 * DEADLINE);
        assert_eq!(rest(&mut stream), (request().outcome(64).ids, FinishReason::Length));
    }
}
