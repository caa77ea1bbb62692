//! End tokens and limits.

use crate::rig::{BOS, EOS, PIECES, Request, Setup, VOCAB, fails};
use inkstone_generate::{FinishReason, Generator};
use inkstone_tensor::step::carry::ENDS;

/// The finish reason of a request, whose whole outcome is compared with the outcome by hand.
#[track_caller]
fn finish(generator: &Generator, request: &Request) -> FinishReason {
    let wanted = request.outcome(generator.config().context);
    assert_eq!(request.reply(generator), wanted, "{request:?}");
    wanted.finish
}

#[test]
fn the_vocabulary_has_the_bytes_and_the_end_token_of_the_table() {
    let generator = Setup::default().generator();
    for (id, piece) in PIECES.iter().enumerate() {
        assert_eq!(generator.tokenizer().piece(id as u32), Some(*piece), "token {id}");
    }
    assert_eq!(generator.tokenizer().end_tokens(), [EOS]);
}

#[test]
fn an_end_token_of_the_vocabulary_ends_a_text_unless_it_is_ignored() {
    let generator = Setup::default().generator();
    let (mut ended, mut ignored) = (0, 0);
    for seed in 0..40 {
        let mut request = Request { max_tokens: Some(20), ..Request::new(seed, &[BOS, 5]) };
        ended += usize::from(finish(&generator, &request) == FinishReason::End);
        request.ignore_end = true;
        assert_eq!(finish(&generator, &request), FinishReason::Length);
        ignored += usize::from(request.outcome(64).ids.contains(&EOS));
    }
    assert!((5..40).contains(&ended) && ignored >= ended, "{ended} ended, {ignored} ignored");
}

#[test]
fn end_tokens_beyond_the_places_on_the_device_end_a_text_as_well() {
    let generator = Setup::default().generator();
    // The end token of the vocabulary takes the first place.
    for ids in [1, ENDS - 2, ENDS - 1, ENDS, VOCAB - 4] {
        let stop_ids: Vec<u32> = (3..VOCAB as u32).take(ids).collect();
        let (mut on_device, mut by_host) = (0, 0);
        for seed in 0..60 {
            let request = Request { stop_ids: stop_ids.clone(), ..Request::new(seed, &[BOS, 7, 4]) };
            if finish(&generator, &request) == FinishReason::End {
                let last = request.outcome(64).ids.last().copied().unwrap();
                let place = stop_ids.iter().position(|id| *id == last).map_or(0, |i| i + 1);
                *if place < ENDS { &mut on_device } else { &mut by_host } += 1;
            }
        }
        assert!(on_device > 0, "{ids} stop ids");
        assert_eq!(by_host > 0, ids >= ENDS, "{ids} stop ids, {by_host} ends that only the host sees");
    }
}

#[test]
fn an_end_token_at_the_limit_is_an_end() {
    let generator = Setup::default().generator();
    let mut found = 0;
    for seed in 0..40 {
        let unlimited = Request::new(seed, &[BOS]).outcome(64);
        if unlimited.finish != FinishReason::End {
            continue;
        }
        found += 1;
        let tokens = unlimited.ids.len() as u64;
        let limited = |n| Request { max_tokens: Some(n), ..Request::new(seed, &[BOS]) };
        assert_eq!(finish(&generator, &limited(tokens)), FinishReason::End);
        assert_eq!(finish(&generator, &limited(tokens - 1)), FinishReason::Length);
    }
    assert!(found > 5, "{found} texts end");
}

#[test]
fn the_limit_and_the_context_are_told_apart() {
    let setup = Setup { context: 20, ..Setup::default() };
    let generator = setup.generator();
    for prompt in [1, 4, 19] {
        let room = 20 - prompt as u64;
        let request = Request::new(7, &[BOS, 3, 4, 5].repeat(5)[..prompt]);
        for tokens in (1..=room).chain([room + 1, 1000, u64::MAX]) {
            let wanted = if tokens <= room { FinishReason::Length } else { FinishReason::Context };
            assert_eq!(finish(&generator, &request.clone().tokens(tokens)), wanted, "{tokens} tokens after {prompt}");
        }
        let unlimited = Request { ignore_end: true, ..request };
        assert_eq!(finish(&generator, &unlimited), FinishReason::Context);
        assert_eq!(unlimited.reply(&generator).ids.len() as u64, room);
    }
}

#[test]
fn with_a_limit_of_0_the_prompt_is_computed_and_nothing_is_drawn() {
    let generator = Setup { context: 20, chunk: 3, timed: true, prefix: false, ..Setup::default() }.generator();
    let rows = || generator.profile().unwrap().iter().map(|p| p.runs.rows).sum::<u64>();
    for prompt in [1, 10, 20] {
        let before = rows();
        assert_eq!(finish(&generator, &Request::new(1, &vec![3; prompt]).tokens(0)), FinishReason::Length);
        assert_eq!(rows() - before, prompt as u64);
    }
}

#[test]
fn a_prompt_that_fills_the_context_ends_without_a_step() {
    let generator = Setup { context: 20, timed: true, ..Setup::default() }.generator();
    let request = Request::new(1, &[3; 20]);
    for tokens in [None, Some(1), Some(5)] {
        let request = Request { max_tokens: tokens, ..request.clone() };
        assert_eq!(finish(&generator, &request), FinishReason::Context);
    }
    assert_eq!(generator.profile().unwrap().iter().map(|p| p.runs.count).sum::<u64>(), 0);
    let long = generator.generate_ids(&[3; 21], &request.options()).unwrap_err();
    assert_eq!(long.to_string(), "the prompt has 21 tokens, the context holds 20");
}

#[test]
fn a_draw_that_fails_ends_its_own_sequence_with_what_was_drawn() {
    let generator = Setup::default().generator();
    let sound = Request::new(1, &[BOS, 6]).tokens(12);
    for index in 0..4 {
        let failing = Request::new(fails(index), &[BOS, 4]).tokens(12);
        let (mut a, mut b) = (failing.stream(&generator), sound.stream(&generator));
        assert_eq!((a.rest(), b.rest()), (failing.outcome(64), sound.outcome(64)));
        assert_eq!(a.error.unwrap().to_string(), format!("logits are NaN at token {index}"));
        assert_eq!(error(&generator, &failing), format!("logits are NaN at token {index}"));
    }
}

/// The error of a request in one call.
fn error(generator: &Generator, request: &Request) -> String {
    generator.generate_ids(&request.prompt, &request.options()).unwrap_err().to_string()
}
