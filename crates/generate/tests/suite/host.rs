//! Draws of the host, where the engine doesn't draw: every request has the reply that it has alone on an engine that draws.

use crate::rig::{BOS, Leaves, Rng, Setup, VOCAB};
use inkstone_compute::conformance::Delayed;
use inkstone_generate::{Cancel, FinishReason, Generator, Options, Reply, Request, Result, Stream};
use std::sync::Arc;

/// A layer with attention, whose logits depend on all tokens, and draws by the definition.
fn setup(attention: u64) -> Setup {
    Setup { samples: true, attention: Some(attention), ..Setup::default() }
}

/// A reply, or the error in its place, without times and hits.
fn told(request: &Request, replies: &Result<Vec<Reply>>) -> String {
    let replies = match replies {
        Ok(replies) => replies,
        // The first of several samples that fails ends all of them.
        Err(error) if request.options.n.is_some() => {
            return error.to_string().trim_end_matches(char::is_numeric).to_owned();
        }
        Err(error) => return error.to_string(),
    };
    let reply = |r: &Reply| {
        // Every bit of a log-probability.
        let score = |id: u32, p: f32| (id, p.to_bits());
        let scores =
            r.logprobs.iter().map(|s| (score(s.id, s.logprob), s.top.iter().map(|t| score(t.0, t.1)).collect()));
        let scores: Vec<(_, Vec<_>)> = scores.collect();
        let usage = (r.usage.prompt_tokens, r.usage.completion_tokens);
        format!("{:?} {:?} {} {usage:?} {:?} {scores:?}", r.ids, r.text, r.finish, r.score.map(f64::to_bits))
    };
    replies.iter().map(reply).collect::<Vec<_>>().join("\n")
}

/// The reply to each request, which is alone on an engine that draws.
fn wanted(setup: &Setup, requests: &[Request]) -> Vec<String> {
    let plain = Setup { context: setup.context, nan: setup.nan, ..self::setup(setup.attention.unwrap()) };
    let generator = Setup { sequences: 8, ahead: 0, ..plain }.generator();
    requests.iter().map(|request| told(request, &generator.generate_batch(std::slice::from_ref(request))[0])).collect()
}

#[track_caller]
fn check(generator: &Generator, requests: &[Request], wanted: &[String], what: &dyn std::fmt::Debug) {
    for (i, (reply, wanted)) in generator.generate_batch(requests).iter().zip(wanted).enumerate() {
        assert_eq!(&told(&requests[i], reply), wanted, "request {i}: {:?}, {what:?}", requests[i]);
    }
    let metrics = generator.metrics();
    assert_eq!((metrics.running, metrics.waiting, metrics.held_pages), (0, 0, 0), "{what:?}: {metrics:?}");
}

/// Draws of all kinds: the most probable token, by chance, with penalties, several at once, searches, none left.
fn options(rng: &mut Rng, searches: bool) -> Options {
    let o = Options::default().max_tokens(1 + rng.below(20) as u64).ignore_end(rng.once_in(2));
    let drawn = o.clone().seed(rng.below(1000) as u64);
    let drawn = match rng.below(9) {
        0 => drawn.temperature(0.0),
        1 => drawn.temperature(0.8).top_k(5).top_p(0.9),
        2 => drawn.repeat_penalty(1.7).repeat_last_n(6).frequency_penalty(0.4).presence_penalty(0.3),
        3 => drawn.no_repeat_ngram(2).temperature(0.0),
        4 => drawn.n(2 + rng.below(3) as u32).min_p(0.02),
        5 if searches => return o.num_beams(2 + rng.below(2) as u32),
        // One token is left, then none.
        6 => drawn.ban((0..VOCAB as u32).filter(|id| *id != 4)).no_repeat_ngram(1),
        7 => drawn.min_tokens(5).stop_id(3).stop_id(8).stop("b").typical_p(0.9),
        _ => drawn.logit_bias(5, 1.5).temperature(1.5),
    };
    if rng.once_in(2) { drawn.logprobs(rng.below(4) as u32) } else { drawn }
}

fn requests(rng: &mut Rng, searches: bool) -> Vec<Request> {
    let mut requests: Vec<Request> = Vec::new();
    for _ in 0..2 + rng.below(6) {
        // Many prompts have equal beginnings.
        let mut prompt: Vec<u32> =
            (0..1 + rng.below(14) as u32).map(|i| 3 + i * (1 + rng.below(2) as u32) % 5).collect();
        prompt[0] = BOS;
        requests.push(Request::new(prompt, options(rng, searches)));
    }
    // Prompts that are asked again.
    for i in 0..rng.below(3) {
        requests.push(requests[i].clone());
    }
    requests
}

#[test]
fn what_the_host_draws_is_what_the_engine_would_draw() {
    let (mut draws, mut preemptions) = ([0; Leaves::ALL.len()], 0);
    let rounds = if std::env::var_os("INKSTONE_FULL").is_some() { 3000 } else { 100 };
    for round in 0..rounds {
        let rng = &mut Rng(round);
        // Rooms for all, and for one context and a little, which is too little for a search.
        let cache = rng.one_of(&[0, 68]);
        let drawing = Setup {
            sequences: 4 + rng.below(4),
            cache,
            page: rng.one_of(&[1, 4, 16]),
            prefix: !rng.once_in(4),
            chunk: rng.one_of(&[0, 1, 3]),
            rows: rng.one_of(&[vec![1], vec![1, 4, 16], vec![1, 8, 512]]),
            logit_rows: rng.one_of(&[vec![1], vec![1, 2], vec![1, 8, 64]]),
            ahead: rng.below(5),
            nan: rng.once_in(3).then_some(9),
            ..setup(1 + round)
        };
        let requests = requests(rng, cache == 0);
        let wanted = wanted(&drawing, &requests);
        for (leaves, draws) in Leaves::ALL.into_iter().zip(&mut draws) {
            let setup = Setup { leaves, ..drawing.clone() };
            let generator = setup.generator();
            check(&generator, &requests, &wanted, &(round, &setup));
            // The prompts are in the cache now.
            check(&generator, &requests, &wanted, &(round, &setup));
            *draws += generator.metrics().host_draws;
            preemptions += generator.metrics().preemptions;
        }
    }
    assert!(draws.iter().all(|n| *n > 500) && preemptions > 100, "{draws:?}, {preemptions} preemptions");
}

/// A request that is read piece by piece.
struct Running {
    stream: Stream,
    cancel: Cancel,
    wanted: Reply,
    ended: bool,
}

#[test]
fn requests_that_end_at_any_time_leave_the_others_as_they_are() {
    for round in 0..60 {
        let rng = &mut Rng(round);
        let leaves = rng.one_of(&Leaves::ALL);
        let (ahead, page, cache) = (rng.below(5), rng.one_of(&[1, 4]), rng.one_of(&[0, 68]));
        let setup = Setup { leaves, ahead, page, cache, ..setup(1) };
        let (generator, alone) = (setup.generator(), Setup { ahead: 0, ..self::setup(1) }.generator());
        let mut waiting: Vec<(Vec<u32>, Options)> = (0..8)
            .map(|i| {
                (vec![BOS; 1 + i % 5], Options::default().seed(i as u64).max_tokens(20).temperature(0.5 + i as f64))
            })
            .collect();
        let mut running: Vec<Running> = Vec::new();
        while !waiting.is_empty() || !running.is_empty() {
            if !waiting.is_empty() && (running.is_empty() || rng.once_in(3)) {
                let ((prompt, options), cancel) = (waiting.swap_remove(0), Cancel::new());
                let wanted = alone.generate_ids(&prompt, &options).unwrap();
                let stream = generator.stream_ids(&prompt, &options.cancel(cancel.clone())).unwrap();
                running.push(Running { stream, cancel, wanted, ended: false });
                continue;
            }
            let at = rng.below(running.len());
            let r = &mut running[at];
            if rng.once_in(25) && r.stream.finish().is_none() {
                r.cancel.cancel();
                r.ended = true;
            } else if r.stream.next().is_none() {
                let Running { stream, wanted, ended, .. } = running.swap_remove(at);
                let (found, finish) = (stream.ids(), stream.finish().unwrap());
                assert_eq!(found, &wanted.ids[..found.len()], "round {round}: {setup:?}");
                match ended && finish == FinishReason::Cancelled {
                    true => assert!(found.len() <= wanted.ids.len()),
                    false => assert_eq!((found, finish), (&*wanted.ids, wanted.finish), "round {round}: {setup:?}"),
                }
            }
        }
        let metrics = generator.metrics();
        assert_eq!((metrics.held_pages, metrics.running), (0, 0), "round {round}: {metrics:?}");
    }
}

#[test]
fn a_row_of_a_shared_page_is_computed_again_in_a_page_of_its_own() {
    for ahead in 0..=4 {
        let setup = Setup { leaves: Leaves::Every, ahead, ..setup(3) };
        let generator = setup.generator();
        // The first prompt fills two pages, in which the second one begins. When the last row of the first one is computed
        // again, its page is in the table of the second one.
        let prompt = [BOS, 5, 6, 7, 3, 4, 5, 6];
        let options = Options::default().seed(4).max_tokens(9);
        let requests =
            [&[][..], &[7, 8, 9], &[7, 8]].map(|more| Request::new([&prompt[..], more].concat(), options.clone()));
        check(&generator, &requests, &wanted(&setup, &requests), &setup);
        assert!(generator.metrics().prefix_cache_hits >= 16, "{:?}", generator.metrics());
    }
}

#[test]
fn the_other_rows_of_a_step_go_on() {
    for (leaves, most) in
        [(Leaves::Nothing, 21), (Leaves::EveryChain, 21), (Leaves::Op("sample"), 21), (Leaves::Every, 42)]
    {
        let setup = Setup { leaves, ahead: 1, ..setup(5) };
        let requests = [3, 4, 5].map(|seed| {
            Request::new([BOS, seed].to_vec(), Options::default().seed(seed.into()).max_tokens(20).ignore_end(true))
        });
        let generator = setup.generator();
        check(&generator, &requests, &wanted(&setup, &requests), &setup);
        let metrics = generator.metrics();
        assert!(metrics.steps <= most, "{leaves:?}: {metrics:?}");
        assert_eq!(metrics.host_draws, if leaves == Leaves::Nothing { 0 } else { 60 }, "{leaves:?}");
    }
    // The device goes on after a draw that it has left to the host.
    let setup = Setup { leaves: Leaves::Some, ..setup(5) };
    let generator = setup.generator();
    let requests = [Request::new([BOS, 3].to_vec(), Options::default().seed(3).max_tokens(60).ignore_end(true))];
    check(&generator, &requests, &wanted(&setup, &requests), &setup);
    let draws = generator.metrics().host_draws;
    assert!((5..40).contains(&draws), "{draws} of 60");
    // A sequence of the device has several steps under way, while one of the host has one.
    let setup = Setup { leaves: Leaves::Chains, ahead: 4, ..self::setup(5) };
    let by = |chain: Options| Request::new([BOS, 4].to_vec(), chain.seed(1).max_tokens(20).ignore_end(true));
    let chains = (1..10).map(|k| Options::default().top_k(k).temperature(0.7));
    let [host, device] = [1, 0].map(|draws| {
        let only = |chain: &Options| {
            let generator = setup.generator();
            generator.generate_batch(&[by(chain.clone())]);
            generator.metrics().host_draws == 20 * draws
        };
        by(chains.clone().find(only).expect("the engine refuses some of them"))
    });
    let requests = [host, device];
    let generator = setup.generator();
    check(&generator, &requests, &wanted(&setup, &requests), &setup);
    assert_eq!(generator.metrics().host_draws, 20);
}

#[test]
fn an_engine_behind_another_one_is_asked_for_its_chains() {
    let setup = Setup { leaves: Leaves::EveryChain, ..setup(2) };
    let generator = setup.open(Arc::new(Delayed::new(setup.engine(), 2, 1)), Options::default()).unwrap();
    let requests = [Request::new([BOS].to_vec(), Options::default().seed(1).max_tokens(5).ignore_end(true))];
    check(&generator, &requests, &wanted(&setup, &requests), &setup);
    assert_eq!(generator.metrics().host_draws, 5);
}

#[test]
fn steps_of_benchmarks_draw_the_same_on_the_host() {
    let drawn = |leaves, ahead| {
        let setup = Setup { leaves, ahead, ..setup(6) };
        let generator = setup.generator();
        let mut steps = generator.steps(3, 60).unwrap();
        let mut drawn = Vec::new();
        for prompt in [5, 3, 20] {
            steps.prompt(prompt).unwrap();
            for _ in 0..6 {
                drawn.push(steps.drawn().to_vec());
                steps.decode().unwrap();
            }
            drawn.push(steps.drawn().to_vec());
        }
        steps.truncate(6).unwrap();
        (0..3).for_each(|_| assert!(!steps.decode().unwrap().is_zero()));
        drawn.push(steps.drawn().to_vec());
        assert_eq!(steps.len(), 9);
        drawn
    };
    let wanted = drawn(Leaves::Nothing, 0);
    for leaves in Leaves::ALL {
        (0..=4).for_each(|ahead| assert_eq!(drawn(leaves, ahead), wanted, "{leaves:?}, {ahead} steps under way"));
    }
}
