//! Many requests at once: each has the outcome that it has alone.

use crate::rig::{BOS, Outcome, Request, Rng, Setup, fails};
use inkstone_generate::{BatchEvent, BatchPiece, Error, Generator, Options, Prompt};
use std::collections::BTreeMap;

fn ask(request: &Request) -> inkstone_generate::Request {
    inkstone_generate::Request::new(request.prompt.clone(), request.options())
}

#[test]
fn a_batch_has_the_outcomes_of_its_requests() {
    for round in 0..40 {
        let rng = &mut Rng(round);
        let setup = Setup { sequences: 1 + rng.below(5), cache: rng.one_of(&[0, 66, 130]), ..Setup::default() };
        let generator = setup.generator();
        let requests: Vec<Request> = (0..rng.below(25))
            .map(|i| {
                let seed = if rng.once_in(8) { fails(rng.below(4) as u64) } else { i as u64 };
                let prompt: Vec<u32> = (0..1 + rng.below(12)).map(|_| 3 + rng.below(4) as u32).collect();
                Request::new(seed, &prompt).tokens(rng.below(20) as u64)
            })
            .collect();
        let replies = generator.generate_batch(&requests.iter().map(ask).collect::<Vec<_>>());
        assert_eq!(replies.len(), requests.len());
        for (reply, request) in replies.into_iter().zip(&requests) {
            let wanted = request.outcome(64);
            match reply {
                Ok(mut replies) => {
                    assert_eq!(replies.len(), 1);
                    assert_eq!(Outcome::of(replies.remove(0)), wanted, "{request:?}");
                }
                Err(error) => {
                    assert!(matches!(error, Error::NanLogits { .. }), "{error}");
                    assert_eq!(error.to_string(), format!("logits are NaN at token {}", wanted.ids.len()));
                }
            }
        }
        assert_eq!(generator.metrics().held_pages, 0);
    }
}

#[test]
fn a_wrong_request_fails_in_its_place() {
    let generator = Setup::default().generator();
    let good = Request::new(1, &[BOS, 3]).tokens(3);
    let with = |options: Options| inkstone_generate::Request::new(good.prompt.clone(), options);
    let requests = [
        ask(&good),
        with(good.options().temperature(-1.0)),
        inkstone_generate::Request::new(Vec::new(), good.options()),
        with(good.options().n(65)),
        inkstone_generate::Request::new("ab", good.options()),
        ask(&good),
    ];
    let replies = generator.generate_batch(&requests);
    let texts: Vec<String> = replies
        .iter()
        .map(|reply| reply.as_ref().map_or_else(ToString::to_string, |replies| replies.len().to_string()))
        .collect();
    assert!(texts[1].starts_with("temperature is -1"), "{}", texts[1]);
    assert_eq!(texts[2], "the prompt has no tokens");
    assert_eq!(texts[3], "option n is 65, allowed: 1 to 64");
    assert_eq!([&texts[0], &texts[4], &texts[5]], ["1"; 3]);
}

#[test]
fn samples_have_seeds_that_follow_each_other_and_compute_the_prompt_once() {
    let generator = Setup { sequences: 3, ..Setup::default() }.generator();
    let request = Request::new(100, &[BOS, 3, 4, 5, 6, 7, 8, 9, 3]).tokens(6);
    let replies = generator.generate_all(request.prompt.clone(), &request.options().n(5)).unwrap();
    let cached: Vec<u64> = replies.iter().map(|r| r.usage.cached_tokens).collect();
    assert_eq!(cached, [0, 8, 8, 8, 8]);
    for (i, reply) in replies.into_iter().enumerate() {
        assert_eq!(reply.seed, 100 + i as u64);
        let wanted = Request { seed: 100 + i as u64, ..request.clone() }.outcome(64);
        assert_eq!(Outcome::of(reply), wanted);
    }
    let error = generator.generate_ids(&request.prompt, &request.options().n(2)).unwrap_err().to_string();
    assert_eq!(error, "option n is 2, allowed: 1; generate_all and generate_batch give several replies");
    // Without shared pages a request's own samples still share.
    let alone = Setup { sequences: 3, prefix: false, ..Setup::default() }.generator();
    let replies = alone.generate_all(request.prompt.clone(), &request.options().n(3)).unwrap();
    assert_eq!(replies.iter().map(|r| r.usage.cached_tokens).collect::<Vec<_>>(), [0, 8, 8]);
    let again = alone.generate_all(request.prompt.clone(), &request.options()).unwrap();
    assert_eq!(again[0].usage.cached_tokens, 0);
    // Without a seed they have one that is drawn.
    let replies = generator.generate_all("ab", &Options::default().n(2).max_tokens(1)).unwrap();
    assert_eq!(replies[1].seed, replies[0].seed.wrapping_add(1));
    assert_eq!(Prompt::from("ab"), Prompt::Text("ab".to_owned()));
}

#[test]
fn pieces_come_as_they_are_computed_and_tell_their_request() {
    let generator = Setup { sequences: 2, ..Setup::default() }.generator();
    let requests: Vec<Request> = (0..5).map(|i| Request::new(i, &[BOS, 3]).tokens(4 + i)).collect();
    let asked: Vec<_> = requests.iter().map(ask).collect();
    let mut batch = generator.stream_batch(&asked);
    let mut ids: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    let mut order = Vec::new();
    while let Some(BatchPiece { request, sample, piece }) = batch.next() {
        assert_eq!((sample, batch.end(request, 0)), (0, None), "a piece after the end");
        ids.entry(request).or_default().extend(piece.unwrap().ids);
        order.push(request);
    }
    assert_eq!(order[..6], [0, 1, 0, 1, 0, 1], "two at once");
    for (i, request) in requests.iter().enumerate() {
        let (end, wanted) = (batch.end(i, 0).unwrap(), request.outcome(64));
        assert_eq!((&ids[&i], end.finish, end.seed), (&wanted.ids, wanted.finish, i as u64));
        assert_eq!(end.usage.completion_tokens, 4 + i as u64);
    }
    assert!(batch.end(5, 0).is_none());
}

#[test]
fn a_batch_that_is_dropped_ends_its_requests() {
    let generator = Setup::default().generator();
    let asked = [1, 2, 3, 4, 5, 6].map(|seed| ask(&Request::new(seed, &[BOS]).tokens(30)));
    for pieces in [0, 1, 7] {
        assert_eq!(generator.stream_batch(&asked).take(pieces).count(), pieces);
        let metrics = generator.metrics();
        assert_eq!((metrics.running, metrics.waiting, metrics.held_pages), (0, 0, 0));
    }
}

#[test]
fn all_sequences_advance_in_one_step() {
    let generator: Generator = Setup { sequences: 8, logit_rows: vec![16], ..Setup::default() }.generator();
    let requests: Vec<Request> = (0..8).map(|i| Request::new(i, &[BOS, 3 + i as u32]).tokens(20)).collect();
    generator.generate_batch(&requests.iter().map(ask).collect::<Vec<_>>());
    // The prompts, 19 decodes, and steps that were ahead of the end.
    let steps = generator.metrics().steps;
    assert!((20..24).contains(&steps), "{steps}");
}

#[test]
fn requests_are_added_while_others_run() {
    let generator = Setup { sequences: 2, ..Setup::default() }.generator();
    let requests: Vec<Request> = (0..6).map(|i| Request::new(i, &[BOS, 3]).tokens(2 + i)).collect();
    let mut batch = generator.batch();
    assert!(batch.is_empty() && batch.has_room() && batch.next().is_none());
    let mut left = requests.iter().enumerate();
    let mut ids: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    let mut ended = Vec::new();
    loop {
        while batch.has_room() {
            let Some((number, request)) = left.next() else { break };
            batch.add(10 * number, &ask(request)).unwrap();
            assert!(generator.metrics().running + generator.metrics().waiting <= 2);
        }
        match batch.next() {
            Some(BatchEvent::Piece(piece)) => ids.entry(piece.request).or_default().extend(piece.piece.unwrap().ids),
            Some(BatchEvent::End { request, end, .. }) => ended.push((request, end.finish)),
            Some(BatchEvent::Done { request }) => assert_eq!(ended.last().map(|(number, _)| *number), Some(request)),
            Some(event) => panic!("{event:?}"),
            None => break,
        }
    }
    assert!(batch.is_empty());
    let numbers: Vec<usize> = ended.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [0, 10, 20, 30, 40, 50], "the shorter ones end first");
    for (i, request) in requests.iter().enumerate() {
        let wanted = request.outcome(64);
        assert_eq!((&ids[&(10 * i)], ended[i].1), (&wanted.ids, wanted.finish));
    }
    // A batch that was empty takes requests, more of them than have room.
    for number in 0..3 {
        batch.add(number, &inkstone_generate::Request::new("ab", Options::default().n(2).max_tokens(0))).unwrap();
    }
    assert!(!batch.has_room());
    let (mut ends, mut done) = (0, Vec::new());
    for event in batch.by_ref() {
        match event {
            BatchEvent::End { .. } => ends += 1,
            BatchEvent::Done { request } => done.push(request),
            event => panic!("{event:?}"),
        }
    }
    assert_eq!((ends, done), (6, vec![0, 1, 2]));
    assert!(batch.add(0, &inkstone_generate::Request::new("ab", Options::default().n(0))).is_err());
    assert!(batch.is_empty());
}
