//! Many sessions on some threads with a cache for half of them, for some time.

use crate::rig::{Outcome, Request, Rng, Setup, VOCAB};
use inkstone_generate::{Cancel, FinishReason, Generator, Session};
use std::time::{Duration, Instant};

const CONTEXT: usize = 100;
const THREADS: u64 = 4;
const SESSIONS: usize = 16;

/// The options of a random turn.
fn turn(rng: &mut Rng, ids: &[u32]) -> Request {
    let seed = rng.below(1000) as u64;
    let logprobs = rng.once_in(4).then_some(2);
    Request { logprobs, ..Request::new(seed, ids).tokens(1 + rng.below(30) as u64) }
}

/// Appends some tokens, or begins anew if there is no room.
fn append(rng: &mut Rng, session: &mut Session) {
    if session.ids().len() > CONTEXT - 45 {
        session.truncate(rng.below(20));
    }
    let common = session.ids().is_empty();
    // All sessions begin with one of two texts.
    let (count, text) = (1 + rng.below(12), rng.below(2) as u32);
    let ids: Vec<u32> =
        (0..count as u32).map(|i| if common { (i * 5 + text) % 13 + 3 } else { rng.below(VOCAB) as u32 }).collect();
    session.append_ids(&ids).unwrap();
}

/// One use of a session.
fn use_session(rng: &mut Rng, generator: &Generator, session: &mut Session) {
    append(rng, session);
    let before = session.ids().to_vec();
    let request = turn(rng, &before);
    let whole = request.outcome(CONTEXT);
    match rng.below(8) {
        // A reader that stops somewhere.
        0 | 1 => {
            let pieces = rng.below(whole.ids.len() + 1);
            let read = session.stream(&request.options()).unwrap().take(pieces).count();
            assert_eq!((read, session.ids()), (pieces, &[&before[..], &whole.ids[..pieces]].concat()[..]));
        }
        // A switch.
        2 => {
            let (cancel, pieces) = (Cancel::new(), rng.below(whole.ids.len()));
            let mut reader = request.stream_until(generator, &cancel);
            reader.read_pieces(pieces);
            cancel.cancel();
            let found = reader.rest();
            assert!(whole.ids.starts_with(&found.ids) && found.ids.len() >= pieces);
            assert!([FinishReason::Cancelled, FinishReason::Length].contains(&found.finish));
        }
        // A slow reader.
        3 => {
            let mut reader = request.stream(generator);
            while reader.read() {
                std::thread::sleep(Duration::from_micros(rng.below(300) as u64));
            }
            assert_eq!(reader.rest(), whole);
        }
        // Several samples at once.
        4 => {
            let n = 1 + rng.below(3) as u32;
            let replies = generator.generate_all(before, &request.options().n(n)).unwrap();
            for (reply, seed) in replies.into_iter().zip(request.seed..) {
                assert_eq!(Outcome::of(reply), Request { seed, ..request.clone() }.outcome(CONTEXT));
            }
        }
        _ => {
            let reply = session.generate(&request.options()).unwrap();
            assert_eq!(Outcome::of(reply), whole);
        }
    }
}

#[test]
fn sessions_on_threads_have_the_outcomes_that_they_have_by_themselves() {
    let full = std::env::var_os("INKSTONE_FULL").is_some();
    let time = Duration::from_secs(if full { 300 } else { 3 });
    let generator =
        Setup { context: CONTEXT, sequences: 6, cache: CONTEXT + 60, page: 8, ..Setup::default() }.generator();
    let end = Instant::now() + time;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let generator = &generator;
            scope.spawn(move || {
                let rng = &mut Rng(thread + 1);
                let mut sessions: Vec<Session> = (0..SESSIONS).map(|_| generator.session()).collect();
                while Instant::now() < end {
                    let at = rng.below(SESSIONS);
                    use_session(rng, generator, &mut sessions[at]);
                    if rng.once_in(20) {
                        let fork = sessions[at].fork();
                        sessions[rng.below(SESSIONS)] = fork;
                    }
                }
            });
        }
    });
    let metrics = generator.metrics();
    assert_eq!((metrics.running, metrics.waiting, metrics.held_pages), (0, 0, 0), "{metrics:?}");
    assert!(metrics.preemptions > 0 && metrics.prefix_cache_hits > 1000, "{metrics:?}");
}
