//! What is in the cache is not computed again, and changes no outcome.

use crate::rig::{BOS, Outcome, Request, Setup};
use inkstone_compute::conformance::Delayed;
use inkstone_generate::{FinishReason, Generator, Options, Usage};
use std::sync::Arc;

const PAGE: usize = 4;

fn setup() -> Setup {
    Setup { page: PAGE, ..Setup::default() }
}

/// Tokens that differ from place to place.
fn text(seed: u32, tokens: usize) -> Vec<u32> {
    (0..tokens as u32).map(|i| (i * i + seed * 7 + i * seed) % 13 + 3).collect()
}

/// The outcome and the tokens that were found in the cache.
fn found(generator: &Generator, request: &Request) -> usize {
    let reply = generator.generate_ids(&request.prompt, &request.options()).unwrap();
    let Usage { cached_tokens, .. } = reply.usage;
    assert_eq!(Outcome::of(reply), request.outcome(generator.config().context));
    cached_tokens as usize
}

#[test]
fn the_second_of_two_equal_prompts_computes_one_token() {
    for tokens in 1..=3 * PAGE {
        let generator = setup().generator();
        let request = Request::new(1, &text(1, tokens)).tokens(5);
        assert_eq!(found(&generator, &request), 0);
        assert_eq!(found(&generator, &request), tokens - 1, "of {tokens}");
        let metrics = generator.metrics();
        assert_eq!(metrics.prefix_cache_queries, 2 * tokens as u64);
        assert_eq!(metrics.prefix_cache_hits, tokens as u64 - 1);
    }
}

#[test]
fn all_tokens_in_common_are_found() {
    for common in 0..=2 * PAGE + 1 {
        let generator = setup().generator();
        let first = Request::new(1, &text(1, 3 * PAGE)).tokens(5);
        found(&generator, &first);
        let mut second = Request::new(2, &text(2, 4 * PAGE)).tokens(9);
        second.prompt[..common].copy_from_slice(&first.prompt[..common]);
        second.prompt[common] = 2;
        assert_eq!(found(&generator, &second), common);
        // Both are there now, each to its own end.
        assert_eq!([&first, &second].map(|r| found(&generator, r)), [3 * PAGE - 1, 4 * PAGE - 1]);
    }
}

#[test]
fn the_next_turn_finds_the_answer_but_for_its_last_token() {
    for ahead in 1..=4 {
        for answer in 1..=2 * PAGE as u64 + 1 {
            let engine = Arc::new(Delayed::new(setup().engine(), ahead, answer));
            let generator = setup().open(engine, Options::default()).unwrap();
            let first = Request::new(7, &text(1, 6)).tokens(answer);
            found(&generator, &first);
            let mut turn = Request::new(8, &first.prompt).tokens(4);
            turn.prompt.extend(first.outcome(64).ids);
            turn.prompt.extend([3, 4, 5]);
            assert_eq!(found(&generator, &turn), 6 + answer as usize - 1, "{ahead} steps, {answer} tokens");
        }
    }
}

#[test]
fn prompts_that_arrive_together_compute_what_they_share_once() {
    let setup = Setup { context: 400, sequences: 6, rows: vec![1, 64], page: 8, ..setup() };
    let generator = Setup { timed: true, ..setup }.generator();
    let requests: Vec<Request> = (0..6)
        .map(|i| {
            let mut prompt = text(5, 256);
            prompt.extend(text(i + 20, 5));
            Request::new(u64::from(i), &prompt).tokens(3)
        })
        .collect();
    let mut readers: Vec<_> = requests.iter().map(|r| r.stream(&generator)).collect();
    for (reader, request) in readers.iter_mut().zip(&requests) {
        assert_eq!(reader.rest(), request.outcome(400));
    }
    let computed: u64 = generator.profile().unwrap().iter().map(|p| p.runs.rows).sum();
    assert_eq!(computed, 256 + 6 * (5 + 2), "256 once, then the ends and the decodes");
    let cached: Vec<u64> = readers.iter().map(|r| r.stream().usage().cached_tokens).collect();
    assert_eq!(cached, [0, 256, 256, 256, 256, 256]);
}

#[test]
fn g7_prompts_with_different_salts_share_nothing() {
    let generator = setup().generator();
    let request = Request::new(1, &text(1, 10)).tokens(3);
    let hit = |salt: Option<&str>| {
        let options = salt.map_or(request.options(), |salt| request.options().cache_salt(salt));
        let reply = generator.generate_ids(&request.prompt, &options).unwrap();
        let cached = reply.usage.cached_tokens;
        assert_eq!(Outcome::of(reply), request.outcome(64));
        cached
    };
    assert_eq!([None, Some("a"), Some("b"), Some("")].map(hit), [0; 4]);
    // The first token of each took as many steps as from cold, and no count tells of the others.
    let metrics = generator.metrics();
    assert_eq!((metrics.prefix_cache_queries, metrics.prefix_cache_hits), (40, 0));
    let alone = setup().generator();
    found(&alone, &request);
    assert_eq!(metrics.steps, 4 * alone.metrics().steps);
    assert_eq!([None, Some("a"), Some("b"), Some("")].map(hit), [9; 4]);
}

#[test]
fn g8_a_flood_takes_neither_running_pages_nor_the_page_of_a_small_tenant() {
    // Pages for four contexts, and 256 tenants with texts of nearly one.
    let generator = Setup { context: 40, sequences: 2, cache: 160, ..setup() }.generator();
    let by = |salt: &str, request: &Request| {
        let reply = generator.generate_ids(&request.prompt, &request.options().cache_salt(salt)).unwrap();
        let cached = reply.usage.cached_tokens;
        assert_eq!(Outcome::of(reply), request.outcome(40));
        cached
    };
    let running = Request::new(2, &text(2, 9)).tokens(31);
    let mut reader = running.stream(&generator);
    for tenant in 0..256 {
        if tenant % 16 == 0 {
            reader.read_pieces(1);
        }
        assert_eq!(by(&format!("tenant {tenant}"), &Request::new(3, &text(tenant, 30)).tokens(3)), 0);
    }
    assert_eq!(generator.metrics().preemptions, 0);
    assert_eq!(reader.rest(), running.outcome(40));
    // A tenant with many texts takes its own pages, and those of the tenants before, which had more than one.
    let small = Request::new(1, &text(1, PAGE)).tokens(1);
    assert_eq!(by("small", &small), 0);
    for n in 0..100 {
        by("large", &Request::new(4, &text(n + 3, 30)).tokens(1));
    }
    assert_eq!(by("small", &small), PAGE as u64 - 1);
    assert_eq!(generator.metrics().preemptions, 0);
}

#[test]
fn without_the_option_nothing_is_kept() {
    let generator = Setup { prefix: false, ..setup() }.generator();
    let request = Request::new(1, &text(1, 10)).tokens(3);
    assert_eq!([(); 3].map(|()| found(&generator, &request)), [0; 3]);
}

#[test]
fn the_logits_of_a_prompt_are_all_computed() {
    let generator = setup().generator();
    let prompt = text(1, 9);
    found(&generator, &Request::new(1, &prompt).tokens(1));
    let logits = generator.logits(&prompt, &[]).unwrap();
    let wanted: Vec<f32> = prompt.iter().flat_map(|last| (0..16).map(|id| crate::rig::logit(*last, id))).collect();
    assert_eq!(logits, wanted);
    // And they leave nothing.
    let other = Request::new(2, &text(3, 9)).tokens(1);
    generator.logits(&other.prompt, &[]).unwrap();
    assert_eq!(found(&generator, &other), 0);
}

/// The rows of a step may be shared by the next one, before anybody knows that they were computed.
#[test]
fn what_a_failed_step_should_have_computed_is_not_found() {
    for lost in 0..6 {
        let setup = Setup { chunk: PAGE, ..setup() };
        let engine = setup.gated_engine();
        let gate = engine.gate().clone();
        // Other texts are in the pages before.
        let generator = setup.open(engine, Options::default()).unwrap();
        for seed in 20..24 {
            found(&generator, &Request::new(1, &text(seed, 40)).tokens(20));
        }
        let request = Request::new(3, &text(1, 4 * PAGE)).tokens(5);
        gate.lose(lost);
        let mut reader = request.stream(&generator);
        let outcome = reader.rest();
        assert_eq!(outcome.finish, FinishReason::Error, "submit {lost}");
        assert_eq!(found(&generator, &request), 0);
        assert_eq!(found(&generator, &request), 4 * PAGE - 1);
    }
}

#[test]
fn pages_of_ended_sequences_make_room() {
    // Four contexts of pages, and many more texts.
    let generator = Setup { context: 20, sequences: 1, cache: 80, ..setup() }.generator();
    for seed in 0..60 {
        let request = Request::new(u64::from(seed), &[BOS, seed % 13 + 3, seed / 13 + 3, 3, 4, 5]).tokens(9);
        found(&generator, &request);
    }
    let last = Request::new(59, &[BOS, 59 % 13 + 3, 59 / 13 + 3, 3, 4, 5]).tokens(9);
    assert_eq!(found(&generator, &last), 5, "the last one is still there");
    assert_eq!(found(&generator, &Request::new(0, &[BOS, 3, 3, 3, 4, 5]).tokens(9)), 1, "the first one is not");
    assert_eq!(generator.metrics().preemptions, 0);
}

#[test]
fn a_cache_of_one_context_serves_a_prompt_that_fills_it() {
    for tokens in 18..20 {
        let generator = Setup { context: 20, sequences: 1, cache: 20, ..setup() }.generator();
        let first = Request::new(1, &text(1, 20)).tokens(0);
        found(&generator, &first);
        // Its beginning is in a page that can't be copied, because no page is left.
        let mut second = Request { max_tokens: None, ..Request::new(2, &first.prompt[..tokens]) };
        second.prompt[tokens - 1] = 2;
        assert_eq!(found(&generator, &second), 16, "of {tokens}");
        assert_eq!(generator.metrics().preemptions, 0);
    }
}
