//! Sessions that go on from a file: with the same bits, and without computing anything again.

mod bad;
mod failures;
mod forged;
mod random;
mod storage;

use crate::rig::{Outcome, Request, Setup};
use inkstone_generate::{Generator, Options, Reply, Session};

/// A model whose logits depend on the keys and values of all tokens.
fn setup() -> Setup {
    Setup { context: 120, attention: Some(1), samples: true, ..Setup::default() }
}

fn options(seed: u64) -> Options {
    Options::default().seed(seed).temperature(1.0).max_tokens(9).ignore_end(true).logprobs(3)
}

/// Everything that a reply says of its tokens, bit by bit.
fn bits(reply: &Reply) -> Vec<(u32, u32)> {
    let scores = reply.logprobs.iter().flat_map(|s| std::iter::once((s.id, s.logprob)).chain(s.top.iter().copied()));
    let bits: Vec<(u32, u32)> = scores.map(|(id, logprob)| (id, logprob.to_bits())).collect();
    assert!(bits.len() >= 4 * 9, "{reply:?}");
    bits
}

/// A session with a text, and an answer but for the given number of tokens.
fn session(generator: &Generator, tokens: u32) -> Session {
    let mut session = generator.session();
    session.append_ids(&(0..tokens).map(|i| (i * i + 3 * i) % 13 + 3).collect::<Vec<_>>()).unwrap();
    session.generate(&options(1)).unwrap();
    session
}

/// The reply to the text of a session, computed by a model that has seen nothing.
fn cold(setup: &Setup, session: &Session, seed: u64) -> Vec<(u32, u32)> {
    let reply = setup.generator().generate_ids(session.ids(), &options(seed)).unwrap();
    assert_eq!(reply.usage.cached_tokens, 0);
    bits(&reply)
}

#[test]
fn a_restored_session_goes_on_with_the_same_bits() {
    for tokens in [1, 5, 31, 60] {
        let generator = setup().generator();
        let mut first = session(&generator, tokens);
        let bytes = first.to_bytes(b"chapter 1").unwrap();
        let wanted = cold(&setup(), &first, 2);
        for page in [1, 4, 32] {
            for sequences in [1, 3] {
                let other = Setup { page, sequences, ..setup() }.generator();
                let (mut restored, extra) = other.restore_bytes(&bytes).unwrap();
                assert_eq!((restored.ids(), &extra[..]), (first.ids(), &b"chapter 1"[..]));
                let reply = restored.generate(&options(2)).unwrap();
                assert_eq!(bits(&reply), wanted, "{tokens} tokens, pages of {page}");
                assert_eq!(reply.usage.cached_tokens, u64::from(tokens) + 9 - 1, "only the last one is computed");
                // What it writes next is the same file, for any page size.
                assert_eq!(other.restore_bytes(&bytes).unwrap().0.to_bytes(b"chapter 1").unwrap(), bytes);
            }
        }
        let reply = first.generate(&options(2)).unwrap();
        assert_eq!(bits(&reply), wanted);
    }
}

#[test]
fn texts_longer_than_a_run_of_places_go_on() {
    // The places of a head are contiguous up to a thousand.
    let setup = Setup { context: 1200, rows: vec![1, 256], page: 8, cache: 3000, ..setup() };
    let generator = setup.generator();
    session(&generator, 40);
    let first = session(&generator, 1100);
    let bytes = first.to_bytes(b"").unwrap();
    let other = Setup { page: 32, ..setup.clone() }.generator();
    let (mut restored, _) = other.restore_bytes(&bytes).unwrap();
    let reply = restored.generate(&options(2)).unwrap();
    assert_eq!((bits(&reply), reply.usage.cached_tokens), (cold(&setup, &first, 2), 1108));
}

#[test]
fn the_history_is_restored() {
    // Its draws are a hash of the history.
    let setup = Setup { context: 64, ..Setup::default() };
    let generator = setup.generator();
    let first = session(&generator, 20);
    for page in [1, 4, 32] {
        let other = Setup { page, ..setup.clone() }.generator();
        let (mut restored, _) = other.restore_bytes(&first.to_bytes(b"").unwrap()).unwrap();
        let request = Request::new(2, first.ids()).tokens(9);
        let reply = restored.generate(&request.options()).unwrap();
        assert_eq!(reply.usage.cached_tokens, 28);
        assert_eq!(Outcome::of(reply), request.outcome(64));
    }
}

#[test]
fn other_cache_formats_are_saved() {
    let mut setup = setup();
    setup.kv.keys = inkstone_tensor::DType::F32;
    let generator = setup.generator();
    let first = session(&generator, 20);
    let (mut restored, _) = setup.generator().restore_bytes(&first.to_bytes(b"").unwrap()).unwrap();
    let reply = restored.generate(&options(2)).unwrap();
    assert_eq!((bits(&reply), reply.usage.cached_tokens), (cold(&setup, &first, 2), 28));
}

#[test]
fn a_session_is_saved_while_others_generate() {
    for ahead in 0..4 {
        let setup = Setup { ahead, ..setup() };
        let generator = setup.generator();
        let first = session(&generator, 20);
        let mut other = generator.stream_ids(&[3, 4, 5, 6, 7], &options(9)).unwrap();
        other.next().unwrap().unwrap();
        let bytes = first.to_bytes(b"").unwrap();
        let (mut restored, _) = generator.restore_bytes(&bytes).unwrap();
        let reply = restored.generate(&options(2)).unwrap();
        assert_eq!((bits(&reply), reply.usage.cached_tokens), (cold(&setup, &first, 2), 28));
        other.by_ref().for_each(|piece| drop(piece.unwrap()));
        let wanted = setup.generator().generate_ids(&[3, 4, 5, 6, 7], &options(9)).unwrap();
        assert_eq!(other.ids(), wanted.ids);
    }
}

#[test]
fn a_partial_answer_is_saved() {
    let generator = setup().generator();
    let mut first = session(&generator, 10);
    assert_eq!(first.stream(&options(5)).unwrap().take(4).count(), 4);
    let ids = first.ids().len();
    assert_eq!(ids, 10 + 9 + 4);
    let (mut restored, _) = setup().generator().restore_bytes(&first.to_bytes(b"").unwrap()).unwrap();
    let reply = restored.generate(&options(2)).unwrap();
    assert_eq!((bits(&reply), reply.usage.cached_tokens), (cold(&setup(), &first, 2), ids as u64 - 1));
}

#[test]
fn an_empty_session_is_saved() {
    let generator = setup().generator();
    let bytes = generator.session().to_bytes(b"title").unwrap();
    let (mut restored, extra) = generator.restore_bytes(&bytes).unwrap();
    assert_eq!((restored.ids(), &extra[..]), (&[][..], &b"title"[..]));
    restored.append_ids(&[3, 4, 5]).unwrap();
    let reply = restored.generate(&options(1)).unwrap();
    assert_eq!(bits(&reply), bits(&generator.generate_ids(&[3, 4, 5], &options(1)).unwrap()));
}

#[test]
fn two_restored_sessions_go_on_at_once() {
    let generator = setup().generator();
    let first = session(&generator, 30);
    let bytes = first.to_bytes(b"").unwrap();
    let other = setup().generator();
    let wanted = [2, 3].map(|seed| cold(&setup(), &first, seed));
    std::thread::scope(|scope| {
        let threads = [2, 3].map(|seed| {
            let (other, bytes) = (&other, &bytes);
            scope.spawn(move || {
                let (mut restored, _) = other.restore_bytes(bytes).unwrap();
                let reply = restored.generate(&options(seed)).unwrap();
                assert_eq!(reply.usage.cached_tokens, 38);
                bits(&reply)
            })
        });
        assert_eq!(threads.map(|thread| thread.join().unwrap()), wanted);
    });
}

#[test]
fn rows_without_a_page_are_computed_again() {
    // Seven pages, of which another sequence holds some.
    let setup = Setup { context: 28, sequences: 2, cache: 28, ..setup() };
    let generator = setup.generator();
    let first = session(&generator, 9);
    let bytes = first.to_bytes(b"").unwrap();
    let wanted = cold(&setup, &first, 2);
    for (tokens, cached) in [(1, 17), (10, 16), (14, 12), (26, 0)] {
        let other = setup.generator();
        let prompt: Vec<u32> = (0..tokens).map(|i| i % 5 + 4).collect();
        let mut stream = other.stream_ids(&prompt, &options(9).max_tokens(2)).unwrap();
        stream.next().unwrap().unwrap();
        let (mut restored, _) = other.restore_bytes(&bytes).unwrap();
        // Its pages may be evicted again while it waits.
        stream.by_ref().for_each(|piece| drop(piece.unwrap()));
        let reply = restored.generate(&options(2)).unwrap();
        assert_eq!(bits(&reply), wanted, "{tokens} tokens");
        assert_eq!(reply.usage.cached_tokens, cached, "{tokens} tokens");
    }
}

#[test]
fn without_shared_pages_the_text_is_saved() {
    let setup = Setup { prefix: false, ..setup() };
    let generator = setup.generator();
    let first = session(&generator, 20);
    let (mut restored, _) = generator.restore_bytes(&first.to_bytes(b"").unwrap()).unwrap();
    let reply = restored.generate(&options(2)).unwrap();
    assert_eq!((bits(&reply), reply.usage.cached_tokens), (cold(&setup, &first, 2), 0));
}

#[test]
fn rows_are_found_with_the_salt_of_the_requests() {
    let generator = setup().generator();
    let mut first = generator.session();
    first.append_ids(&[3, 4, 5, 6, 7, 8, 9]).unwrap();
    first.generate(&options(1).cache_salt("a")).unwrap();
    let (mut restored, _) = generator.restore_bytes(&first.to_bytes(b"").unwrap()).unwrap();
    assert_eq!(restored.generate(&options(2).cache_salt("b")).unwrap().usage.cached_tokens, 15);
}

#[test]
fn a_draft_finds_the_rows_and_is_no_part_of_the_session() {
    let generator = setup().generator();
    let first = session(&generator, 20);
    let (mut restored, _) = setup().generator().restore_bytes(&first.to_bytes(b"").unwrap()).unwrap();
    let mut draft = restored.draft(&options(2)).unwrap();
    assert_eq!(draft.by_ref().map(|piece| piece.unwrap().ids.len()).sum::<usize>(), 9);
    assert_eq!((draft.usage().cached_tokens, restored.ids()), (28, first.ids()));
}
