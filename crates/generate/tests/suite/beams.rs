//! Beam searches: the results of a plain search over the logits of the model, whatever else runs.

use crate::rig::{BOS, Outcome, PlainSearch, Request, Rng, Setup, VOCAB};
use inkstone_generate::{BatchEvent, Cancel, Error, FinishReason, Generator, Options, Reply};
use inkstone_tensor::sampling::log_probs;
use std::time::Duration;

/// The log-probabilities of all tokens behind a text.
fn scores(generator: &Generator, ids: &[u32]) -> Vec<(u32, f32)> {
    let logits = generator.logits(ids, &[]).unwrap();
    let last = &logits[logits.len() - VOCAB..];
    (0..VOCAB as u32).map(|id| (id, log_probs(last, id, 0).unwrap().token as f32)).collect()
}

/// The results of a plain search.
fn plain(generator: &Generator, prompt: &[u32], search: &PlainSearch) -> Vec<(Vec<u32>, f64)> {
    search.results(|ids| scores(generator, &[prompt, ids].concat()))
}

fn options(search: &PlainSearch) -> Options {
    let mut options = Options::default().num_beams(search.beams as u32).max_tokens(search.limit);
    options = options.length_penalty(search.length_penalty).early_stopping(search.early_stopping);
    options.stop_ids = search.ends.clone();
    options.ignore_end(true)
}

fn random_search(rng: &mut Rng, beams: usize, limit: usize) -> PlainSearch {
    PlainSearch {
        beams,
        limit: 1 + rng.below(limit) as u64,
        length_penalty: rng.one_of(&[1.0, 0.0, 2.0, -0.5]),
        early_stopping: rng.once_in(2),
        ends: (0..rng.below(3)).map(|_| rng.below(VOCAB) as u32).collect(),
    }
}

#[track_caller]
fn check(replies: &[Reply], wanted: &[(Vec<u32>, f64)], search: &PlainSearch) {
    let found: Vec<_> = replies.iter().map(|r| (r.ids.clone(), r.score.unwrap())).collect();
    assert_eq!(found, wanted, "{search:?}");
    for reply in replies {
        let end = reply.ids.last().is_some_and(|id| search.ends.contains(id));
        assert_eq!(reply.finish, if end { FinishReason::End } else { FinishReason::Length });
        assert_eq!((reply.usage.completion_tokens, reply.seed), (reply.ids.len() as u64, 0));
    }
}

#[test]
fn searches_have_the_results_of_a_plain_search_in_any_company() {
    for round in 0..60 {
        let rng = &mut Rng(round);
        let sequences = 2 + rng.below(7);
        let setup = Setup {
            attention: Some(round),
            sequences,
            // Rooms for one context and a little, and for all.
            cache: rng.one_of(&[0, 68, 100]),
            page: rng.one_of(&[2, 4, 16]),
            prefix: !rng.once_in(4),
            chunk: rng.one_of(&[0, 1, 5]),
            ahead: rng.below(5),
            ..Setup::default()
        };
        // The longest texts of a search, of 22 tokens, fit in the cache.
        let cache = if setup.cache == 0 { 64 * sequences } else { setup.cache };
        let most = sequences.min((cache / setup.page) / 22usize.div_ceil(setup.page));
        let generator = setup.generator();
        let mut wanted = Vec::new();
        let requests: Vec<_> = (0..6)
            .map(|i| {
                let prompt: Vec<u32> = (0..1 + rng.below(12)).map(|_| 3 + rng.below(3) as u32).collect();
                if rng.once_in(3) {
                    let request = Request::new(i, &prompt).tokens(rng.below(30) as u64);
                    wanted.push(Err(request.clone()));
                    return inkstone_generate::Request::new(prompt, request.options());
                }
                let beams = 2 + rng.below(most - 1);
                let search = random_search(rng, beams, 10);
                let options = options(&search);
                wanted.push(Ok((plain(&generator, &prompt, &search), search)));
                inkstone_generate::Request::new(prompt, options)
            })
            .collect();
        for (replies, wanted) in generator.generate_batch(&requests).into_iter().zip(wanted) {
            let mut replies = replies.unwrap();
            match wanted {
                Ok((wanted, search)) => check(&replies, &wanted, &search),
                Err(request) => assert_eq!(Outcome::of(replies.remove(0)), request.outcome(64)),
            }
        }
        let metrics = generator.metrics();
        assert_eq!((metrics.running, metrics.waiting, metrics.held_pages), (0, 0, 0), "{metrics:?}");
    }
}

#[test]
fn a_search_that_gave_up_its_pages_has_the_same_results() {
    let mut preemptions = 0;
    for seed in 0..10 {
        let setup = Setup { attention: Some(seed), sequences: 8, cache: 66, page: 2, ..Setup::default() };
        let generator = setup.generator();
        let search = PlainSearch { beams: 3, limit: 18, length_penalty: 1.0, early_stopping: false, ends: vec![] };
        let prompt = [BOS, 4, 5];
        let wanted = plain(&generator, &prompt, &search);
        let others: Vec<Request> = (0..4).map(|i| Request::new(i, &[BOS, 3]).tokens(30)).collect();
        let mut batch = generator.batch();
        // An older request and newer ones.
        let mut readers: Vec<_> = others[..2].iter().map(|r| r.stream(&generator)).collect();
        readers.iter_mut().for_each(|reader| reader.read_pieces(1));
        batch.add(0, &inkstone_generate::Request::new(&prompt[..], options(&search))).unwrap();
        let mut found = Vec::new();
        let mut later: Vec<_> = others[2..].iter().map(|r| r.stream(&generator)).collect();
        for event in batch {
            for reader in readers.iter_mut().chain(&mut later) {
                reader.read();
            }
            if let BatchEvent::Piece(piece) = event {
                found.push(piece.piece.unwrap().ids);
            }
        }
        assert_eq!(found, wanted.into_iter().map(|(ids, _)| ids).collect::<Vec<_>>());
        for (reader, request) in readers.iter_mut().chain(&mut later).zip(&others) {
            assert_eq!(reader.rest(), request.outcome(64));
        }
        preemptions += generator.metrics().preemptions;
    }
    assert!(preemptions > 10, "{preemptions}");
}

#[test]
fn the_texts_of_a_search_share_steps_and_pages() {
    let setup = Setup { attention: Some(1), sequences: 8, logit_rows: vec![16], ahead: 0, ..Setup::default() };
    let generator = setup.generator();
    let search = PlainSearch { beams: 5, limit: 20, length_penalty: 1.0, early_stopping: false, ends: vec![] };
    let prompt: Vec<u32> = (0..30).map(|i| 3 + i % 7).collect();
    let replies = generator.generate_all(prompt, &options(&search)).unwrap();
    let metrics = generator.metrics();
    // The prompt of 30 tokens takes two steps.
    assert_eq!((metrics.steps, metrics.generation_tokens), (2 + 19, 1 + 19 * 5));
    assert_eq!((metrics.prompt_tokens, metrics.prefix_cache_queries, metrics.prefix_cache_hits), (30, 30, 0));
    assert_eq!(metrics.finished.iter().sum::<u64>(), 1, "{metrics:?}");
    assert!(replies.iter().all(|r| r.usage.prompt_tokens == 30 && r.usage.cached_tokens == 0));
    assert!(replies.is_sorted_by(|a, b| a.score >= b.score));
    // The next search finds the prompt.
    let again = generator.generate_all((0..30).map(|i| 3 + i % 7).collect::<Vec<_>>(), &options(&search)).unwrap();
    assert_eq!(
        again.iter().map(|r| (&r.ids, r.score)).collect::<Vec<_>>(),
        replies.iter().map(|r| (&r.ids, r.score)).collect::<Vec<_>>()
    );
    assert!(again.iter().all(|r| r.usage.cached_tokens == 29));
}

#[test]
fn a_deadline_or_a_switch_gives_the_texts_so_far() {
    let generator = Setup { attention: Some(2), ..Setup::default() }.generator();
    let search = PlainSearch { beams: 3, limit: 40, length_penalty: 1.0, early_stopping: false, ends: vec![] };
    let late = generator.generate_all(vec![BOS, 3], &options(&search).deadline(Duration::ZERO)).unwrap();
    let [only] = &late[..] else { panic!("{late:?}") };
    assert_eq!((&only.ids[..], only.finish, only.score), (&[][..], FinishReason::Deadline, Some(0.0)));

    let cancel = Cancel::new();
    let mut batch = generator.batch();
    let request = inkstone_generate::Request::new(vec![BOS, 3], options(&search).cancel(cancel.clone()));
    batch.add(7, &request).unwrap();
    // Another request takes the turns until the switch is on.
    batch.add(8, &inkstone_generate::Request::new(vec![BOS, 4], Request::new(1, &[]).tokens(5).options())).unwrap();
    let mut texts = Vec::new();
    for event in &mut batch {
        match event {
            BatchEvent::Piece(piece) if piece.request == 7 => texts.push(piece.piece.unwrap().ids),
            BatchEvent::End { request: 7, end, .. } => assert_eq!(end.finish, FinishReason::Cancelled),
            BatchEvent::Done { request: 8 } => cancel.cancel(),
            _ => {}
        }
    }
    assert_eq!(texts.len(), 3);
    let tokens = texts[0].len() as u64;
    assert!((1..40).contains(&tokens), "{texts:?}");
    let wanted = plain(&generator, &[BOS, 3], &PlainSearch { limit: tokens, ..search });
    assert_eq!(texts, wanted.into_iter().map(|(ids, _)| ids).collect::<Vec<_>>());
    let metrics = generator.metrics();
    assert_eq!((metrics.running, metrics.waiting, metrics.held_pages), (0, 0, 0), "{metrics:?}");
}

#[test]
fn a_search_that_is_dropped_ends_its_sequences() {
    let generator = Setup { attention: Some(3), sequences: 6, ..Setup::default() }.generator();
    let search = PlainSearch { beams: 4, limit: 30, length_penalty: 1.0, early_stopping: false, ends: vec![] };
    for pieces in [0, 1, 5] {
        let mut batch = generator.batch();
        batch.add(0, &inkstone_generate::Request::new(vec![BOS, 3], options(&search))).unwrap();
        batch
            .add(1, &inkstone_generate::Request::new(vec![BOS, 3], Request::new(1, &[]).tokens(20).options()))
            .unwrap();
        assert_eq!(batch.by_ref().take(pieces).count(), pieces);
        drop(batch);
        let metrics = generator.metrics();
        assert_eq!((metrics.running, metrics.waiting, metrics.held_pages), (0, 0, 0), "{metrics:?}");
    }
}

#[test]
fn a_step_that_fails_ends_the_search_with_its_error() {
    let setup = Setup { attention: Some(4), sequences: 4, ..Setup::default() };
    for submit in 0..6 {
        let engine = setup.gated_engine();
        let generator = setup.open(engine.clone(), Options::default()).unwrap();
        engine.gate().lose(submit);
        let search = PlainSearch { beams: 3, limit: 6, length_penalty: 1.0, early_stopping: false, ends: vec![] };
        let error = generator.generate_all(vec![BOS, 3, 4], &options(&search)).unwrap_err();
        assert!(matches!(error, Error::Engine(_) | Error::Shared(_)), "{error}");
        let wanted = plain(&generator, &[BOS, 3, 4], &search);
        check(&generator.generate_all(vec![BOS, 3, 4], &options(&search)).unwrap(), &wanted, &search);
    }
}

#[test]
fn what_a_search_does_not_have_is_refused_by_name() {
    let generator = Setup { sequences: 4, cache: 64, ..Setup::default() }.generator();
    let base = || Options::default().num_beams(3).max_tokens(4);
    let wrong = [
        (base().n(2), "n is 2"),
        (base().seed(5), "seed is 5"),
        (base().stop("a"), "stop is a list of 1 texts"),
        (base().logprobs(2), "logprobs is 2"),
        (base().temperature(0.5), "temperature is 0.5"),
        (base().top_k(4), "top_k is 4"),
        (base().top_p(0.5), "top_p is 0.5"),
        (base().typical_p(0.5), "typical_p is 0.5"),
        (base().min_p(0.5), "min_p is 0.5"),
        (base().repeat_penalty(1.1), "repeat_penalty is 1.1"),
        (base().repeat_last_n(9), "repeat_last_n is 9"),
        (base().frequency_penalty(0.5), "frequency_penalty is 0.5"),
        (base().presence_penalty(0.5), "presence_penalty is 0.5"),
        (base().no_repeat_ngram(2), "no_repeat_ngram is 2"),
        (base().logit_bias(3, 1.0), "logit_bias is a list of 1 biases"),
        (base().ban([3]), "banned is a list of 1 tokens"),
        (base().min_tokens(1), "min_tokens is 1"),
    ];
    for (options, named) in wrong {
        let error = generator.generate_all(vec![BOS, 3], &options).unwrap_err().to_string();
        assert_eq!(error, format!("option {named}, allowed: not set with num_beams above 1"));
    }
    let numbers = [
        (base().num_beams(0), "option num_beams is 0, allowed: 1 to 8"),
        (base().num_beams(9), "option num_beams is 9, allowed: 1 to 8"),
        (base().num_beams(5), "option num_beams is 5, allowed: at most 4, the number of sequences"),
        (
            base().max_tokens(40),
            "option num_beams is 3, allowed: at most 1 with texts of 42 tokens, for which the cache has room",
        ),
        (base().length_penalty(11.0), "option length_penalty is 11, allowed: -10 to 10"),
        (base().length_penalty(f64::NAN), "option length_penalty is NaN, allowed: -10 to 10"),
        (base().stop_id(16), "option stop_ids is 16, allowed: ids below 16, the size of the vocabulary"),
        (
            (0..17).fold(base(), |o, i| o.stop_id(i % 16)),
            "option stop_ids is 18 end tokens, allowed: at most 17 with num_beams 3",
        ),
    ];
    for (options, message) in numbers {
        assert_eq!(generator.generate_all(vec![BOS, 3], &options).unwrap_err().to_string(), message);
    }
    let message = "option num_beams is 3, allowed: 1; generate_all and generate_batch give several replies";
    assert_eq!(generator.generate_ids(&[BOS], &base()).unwrap_err().to_string(), message);
    assert_eq!(generator.session().generate(&base()).unwrap_err().to_string(), "the prompt has no tokens");
    assert!(matches!(generator.generate_all(Vec::new(), &base()), Err(Error::EmptyPrompt)));
    // The options of the file are for draws, and one beam is none.
    let file = Options::default().temperature(0.5).top_k(3);
    let generator = Setup { file, ..Setup::default() }.generator();
    assert_eq!(generator.generate_all(vec![BOS], &base()).unwrap().len(), 3);
    let drawn = Options::default().num_beams(1).max_tokens(2).seed(1).ignore_end(true);
    let one = generator.generate_ids(&[BOS], &drawn).unwrap();
    assert_eq!((one.ids.len(), one.score), (2, None));
}

#[test]
fn a_search_of_no_tokens_computes_nothing() {
    let generator = Setup::default().generator();
    let replies = generator.generate_all(vec![BOS], &Options::default().num_beams(2).max_tokens(0)).unwrap();
    assert_eq!((replies.len(), replies[0].finish, &replies[0].text[..]), (1, FinishReason::Length, ""));
    let full = generator.generate_all(vec![BOS; 64], &Options::default().num_beams(2)).unwrap();
    assert_eq!((full.len(), full[0].finish), (1, FinishReason::Context));
    assert_eq!(generator.metrics().steps, 0);
}

#[test]
fn a_search_that_nobody_reads_gives_up_its_slots() {
    let generator = Setup { attention: Some(5), sequences: 4, ..Setup::default() }.generator();
    let search = PlainSearch { beams: 3, limit: 12, length_penalty: 1.0, early_stopping: false, ends: vec![] };
    let sample = Request::new(1, &[BOS, 4]).tokens(20);
    let mut batch = generator.batch();
    batch.add(0, &inkstone_generate::Request::new(vec![BOS, 3], options(&search))).unwrap();
    batch.add(1, &inkstone_generate::Request::new(sample.prompt.clone(), sample.options())).unwrap();
    let mut found = vec![Vec::new(); 2];
    let mut read = |event| {
        if let BatchEvent::Piece(piece) = event {
            found[piece.request].push(piece.piece.unwrap().ids);
        }
    };
    batch.by_ref().take(4).for_each(&mut read);
    let others: Vec<Request> = (2..6).map(|seed| Request::new(seed, &[BOS, 5]).tokens(20)).collect();
    let mut readers: Vec<_> = others.iter().map(|r| r.stream(&generator)).collect();
    for (reader, request) in readers.iter_mut().zip(&others).rev() {
        assert_eq!(reader.rest(), request.outcome(64));
    }
    assert!(generator.metrics().preemptions > 0);
    batch.for_each(&mut read);
    let wanted = plain(&generator, &[BOS, 3], &search);
    assert_eq!(found[0], wanted.into_iter().map(|(ids, _)| ids).collect::<Vec<_>>());
    assert_eq!(found[1].concat(), sample.outcome(64).ids);
}
