//! Stop texts, wherever they are in the text of a model.

use crate::rig::{BOS, Outcome, PIECES, Request, Setup};
use inkstone_generate::FinishReason;
use std::collections::BTreeSet;

const CONTEXT: usize = 64;

/// A request whose text has many tokens, and its outcome without a stop text.
fn texts() -> impl Iterator<Item = (Request, Outcome)> {
    (0..12).map(|seed| {
        let request = Request::new(seed, &[BOS, 3]).tokens(24);
        let outcome = request.outcome(CONTEXT);
        (request, outcome)
    })
}

/// Some parts of a text, of 1 to 5 characters.
fn parts(text: &str) -> BTreeSet<String> {
    let chars: Vec<char> = text.chars().collect();
    let all = (1..=5).flat_map(|n| chars.windows(n).step_by(4));
    // The bytes of a replaced character are not the bytes of U+FFFD.
    all.filter(|part| !part.contains(&'\u{fffd}')).map(String::from_iter).collect()
}

#[test]
fn a_stop_text_ends_the_text_before_it_wherever_tokens_divide_it() {
    let generator = Setup::default().generator();
    let (mut spanning, mut inside) = (0, 0);
    for (request, whole) in texts() {
        for stop in parts(&whole.text) {
            let request = request.clone().stop(&stop);
            let wanted = request.outcome(CONTEXT);
            assert_eq!(wanted.finish, FinishReason::Stop);
            assert_eq!(request.reply(&generator), wanted, "{stop:?}");
            assert!(!wanted.text.contains(&stop));
            let last = PIECES[*wanted.ids.last().unwrap() as usize].len();
            *if last < stop.len() { &mut spanning } else { &mut inside } += 1;
        }
    }
    assert!(spanning > 50 && inside > 50, "{spanning} are longer than a token, {inside} are not");
}

#[test]
fn a_stop_text_at_the_limit_is_a_stop() {
    let generator = Setup::default().generator();
    let mut found = 0;
    for (request, whole) in texts() {
        for stop in parts(&whole.text) {
            let stopping = request.clone().stop(&stop);
            let tokens = stopping.outcome(CONTEXT).ids.len();
            for (limit, finish) in [(tokens, FinishReason::Stop), (tokens - 1, FinishReason::Length)] {
                let request = Request { max_tokens: Some(limit as u64), ..stopping.clone() };
                let reply = request.reply(&generator);
                assert_eq!(reply.finish, finish, "{stop:?} after {tokens} tokens, of which {limit} are allowed");
                assert_eq!(reply, request.outcome(CONTEXT), "{stop:?}");
                found += 1;
            }
        }
    }
    assert!(found > 200, "{found} cases");
}

#[test]
fn a_stop_text_at_the_end_of_the_context_is_a_stop() {
    for (request, whole) in texts() {
        for stop in parts(&whole.text) {
            let request = Request { max_tokens: None, ..request.clone() }.stop(&stop);
            let tokens = request.outcome(CONTEXT).ids.len();
            let context = request.prompt.len() + tokens;
            let reply = request.reply(&Setup { context, ..Setup::default() }.generator());
            assert_eq!((reply.finish, reply.ids.len()), (FinishReason::Stop, tokens), "{stop:?}");
        }
    }
}

#[test]
fn text_that_is_held_back_comes_out_at_other_ends() {
    let generator = Setup::default().generator();
    let mut held = 0;
    for (request, whole) in texts() {
        for part in parts(&whole.text) {
            // It begins like the part and never occurs.
            let request = request.clone().stop(&format!("{part}#"));
            let wanted = request.outcome(CONTEXT);
            assert_eq!((&wanted.text, wanted.finish), (&whole.text, FinishReason::Length));
            assert_eq!(request.reply(&generator), wanted, "{part:?}");
            // Up to the part itself, at an end by the caller.
            let tokens = request.clone().stop(&part).outcome(CONTEXT).ids.len();
            let mut reader = request.stream(&generator);
            reader.read_pieces(tokens);
            let before = reader.text().len();
            reader.stream().stop();
            let cut = if tokens < whole.ids.len() { FinishReason::Callback } else { FinishReason::Length };
            assert_eq!(reader.rest(), request.cut(&whole.ids[..tokens], cut), "{part:?}");
            held += usize::from(reader.text().len() > before);
        }
    }
    assert!(held > 100, "{held} texts were held back");
}

#[test]
fn of_several_stop_texts_the_first_that_is_complete_counts() {
    let generator = Setup::default().generator();
    for (request, whole) in texts() {
        let all: Vec<String> = parts(&whole.text).into_iter().collect();
        for stops in all.chunks(3) {
            for rotation in 0..stops.len() {
                let mut request = request.clone();
                request.stop = stops.to_vec();
                request.stop.rotate_left(rotation);
                assert_eq!(request.reply(&generator), request.outcome(CONTEXT), "{stops:?}");
            }
        }
    }
}
