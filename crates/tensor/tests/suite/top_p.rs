//! Top-p against its definition, which sorts all tokens.

use inkstone_tensor::math::exp;
use inkstone_tensor::sampling::{Chain, Draw, Stage, gumbel, sample, survivors};

const INF: f64 = f64::INFINITY;

/// Tokens and their logits, in order.
pub(crate) type Tokens = Vec<(u32, f64)>;

pub(crate) fn below(max: f64, z: f64) -> f64 {
    if z == max { 0.0 } else { z - max }
}

pub(crate) fn in_order(mut tokens: Tokens) -> Tokens {
    tokens.retain(|t| t.1 > -INF);
    tokens.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
    tokens
}

pub(crate) fn probabilities(tokens: &Tokens) -> Vec<f64> {
    let weights: Vec<f64> = tokens.iter().map(|t| exp(below(tokens[0].1, t.1))).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

pub(crate) fn cumulated(tokens: &Tokens) -> Vec<f64> {
    let mut sum = 0.0;
    let add = |p: &f64| {
        sum += p;
        sum
    };
    probabilities(tokens).iter().map(add).collect()
}

pub(crate) fn top_p(tokens: &Tokens, cumulated: &[f64], p: f64) -> Tokens {
    let kept = cumulated.iter().position(|sum| *sum >= p).map_or(tokens.len(), |last| last + 1);
    tokens[..kept].to_vec()
}

pub(crate) fn heated(tokens: &Tokens, temperature: f64) -> Tokens {
    in_order(tokens.iter().map(|&(id, z)| (id, below(tokens[0].1, z) / temperature)).collect())
}

/// The chain leaves these tokens, with the probabilities that they have among themselves, to the bit.
fn check(row: &str, logits: &[f32], chain: &[Stage], wanted: &Tokens) {
    let chain = Chain(chain.to_vec());
    let left = survivors(logits, &[], 0, &chain).unwrap();
    assert_eq!(left.len(), wanted.len(), "{row} of {}: {chain}", logits.len());
    let bits = |(id, p): (u32, f64)| (id, p.to_bits());
    let wanted_bits = wanted.iter().zip(probabilities(wanted)).map(|(t, p)| bits((t.0, p)));
    assert!(left.iter().copied().map(bits).eq(wanted_bits), "{row} of {}: {chain}", logits.len());

    let draw = Draw { seed: 3, index: wanted.len() as u64 };
    let scores = wanted.iter().map(|t| (below(wanted[0].1, t.1) + gumbel(draw, t.0), t.0));
    let drawn = scores.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))).unwrap().1;
    assert_eq!(sample(logits, &[], 0, &chain, draw), Ok(drawn), "{row} of {}: {chain}", logits.len());
}

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// About normal: the sum of uniform numbers.
    pub(crate) fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.below(1 << 24) as f32 / (1 << 24) as f32).sum::<f32>() - 6.0
    }
}

fn rows(random: &mut Random, length: usize) -> Vec<(&'static str, Vec<f32>)> {
    let mut row = |value: &mut dyn FnMut(&mut Random) -> f32| (0..length).map(|_| value(random)).collect::<Vec<f32>>();
    let mut rows = vec![
        ("equal", row(&mut |_| -1.5)),
        ("normal", row(&mut |r| 3.0 * r.normal())),
        ("nearly equal", row(&mut |r| 0.01 * r.normal())),
        ("far apart", row(&mut |r| 100.0 * r.normal())),
        ("ties", row(&mut |r| r.below(9) as f32 - 4.0)),
        ("zeros", row(&mut |r| [0.0, -0.0, -3.0][r.below(3) as usize])),
        ("peaked", row(&mut |r| r.normal())),
        ("removed", row(&mut |r| [f32::NEG_INFINITY, r.normal()][r.below(2) as usize])),
        ("infinite", row(&mut |r| [f32::INFINITY, f32::MAX, f32::MIN, 0.0][r.below(4) as usize])),
    ];
    rows[6].1[length / 2] = 30.0;
    rows[7].1[0] = 1.0;
    rows
}

/// Some numbers, and sums that some token reaches exactly, or just not.
fn thresholds(random: &mut Random, cumulated: &[f64]) -> Vec<f64> {
    let mut thresholds = vec![1e-9, 0.1, 0.5, 0.95, 0.999, 1.0 - 1e-12, 1.0f64.next_down()];
    for _ in 0..3 {
        let sum = cumulated[random.below(cumulated.len() as u64) as usize];
        thresholds.extend([sum.next_down(), sum, sum.next_up()].into_iter().filter(|p| *p < 1.0)); // 1 is neutral
    }
    // Never in a chain that is checked.
    thresholds.extend([0.0, -1.0, 2.0, f64::NAN]);
    thresholds
}

#[test]
fn top_p_keeps_what_a_sort_keeps() {
    let mut random = Random(1);
    for length in [1, 2, 1000, 50_000] {
        for round in 0..if length > 1000 { 1 } else { 6 } {
            for (row, logits) in rows(&mut random, length) {
                let cold = in_order((0..).zip(&logits).map(|(id, &z)| (id, f64::from(z))).collect());
                let sums = cumulated(&cold);
                for p in thresholds(&mut random, &sums) {
                    let kept = top_p(&cold, &sums, p);
                    check(row, &logits, &[Stage::TopP(p)], &kept);
                    if length > 1000 {
                        continue; // what follows takes too long
                    }
                    check(row, &logits, &[Stage::TopP(p), Stage::Temperature(0.7)], &heated(&kept, 0.7));
                    let twice = top_p(&kept, &cumulated(&kept), 0.6);
                    check(row, &logits, &[Stage::TopP(p), Stage::TopP(0.6)], &twice);
                }
                let temperature = [0.8, 0.1, 30.0][round % 3];
                let hot = heated(&cold, temperature);
                let sums = cumulated(&hot);
                for p in thresholds(&mut random, &sums) {
                    let chain = [Stage::Temperature(temperature), Stage::TopP(p)];
                    check(row, &logits, &chain, &top_p(&hot, &sums, p));
                }
            }
        }
    }
}

/// An edit behind it sees the order that it left, and may change it.
#[test]
fn top_p_before_an_edit() {
    let mut random = Random(2);
    for (row, logits) in rows(&mut random, 1000) {
        let tokens = in_order((0..).zip(&logits).map(|(id, &z)| (id, f64::from(z))).collect());
        let mut kept = top_p(&tokens, &cumulated(&tokens), 0.9);
        if kept.len() < 2 {
            continue;
        }
        let banned = kept.remove(0).0;
        check(row, &logits, &[Stage::TopP(0.9), Stage::Ban(vec![banned])], &kept);
        let twice = top_p(&kept, &cumulated(&kept), 0.5);
        check(row, &logits, &[Stage::TopP(0.9), Stage::Ban(vec![banned]), Stage::TopP(0.5)], &twice);
    }
}

/// Weights that are powers of two have exact sums, so nothing but the definition decides at which token `p` is reached.
#[test]
fn top_p_ends_at_the_token_whose_exact_sum_reaches_p() {
    // At this temperature a logit of -n has the weight 2^-n, for these n to the bit.
    const HALVINGS: [u32; 4] = [0, 1, 2, 4];
    let temperature = 1.0 / std::f64::consts::LN_2;
    for n in HALVINGS {
        assert_eq!(exp(-f64::from(n) / temperature), 0.5f64.powi(n as i32), "{n} halvings");
    }
    let units = |n: u32| 16u64 >> n;
    let mut random = Random(3);
    for round in 0..120 {
        let total = units(0) << (round % 9);
        let (mut halvings, mut sum) = (vec![0], units(0));
        while sum < total {
            let n = HALVINGS[random.below(4) as usize];
            if sum + units(n) <= total {
                halvings.insert(random.below(halvings.len() as u64 + 1) as usize, n);
                sum += units(n);
            }
        }
        let logits: Vec<f32> = halvings.iter().map(|&n| -(n as f32)).collect();
        let mut order: Vec<u32> = (0..halvings.len() as u32).collect();
        order.sort_by_key(|&id| (halvings[id as usize], id));
        let mut sum = 0;
        let add = |&id: &u32| {
            sum += units(halvings[id as usize]);
            sum
        };
        let sums: Vec<u64> = order.iter().map(add).collect();
        // Parts of 2^80, which all thresholds are whole numbers of.
        let exact = |p: f64| (p * (1u128 << 80) as f64) as u128;
        for _ in 0..sums.len().min(12) {
            let reached = sums[random.below(sums.len() as u64) as usize] as f64 / total as f64;
            for p in [reached.next_down(), reached, reached.next_up()].into_iter().filter(|p| *p < 1.0) {
                let kept = sums.iter().position(|&sum| (u128::from(sum) << 80) / u128::from(total) >= exact(p));
                let chain = Chain(vec![Stage::Temperature(temperature), Stage::TopP(p)]);
                let left = survivors(&logits, &[], 0, &chain).unwrap();
                let left: Vec<u32> = left.iter().map(|l| l.0).collect();
                assert_eq!(left, order[..=kept.unwrap()], "round {round}: {chain} of {halvings:?}");
            }
        }
    }
}
