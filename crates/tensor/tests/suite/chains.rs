//! Chains of all stages in any order, against a model that sorts all tokens at each stage.

use crate::top_p::{Random, Tokens, below, cumulated, heated, in_order, probabilities, top_p};
use inkstone_tensor::math::{exp, ln};
use inkstone_tensor::ops::Sample;
use inkstone_tensor::sampling::{
    Chain, Draw, SampleError, Stage, TokenBias, Workspace, gumbel, sample, sample_in, survivors,
};
use inkstone_tensor::step::record::Record;
use inkstone_tensor::step::{LogitWish, Row, Sampler, SeqStep, StepBuffer, StepView};

/// The tokens so far.
#[derive(Debug)]
struct Text {
    history: Vec<u32>,
    generated_from: usize,
}

impl Text {
    fn generated(&self) -> &[u32] {
        self.history.get(self.generated_from..).unwrap_or(&[])
    }

    fn times_generated(&self, id: u32) -> f64 {
        self.generated().iter().filter(|&&g| g == id).count() as f64
    }

    fn last(&self, n: Option<u32>) -> &[u32] {
        let n = n.map_or(self.history.len(), |n| self.history.len().min(n as usize));
        &self.history[self.history.len() - n..]
    }

    /// The tokens that complete a sequence of `n` that is already there.
    fn ends_of_n_grams(&self, n: u32) -> Vec<u32> {
        let (history, n) = (&self.history, n as usize);
        let Some(tail) = history.len().checked_sub(n - 1) else { return Vec::new() };
        history.windows(n).filter(|w| w[..n - 1] == history[tail..]).map(|w| w[n - 1]).collect()
    }
}

fn removed(tokens: &Tokens, ids: &[u32]) -> Tokens {
    tokens.iter().copied().filter(|t| !ids.contains(&t.0)).collect()
}

fn changed(tokens: &Tokens, change: impl Fn(u32, f64) -> f64) -> Tokens {
    tokens.iter().map(|&(id, z)| (id, change(id, z))).collect()
}

fn typical_p(tokens: &Tokens, p: f64) -> Tokens {
    let probabilities = probabilities(tokens);
    let ln_total = ln(tokens.iter().map(|t| exp(below(tokens[0].1, t.1))).sum());
    let surprise = |i: usize| ln_total - below(tokens[0].1, tokens[i].1);
    let likely = (0..tokens.len()).filter(|&i| probabilities[i] > 0.0);
    let entropy: f64 = likely.map(|i| probabilities[i] * surprise(i)).sum();
    let deviation = |i: usize| (surprise(i) - entropy).abs();
    let mut typical: Vec<usize> = (0..tokens.len()).collect();
    typical.sort_by(|&a, &b| deviation(a).total_cmp(&deviation(b)).then(a.cmp(&b)));
    let mut sum = 0.0;
    let reaches = |&i: &usize| {
        sum += probabilities[i];
        sum >= p
    };
    let kept = typical.iter().position(reaches).map_or(tokens.len(), |last| last + 1);
    typical[..kept].iter().map(|&i| tokens[i]).collect()
}

/// What a stage leaves of tokens that are in order.
fn after(stage: &Stage, tokens: &Tokens, text: &Text) -> Tokens {
    let left = match stage {
        Stage::Bias(list) => changed(tokens, |id, z| {
            let biases = list.iter().filter(|b| b.token == id).map(|b| f64::from(b.bias));
            biases.fold(z, |z, b| if z.min(b) == f64::NEG_INFINITY { f64::NEG_INFINITY } else { z + b })
        }),
        Stage::Ban(ids) => removed(tokens, ids),
        Stage::MinTokens { tokens: least, ids } => {
            let enough = text.generated().len() >= *least as usize;
            if enough { tokens.clone() } else { removed(tokens, ids) }
        }
        Stage::Repetition { penalty, last_n } => changed(tokens, |id, z| match text.last(*last_n).contains(&id) {
            true if z > 0.0 => z / penalty,
            true => z * penalty,
            false => z,
        }),
        Stage::Frequency(p) => changed(tokens, |id, z| z - p * text.times_generated(id)),
        Stage::Presence(p) => changed(tokens, |id, z| if text.times_generated(id) > 0.0 { z - p } else { z }),
        Stage::NoRepeatNgram(n) => removed(tokens, &text.ends_of_n_grams(*n)),
        Stage::Temperature(t) => heated(tokens, *t),
        Stage::TopK(k) => tokens.iter().copied().take(*k as usize).collect(),
        Stage::TypicalP(p) => typical_p(tokens, *p),
        Stage::TopP(p) => top_p(tokens, &cumulated(tokens), *p),
        Stage::MinP(p) => tokens.iter().copied().filter(|t| exp(below(tokens[0].1, t.1)) >= *p).collect(),
        other => panic!("{other:?}"),
    };
    in_order(left)
}

/// The tokens that survive, in order.
fn model(logits: &[f32], text: &Text, chain: &Chain) -> Result<Tokens, SampleError> {
    let some = |tokens: Tokens, stage| if tokens.is_empty() { Err(SampleError::Empty { stage }) } else { Ok(tokens) };
    let mut tokens = some(in_order((0..).zip(logits).map(|(id, &z)| (id, f64::from(z))).collect()), "logits")?;
    for stage in chain.0.iter().filter(|stage| !stage.as_ref().is_neutral()) {
        if *stage == Stage::Temperature(0.0) {
            tokens.truncate(1);
            break;
        }
        tokens = some(after(stage, &tokens, text), stage.as_ref().name())?;
    }
    Ok(tokens)
}

impl Random {
    fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }

    fn ids(&mut self, most: u64, vocab: u64) -> Vec<u32> {
        (0..self.below(most + 1)).map(|_| self.below(vocab) as u32).collect()
    }

    /// A value that differs from others only in its last bits, or in bits that are lost next to a larger one.
    fn near_tie(&mut self) -> f32 {
        match self.below(16) {
            0..5 => f32::from_bits(1f32.to_bits() + self.below(4) as u32),
            5..10 => (self.below(5) as f32 - 2.0) * 1e-20,
            10..13 => self.below(5) as f32 * 0.5 - 1.0,
            13 => self.normal(),
            14 => self.one_of(&[-0.0, 1e10, f32::MIN, f32::MAX, f32::INFINITY]),
            _ => f32::NEG_INFINITY,
        }
    }

    fn stage(&mut self, vocab: u64) -> Stage {
        const TEMPERATURES: &[f64] = &[0.3, 0.7, 0.9, 1.0, 1.1, 1.7, 3.0, 30.0, 1e-3, 1e-19, 1e17, 1e300, f64::MAX];
        const PARTS: &[f64] = &[1e-3, 0.1, 0.25, 0.5, 0.7, 0.9, 0.99, 0.999_999, 1.0];
        match self.below(24) {
            0 | 1 => {
                let bias = |token| TokenBias { token, bias: self.near_tie() };
                let ids: Vec<u32> = (0..3).map(|i| (vocab * i / 3) as u32).collect();
                Stage::Bias(ids.into_iter().map(bias).collect())
            }
            2 => Stage::Ban(self.ids(2, vocab)),
            3 => Stage::MinTokens { tokens: self.below(6) as u32, ids: self.ids(2, vocab) },
            4 | 5 => {
                let last_n = if self.below(2) == 0 { None } else { Some(self.below(8) as u32) };
                Stage::Repetition { penalty: self.one_of(&[1.0, 1.1, 0.9, 3.0]), last_n }
            }
            6 => Stage::Frequency(self.one_of(&[0.0, 0.1, -0.3, 1e-20])),
            7 => Stage::Presence(self.one_of(&[0.0, 0.1, -0.3, 1e-20])),
            8 => Stage::NoRepeatNgram(self.below(4) as u32),
            9..15 => Stage::Temperature(self.one_of(TEMPERATURES)),
            15 if self.below(4) == 0 => Stage::Temperature(0.0),
            15..18 => Stage::TopK(self.below(vocab.min(20) + 2) as u32),
            18..20 => Stage::TypicalP(self.one_of(PARTS)),
            20..23 => Stage::TopP(self.one_of(PARTS)),
            _ => Stage::MinP(self.one_of(&[0.0, 1e-6, 0.1, 0.5, 1.0])),
        }
    }
}

#[test]
fn stages_in_any_order_leave_what_a_sort_at_each_stage_leaves() {
    let mut random = Random(4);
    let mut row = Workspace::new();
    let mut refused = 0;
    for round in 0..20_000 {
        // Some rows are so long that not all of their tokens are looked at.
        let vocab = if round % 50 == 0 { 64 + random.below(400) } else { 1 + random.below(12) };
        let logits: Vec<f32> = (0..vocab).map(|_| random.near_tie()).collect();
        let history = random.ids(10, vocab + 1);
        let text = Text { generated_from: random.below(history.len() as u64 + 2) as usize, history };
        let chain = Chain((0..random.below(8)).map(|_| random.stage(vocab)).collect());
        let draw = Draw { seed: 4, index: round };
        let case = || format!("round {round}: {chain}, logits {logits:?}, {text:?}");

        let found = survivors(&logits, &text.history, text.generated_from, &chain);
        let drawn = sample_in(&mut row, &logits, &text.history, text.generated_from, &chain, draw);
        // The history cut to what the stages read has the same outcome.
        let (tokens, from) = (text.history.len(), text.generated_from);
        let back = chain.into_iter().map(|s| s.looks_back(tokens, tokens.saturating_sub(from))).max().unwrap_or(0);
        let (cut, from) = (&text.history[tokens - back..], from.saturating_sub(tokens - back));
        assert_eq!(sample_in(&mut row, &logits, cut, from, &chain, draw), drawn, "{} cut to {back}", case());
        let wanted = match model(&logits, &text, &chain) {
            Ok(wanted) => wanted,
            Err(error) => {
                assert_eq!((found, drawn), (Err(error), Err(error)), "{}", case());
                refused += 1;
                continue;
            }
        };
        let found: Vec<(u32, u64)> = found.unwrap().into_iter().map(|(id, p)| (id, p.to_bits())).collect();
        let wanted_bits = wanted.iter().zip(probabilities(&wanted)).map(|(t, p)| (t.0, p.to_bits()));
        assert_eq!(found, wanted_bits.collect::<Vec<_>>(), "{}", case());
        let scores = wanted.iter().map(|t| (below(wanted[0].1, t.1) + gumbel(draw, t.0), t.0));
        let best = scores.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))).unwrap();
        assert_eq!(drawn, Ok(best.1), "{}", case());
    }
    assert!(refused < 4000, "{refused} chains left no token");
}

#[test]
fn a_draw_over_pages_is_the_draw_over_the_whole_text() {
    const PAGE: usize = 3;
    let mut random = Random(9);
    let (mut row, mut ids) = (Workspace::new(), Vec::new());
    for round in 0..3000 {
        let vocab = 1 + random.below(12);
        let logits: Vec<f32> = (0..vocab).map(|_| random.near_tie()).collect();
        let text: Vec<u32> = (0..1 + random.below(24)).map(|_| random.below(vocab) as u32).collect();
        let generated_from = random.below(text.len() as u64 + 1) as usize;
        let chain = Chain((0..random.below(6)).map(|_| random.stage(vocab)).collect());
        // The pages of the text, last ones first, and one of another text.
        let pages = text.len().div_ceil(PAGE) as u32;
        let table: Vec<u32> = (1..=pages).rev().collect();
        let mut history = vec![0; (pages as usize + 1) * PAGE];
        for (position, &id) in text.iter().enumerate() {
            history[table[position / PAGE] as usize * PAGE + position % PAGE] = id;
        }
        let mut sampler = Vec::new();
        Sampler::encode(5, generated_from, &chain, &mut sampler);
        let mut buffer = StepBuffer::with_capacity(PAGE, 1, table.len(), sampler.len());
        let (tokens, tables) = (&text[text.len() - 1..], &[&table[..]]);
        buffer.push(&SeqStep { slot: 0, tokens, tables, logits: LogitWish::Last, sampler: Some(&sampler) });
        let step = StepView::new(buffer.encode(0, 1)).unwrap();

        let at = Row { token: tokens[0], position: text.len() as u32 - 1, seq: 0 };
        let sampler = Sample.sampler(&step, at).unwrap();
        let found = Sample.draw(&mut row, &mut ids, &step, &logits, at, &sampler, &history);
        let draw = Draw { seed: 5, index: (text.len() - generated_from) as u64 };
        let wanted = sample(&logits, &text, generated_from, &chain, draw).map_or_else(Record::from, Record::Token);
        assert_eq!(found.encode(), wanted.encode(), "round {round}: {chain}, {text:?} from {generated_from}");
        assert!(ids.len() <= text.len());
        // The host draws from the tokens that it has.
        let read = &text[sampler.reads(text.len() - 1)];
        assert_eq!(sampler.draw(&mut row, &logits, read, text.len() - 1), wanted, "round {round}: {chain}");
    }
    // The stages of a usual chain read nothing.
    let chain = Chain(vec![Stage::Temperature(0.8), Stage::TopK(40), Stage::TopP(0.95), Stage::MinP(0.05)]);
    let mut words = Vec::new();
    Sampler::encode(5, 3, &chain, &mut words);
    assert!(Sampler::decode(&words).unwrap().reads(4096).is_empty());
}
