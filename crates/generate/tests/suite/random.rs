//! Random requests on random configurations, read in random order and ended at random, against the outcome of each
//! request by the description of its options.

use crate::rig::{Outcome, Reader, Request, Rng, Setup, VOCAB, fails, logit};
use crate::scores;
use inkstone_generate::{Cancel, FinishReason, Generator};
use std::collections::HashMap;

/// A request that is being read.
struct Running {
    request: Request,
    whole: Outcome,
    reader: Reader,
    cancel: Cancel,
    /// How the reader ended it, and the number of tokens that had been drawn.
    ended: Option<(FinishReason, u64)>,
}

/// Names the round that fails.
struct Round(u64);

impl Drop for Round {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("INKSTONE_ROUND={} runs only the round that failed", self.0);
        }
    }
}

#[test]
fn random_requests_have_the_outcome_of_their_options() {
    if let Some(round) = std::env::var("INKSTONE_ROUND").ok().and_then(|round| round.parse().ok()) {
        run(round, &mut HashMap::new());
        return;
    }
    let rounds = if std::env::var_os("INKSTONE_FULL").is_some() { 20_000 } else { 1000 };
    let mut ends = HashMap::new();
    let counts = (0..rounds).map(|round| run(round, &mut ends));
    let [preemptions, hits] = counts.fold([0, 0], |sum, n| [sum[0] + n[0], sum[1] + n[1]]);
    assert!(preemptions > 200 && hits > 5000, "{preemptions} preemptions, {hits} tokens found");
    // The rounds reach every end.
    use FinishReason::*;
    for finish in [End, Stop, Length, Context, Callback, Deadline, Cancelled, Error] {
        assert!(ends.get(&finish).is_some_and(|n| *n >= 50), "{finish}: {ends:?}");
    }
}

/// Returns the number of preemptions, and of tokens that were found in the cache.
fn run(round: u64, ends: &mut HashMap<FinishReason, usize>) -> [u64; 2] {
    let replay = Round(round);
    let rng = &mut Rng(round);
    let setup = setup(rng);
    let generator = setup.generator();
    let mut waiting: Vec<Request> = (0..1 + rng.below(14)).map(|_| request(rng, setup.context)).collect();
    let mut hits = 0;
    let mut running: Vec<Running> = Vec::new();
    while !waiting.is_empty() || !running.is_empty() {
        if !waiting.is_empty() && (running.is_empty() || rng.once_in(4)) {
            let request = waiting.swap_remove(0);
            let (whole, cancel) = (request.outcome(setup.context), Cancel::new());
            let reader = request.stream_until(&generator, &cancel);
            running.push(Running { request, whole, reader, cancel, ended: None });
            continue;
        }
        let at = rng.below(running.len());
        let r = &mut running[at];
        match rng.below(40) {
            0 => r.end(FinishReason::Callback),
            1 => r.end(FinishReason::Cancelled),
            2 => drop(running.swap_remove(at)),
            3 => in_one_call(rng, &generator),
            // Several pieces, so that the others have unread ones.
            n if n < 8 => drop((0..rng.below(30)).all(|_| r.reader.read())),
            _ if r.reader.read() => {}
            _ => {
                let ended = running.swap_remove(at);
                if rng.once_in(3) {
                    waiting.extend(next_turn(rng, &ended, setup.context));
                }
                hits += ended.reader.stream().usage().cached_tokens;
                *ends.entry(ended.check()).or_default() += 1;
            }
        }
    }
    let metrics = generator.metrics();
    assert_eq!((metrics.held_pages, metrics.running, metrics.waiting), (0, 0, 0), "{setup:?}");
    drop(replay);
    [metrics.preemptions, hits]
}

impl Running {
    fn end(&mut self, finish: FinishReason) {
        if self.ended.is_none() && self.reader.stream().finish().is_none() {
            self.ended = Some((finish, self.reader.stream().usage().completion_tokens));
            match finish {
                FinishReason::Cancelled => self.cancel.cancel(),
                _ => self.reader.stream().stop(),
            }
        }
    }

    fn check(mut self) -> FinishReason {
        let (found, request) = (self.reader.rest(), &self.request);
        let wanted = match self.ended {
            // It was not at its own end.
            Some((finish, drawn)) if found.finish == finish => request.cut(&self.whole.ids[..drawn as usize], finish),
            _ => self.whole,
        };
        assert_eq!(found, wanted, "{request:?}, ended: {:?}", self.ended);
        if let Some(error) = &self.reader.error {
            assert_eq!(error.to_string(), format!("logits are NaN at token {}", found.ids.len()));
        }
        match request.logprobs {
            Some(_) => scores::check(request, self.reader.ids(), self.reader.scores()),
            None => assert!(self.reader.scores().is_empty()),
        }
        found.finish
    }
}

/// A request that goes on from what another one gave, perhaps with an edit.
fn next_turn(rng: &mut Rng, ended: &Running, context: usize) -> Option<Request> {
    let mut prompt = [&ended.request.prompt, ended.reader.ids()].concat();
    prompt.truncate(1 + rng.below(prompt.len()));
    let more = request(rng, context);
    prompt.extend(more.prompt.iter().take(5));
    (prompt.len() <= context).then_some(Request { prompt, ..more })
}

/// A request that does not return before its end.
fn in_one_call(rng: &mut Rng, generator: &Generator) {
    let context = generator.config().context;
    let request = request(rng, context);
    if rng.once_in(2) {
        let wanted: Vec<f32> =
            request.prompt.iter().flat_map(|last| (0..VOCAB as u32).map(|id| logit(*last, id))).collect();
        let chunks: Vec<usize> = (0..rng.below(4)).map(|_| 1 + rng.below(9)).collect();
        assert_eq!(generator.logits(&request.prompt, &chunks).unwrap(), wanted, "{request:?} in {chunks:?}");
    } else if request.outcome(context).finish != FinishReason::Error {
        assert_eq!(request.reply(generator), request.outcome(context), "{request:?}");
    }
}

fn setup(rng: &mut Rng) -> Setup {
    let context = rng.one_of(&[3, 8, 20, 64, 100]);
    Setup {
        context,
        // For one sequence, for one and a few pages, for some, for all.
        cache: rng.one_of(&[0, 1, context + 2, 2 * context]),
        sequences: 1 + rng.below(6),
        page: rng.one_of(&[1, 2, 8, 32]),
        chunk: rng.one_of(&[0, 0, 1, 3, 7]),
        rows: rng.one_of(&[vec![1], vec![2], vec![1, 4, 16], vec![1, 8, 512]]),
        logit_rows: rng.one_of(&[vec![1], vec![1, 2], vec![3], vec![1, 8, 64]]),
        ..Setup::default()
    }
}

fn request(rng: &mut Rng, context: usize) -> Request {
    let most = if rng.once_in(4) { context } else { context.min(9) };
    let mut prompt: Vec<u32> = (0..1 + rng.below(most)).map(|_| rng.below(VOCAB) as u32).collect();
    // Many begin in one of a few ways.
    let (text, common) = (rng.below(4) as u32, rng.below(2 * prompt.len()).min(prompt.len()));
    prompt[..common].iter_mut().zip(0..).for_each(|(id, i)| *id = (i * text + i / 5) % VOCAB as u32);
    let seed = if rng.once_in(12) { fails(rng.below(9) as u64) } else { rng.below(1000) as u64 };
    let stop = |rng: &mut Rng| (0..1 + rng.below(4)).map(|_| rng.one_of(&["a", "b", "c", " ", "é", "€"])).collect();
    let stops = if rng.once_in(3) { 1 + rng.below(3) } else { 0 };
    let stop_ids = if rng.once_in(5) { 1 + rng.below(12) } else { 0 };
    Request {
        prompt,
        seed,
        max_tokens: (!rng.once_in(4)).then(|| rng.below(40) as u64),
        stop: (0..stops).map(|_| stop(rng)).collect(),
        stop_ids: (0..stop_ids).map(|_| rng.below(VOCAB) as u32).collect(),
        ignore_end: rng.once_in(2),
        logprobs: rng.once_in(3).then(|| rng.below(5) as u32),
        late: rng.once_in(20),
    }
}
