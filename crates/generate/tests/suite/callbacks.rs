//! Ends by the caller: callbacks, switches, streams that are stopped or dropped. All of them end exactly at the piece.

use crate::rig::{BOS, Outcome, Request, Setup};
use inkstone_generate::{Cancel, Error, FinishReason, Flow, Generator, Reply};

const TOKENS: usize = 9;

fn request() -> Request {
    Request::new(3, &[BOS, 3, 4]).tokens(TOKENS as u64)
}

/// The reply of the request, with a callback that gets the number of pieces so far.
fn with(generator: &Generator, cancel: &Cancel, mut f: impl FnMut(usize) -> Flow) -> Result<Reply, Error> {
    let (text, options) = ("ab", request().options().cancel(cancel.clone()));
    let mut pieces = 0;
    generator.generate_with(text, &options, |piece| {
        assert_eq!(piece.ids.len(), 1);
        pieces += 1;
        f(pieces)
    })
}

/// The request whose prompt is the text.
fn of_text(generator: &Generator) -> Request {
    Request { prompt: generator.encode("ab", &request().options()).unwrap(), ..request() }
}

#[track_caller]
fn all_pages_are_back(generator: &Generator) {
    let (free, all) = generator.pages();
    assert_eq!(free, all);
}

#[test]
fn a_callback_that_stops_ends_the_reply_with_its_piece() {
    let generator = Setup::default().generator();
    let request = of_text(&generator);
    let whole = request.outcome(64);
    for last in 1..=TOKENS + 1 {
        let stop = |pieces| if pieces == last { Flow::Stop } else { Flow::Continue };
        let reply = Outcome::of(with(&generator, &Cancel::new(), stop).unwrap());
        // With the last piece the text has ended by itself.
        let finish = if last < TOKENS { FinishReason::Callback } else { FinishReason::Length };
        let (wanted, shown) = (request.cut(&whole.ids[..last.min(TOKENS)], finish), reply.text.clone());
        assert_eq!(Outcome { text: wanted.text.clone(), ..reply }, wanted, "stopped at {last}");
        assert!(wanted.text.starts_with(&shown) || wanted.text.contains('\u{fffd}'), "{shown:?} of {wanted:?}");
        all_pages_are_back(&generator);
    }
}

#[test]
fn a_callback_that_fails_gives_its_error_after_its_piece() {
    let generator = Setup::default().generator();
    for last in 1..=TOKENS {
        let mut calls = 0;
        let error = with(&generator, &Cancel::new(), |pieces| {
            calls = pieces;
            if pieces == last { Flow::Fail(format!("at {last}").into()) } else { Flow::Continue }
        });
        assert_eq!(error.unwrap_err().to_string(), format!("the callback failed: at {last}"));
        assert_eq!(calls, last);
        all_pages_are_back(&generator);
    }
}

#[test]
fn a_switch_ends_the_text_before_the_next_token() {
    let generator = Setup::default().generator();
    let request = of_text(&generator);
    let whole = request.outcome(64);
    for last in 1..=TOKENS {
        let cancel = Cancel::new();
        let switch = |pieces| {
            if pieces == last {
                cancel.cancel();
            }
            Flow::Continue
        };
        let reply = Outcome::of(with(&generator, &cancel, switch).unwrap());
        let finish = if last < TOKENS { FinishReason::Cancelled } else { FinishReason::Length };
        assert_eq!(reply, request.cut(&whole.ids[..last], finish), "cancelled at {last}");
        all_pages_are_back(&generator);
    }
}

#[test]
fn a_switch_that_is_on_before_the_start_ends_every_text_that_uses_it() {
    let generator = Setup { sequences: 2, ..Setup::default() }.generator();
    let cancel = Cancel::new();
    let mut free = request().stream(&generator);
    let mut bound: Vec<_> = (0..3).map(|_| request().stream_until(&generator, &cancel)).collect();
    cancel.cancel();
    bound.push(request().stream_until(&generator, &cancel));
    for reader in &mut bound {
        assert_eq!(reader.rest(), request().cut(&[], FinishReason::Cancelled));
    }
    assert_eq!(free.rest(), request().outcome(64));
}

#[test]
fn a_stream_that_is_stopped_keeps_what_was_drawn() {
    let generator = Setup::default().generator();
    let whole = request().outcome(64);
    for read in 0..=TOKENS {
        for ahead in 0..3 {
            let mut reader = request().stream(&generator);
            reader.read_pieces(read);
            // Another stream steps for both.
            let mut other = Request { seed: 4, ..request() }.stream(&generator);
            other.read_pieces(ahead);
            let drawn = reader.stream().usage().completion_tokens as usize;
            assert!(drawn >= read && drawn <= TOKENS);
            reader.stream().stop();
            let finish = if drawn < TOKENS { FinishReason::Callback } else { FinishReason::Length };
            assert_eq!(reader.stream().finish(), Some(finish));
            assert_eq!(reader.rest(), request().cut(&whole.ids[..drawn], finish), "{read} read, {ahead} ahead");
            assert_eq!(other.rest(), Request { seed: 4, ..request() }.outcome(64));
            all_pages_are_back(&generator);
        }
    }
}

#[test]
fn a_stream_that_is_dropped_gives_its_place_to_the_next() {
    let generator = Setup { sequences: 1, ..Setup::default() }.generator();
    for read in 0..=TOKENS {
        let (mut first, mut next) = (request().stream(&generator), request().stream(&generator));
        first.read_pieces(read);
        drop(first);
        assert_eq!(next.rest(), request().outcome(64), "after {read} pieces of the first");
        all_pages_are_back(&generator);
    }
}

#[test]
fn a_reply_that_a_callback_ends_does_not_depend_on_who_steps() {
    let generator = Setup::default().generator();
    let request = of_text(&generator);
    let whole = request.outcome(64);
    for last in 1..TOKENS {
        // In its callback another request steps for both, up to the end of the text.
        let other = Request::new(8, &[BOS]).tokens(2 * TOKENS as u64);
        let stop = |pieces| {
            if pieces < last {
                return Flow::Continue;
            }
            assert_eq!(other.reply(&generator), other.outcome(64));
            Flow::Stop
        };
        let reply = Outcome::of(with(&generator, &Cancel::new(), stop).unwrap());
        let wanted = request.cut(&whole.ids[..last], FinishReason::Callback);
        assert_eq!((reply.ids, reply.finish, reply.usage), (wanted.ids, wanted.finish, wanted.usage));
        all_pages_are_back(&generator);
    }
}

#[test]
fn a_stream_that_nobody_reads_waits_unless_others_need_its_place() {
    let generator = Setup { context: 200, sequences: 2, ..Setup::default() }.generator();
    let requests = [1, 2, 3].map(|seed| Request::new(seed, &[BOS]).tokens(150));
    let [mut unread, mut read] = [0, 1].map(|i| requests[i].stream(&generator));
    assert_eq!(read.rest(), requests[1].outcome(200));
    let drawn = unread.stream().usage().completion_tokens;
    assert!(drawn < 150 && unread.stream().finish().is_none(), "{drawn} tokens that nobody reads");
    // Two that wait need both places.
    let mut others = [1, 2].map(|i| requests[i].stream(&generator));
    assert_eq!(others[1].rest(), requests[2].outcome(200));
    assert_eq!(others[0].rest(), requests[1].outcome(200));
    assert_eq!(unread.rest(), requests[0].outcome(200));
    all_pages_are_back(&generator);
}
