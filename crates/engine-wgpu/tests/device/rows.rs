//! Rows and chains for tests of a sampling kernel, without a device: random ones, and ones in which f32 can't decide.

use inkstone_tensor::sampling::{Chain, Draw, Stage, TokenBias, gumbel, sample, survivors};

/// A row to sample, and how.
#[derive(Clone, Debug)]
pub struct Case {
    /// The kind of logits.
    pub shape: &'static str,
    /// The kind of chain.
    pub kind: &'static str,
    /// A row.
    pub logits: Vec<f32>,
    /// The tokens so far; at least one.
    pub history: Vec<u32>,
    /// The first of them that was generated.
    pub generated_from: usize,
    /// Of the random numbers.
    pub seed: u64,
    /// The stages.
    pub chain: Chain,
}

/// Random numbers (splitmix64).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// Below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// In 0 .. 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From `from` to `to`.
    pub fn range(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.unit()
    }

    /// True once in `n`.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Of the normal distribution.
    pub fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// Shapes of rows as models make them.
pub const ORDINARY: [&str; 4] = ["normal", "peaked", "masked", "bf16"];
/// Shapes that a kernel must get right too, or leave to the host.
pub const OTHER: [&str; 9] =
    ["equal", "near ties", "few values", "zeros", "huge", "infinite", "nan", "tiny", "nothing"];

/// A row.
pub fn logits(r: &mut Random, shape: &'static str, vocab: usize) -> Vec<f32> {
    let (sigma, shift) = (r.range(0.5, 5.0), r.range(-10.0, 10.0));
    let mut row: Vec<f32> = (0..vocab).map(|_| (shift + sigma * r.normal()) as f32).collect();
    match shape {
        "peaked" => {
            for _ in 0..1 + r.below(3) {
                let at = r.below(vocab);
                row[at] += r.range(5.0, 25.0) as f32;
            }
        }
        "masked" => {
            let share = 1 + r.below(20);
            row.iter_mut().for_each(|z| *z = if r.below(20) < share { f32::NEG_INFINITY } else { *z });
        }
        "bf16" => row.iter_mut().for_each(|z| *z = f32::from_bits(z.to_bits() & 0xffff_0000)),
        "equal" => row.fill(shift as f32),
        "near ties" => {
            let scale = 2f64.powi(-(r.below(30) as i32));
            let place = if r.once_in(2) { shift } else { 0.0 };
            row.iter_mut().for_each(|z| *z = (place + f64::from(*z) * scale) as f32);
        }
        "few values" => row.iter_mut().for_each(|z| *z = z.round().clamp(-3.0, 3.0)),
        "zeros" => row.iter_mut().for_each(|z| *z = [-1.0, -0.0, 0.0][r.below(3)]),
        "huge" => {
            let scale = 10f64.powi(r.below(38) as i32);
            row.iter_mut().for_each(|z| *z = (f64::from(*z) * scale).clamp(-3.4e38, 3.4e38) as f32);
        }
        "infinite" => {
            for _ in 0..1 + r.below(3) {
                let at = r.below(vocab);
                row[at] = if r.once_in(4) { f32::NEG_INFINITY } else { f32::INFINITY };
            }
        }
        "nan" => {
            let at = r.below(vocab);
            row[at] = f32::from_bits(0x7f80_0001 | (r.bits() as u32 & 0x803f_ffff));
        }
        "tiny" => row.iter_mut().for_each(|z| *z = f32::from_bits(r.bits() as u32 & 0x80ff_ffff)),
        "nothing" => {
            row.fill(f32::NEG_INFINITY);
            if r.once_in(2) {
                let at = r.below(vocab);
                row[at] = shift as f32;
            }
        }
        _ => {}
    }
    row
}

/// Kinds of chains.
pub const KINDS: [&str; 12] = [
    "greedy",
    "greedy, edits",
    "temperature",
    "top-k",
    "large top-k",
    "top-p",
    "min-p",
    "top-k, top-p, min-p",
    "penalties",
    "edits",
    "everything",
    "wild",
];

/// A likely token, or any.
fn some_token(r: &mut Random, likely: &[u32], vocab: usize) -> u32 {
    if r.once_in(2) && !likely.is_empty() { likely[r.below(likely.len())] } else { r.below(vocab) as u32 }
}

fn edits(r: &mut Random, likely: &[u32], vocab: usize, generated: usize) -> Vec<Stage> {
    let mut stages = Vec::new();
    let tokens = |r: &mut Random| -> Vec<u32> { (0..r.below(6)).map(|_| some_token(r, likely, vocab)).collect() };
    if r.once_in(2) {
        let bias = |r: &mut Random| if r.once_in(6) { f32::NEG_INFINITY } else { r.range(-5.0, 5.0) as f32 };
        stages.push(Stage::Bias(tokens(r).into_iter().map(|token| TokenBias { token, bias: bias(r) }).collect()));
    }
    if r.once_in(2) {
        stages.push(Stage::Ban(tokens(r)));
    }
    if r.once_in(2) {
        let least = if r.once_in(2) { r.below(100) } else { generated + r.below(2) };
        stages.push(Stage::MinTokens { tokens: least as u32, ids: tokens(r) });
    }
    stages
}

fn penalties(r: &mut Random) -> Vec<Stage> {
    let mut stages = Vec::new();
    if r.once_in(2) {
        let last_n = if r.once_in(2) { None } else { Some(r.below(128) as u32) };
        stages.push(Stage::Repetition { penalty: r.range(0.8, 1.6), last_n });
    }
    if r.once_in(2) {
        stages.push(Stage::Frequency(r.range(-0.5, 1.5)));
    }
    if r.once_in(2) {
        stages.push(Stage::Presence(r.range(-0.5, 1.5)));
    }
    stages
}

/// A number of any size.
fn wild(r: &mut Random) -> f64 {
    let size = 10f64.powf(r.range(-20.0, 20.0));
    if r.once_in(8) { f64::from_bits(r.bits() & 0x7fef_ffff_ffff_ffff) } else { size }
}

/// A chain of a kind; `likely` are some tokens with large logits, `generated` the number of generated tokens.
pub fn chain(r: &mut Random, kind: &'static str, likely: &[u32], vocab: usize, generated: usize) -> Chain {
    let mut stages = Vec::new();
    let heat = |r: &mut Random| Stage::Temperature(if r.once_in(4) { 1.0 } else { r.range(0.2, 2.0) });
    let top_k = |r: &mut Random| Stage::TopK(1 + r.below(200) as u32);
    let top_p = |r: &mut Random| Stage::TopP(if r.once_in(8) { r.range(1e-6, 0.1) } else { r.range(0.5, 1.0) });
    let min_p = |r: &mut Random| Stage::MinP(10f64.powf(r.range(-4.0, 0.0)));
    match kind {
        "greedy" => stages.push(Stage::Temperature(0.0)),
        "greedy, edits" => {
            stages.extend(edits(r, likely, vocab, generated));
            stages.extend(penalties(r));
            stages.push(Stage::Temperature(0.0));
        }
        "temperature" => stages.push(heat(r)),
        "top-k" => stages.extend([heat(r), top_k(r)]),
        "large top-k" => stages.extend([heat(r), Stage::TopK(r.below(2 * vocab) as u32)]),
        "top-p" => stages.extend([heat(r), top_p(r)]),
        "min-p" => stages.extend([heat(r), min_p(r)]),
        "top-k, top-p, min-p" => stages.extend([heat(r), top_k(r), top_p(r), min_p(r)]),
        "penalties" => {
            stages.extend(penalties(r));
            stages.extend([heat(r), top_k(r), top_p(r)]);
        }
        "edits" => {
            stages.extend(edits(r, likely, vocab, generated));
            stages.extend([heat(r), top_p(r)]);
        }
        "everything" => {
            stages.extend(edits(r, likely, vocab, generated));
            stages.extend(penalties(r));
            stages.extend([heat(r), Stage::TopK(r.below(2 * vocab.min(2000)) as u32), top_p(r), min_p(r)]);
        }
        _ => {
            if r.once_in(3) {
                stages.extend(edits(r, likely, vocab, generated));
                if r.once_in(4) {
                    stages.push(Stage::Ban((0..vocab as u32).collect()));
                }
            }
            if r.once_in(3) {
                stages.push(Stage::Repetition { penalty: wild(r), last_n: None });
                stages.push(Stage::Frequency(wild(r)));
                stages.push(Stage::Presence(-wild(r)));
            }
            stages.push(Stage::Temperature(wild(r)));
            if r.once_in(2) {
                stages.push(Stage::TopK(r.bits() as u32));
            }
            stages.push(Stage::TopP(wild(r).min(1.0)));
            stages.push(Stage::MinP(wild(r).min(1.0)));
        }
    }
    Chain::in_order(stages)
}

/// Tokens with large logits.
pub fn likely(row: &[f32], n: usize) -> Vec<u32> {
    let mut ids: Vec<u32> = (0..row.len() as u32).collect();
    let n = n.min(ids.len());
    if n < ids.len() {
        ids.select_nth_unstable_by(n, |&a, &b| row[b as usize].total_cmp(&row[a as usize]));
    }
    ids.truncate(n);
    ids
}

/// A row of a shape under a chain of a kind.
pub fn case(r: &mut Random, shape: &'static str, kind: &'static str, vocab: usize) -> Case {
    let logits = logits(r, shape, vocab);
    let likely = likely(&logits, 50);
    let most = if r.once_in(8) { 700 } else { 80 };
    let length = 1 + r.below(most);
    // Also tokens that the row does not have.
    let history: Vec<u32> = (0..length).map(|_| some_token(r, &likely, vocab + vocab / 50)).collect();
    let generated_from = r.below(length + 2);
    let chain = chain(r, kind, &likely, vocab, length.saturating_sub(generated_from));
    Case { shape, kind, logits, history, generated_from, seed: r.bits(), chain }
}

/// Kinds of rows in which the definition decides by less than f32 can tell.
pub const EDGES: [&str; 7] = [
    "edge: greedy",
    "edge: top-k",
    "edge: top-k, merged",
    "edge: top-p",
    "edge: min-p",
    "edge: draw",
    "edge: draw, penalty",
];

/// A row of such a kind: up to this relative distance from a tie or a cut-off. Within 1e-9 only the host can tell the token.
pub fn edge(r: &mut Random, kind: &'static str, distance: f64) -> Case {
    loop {
        let vocab = 8 + r.below(2000);
        let mut logits: Vec<f32> = (0..vocab).map(|_| (2.0 * r.normal() - 12.0) as f32).collect();
        // A few tokens share most of the weight.
        let mut ids: Vec<u32> = Vec::new();
        while ids.len() < 4 {
            let id = r.below(vocab) as u32;
            if !ids.contains(&id) {
                ids.push(id);
                logits[id as usize] = r.range(0.5, 2.0) as f32;
            }
        }
        let mut case = Case {
            shape: "edge",
            kind,
            logits,
            history: vec![ids[0]; 1 + r.below(5)],
            generated_from: 0,
            seed: r.bits(),
            chain: Chain::default(),
        };
        if set_edge(r, &mut case, &ids, distance) {
            return case;
        }
    }
}

fn draw_of(case: &Case) -> Draw {
    Draw { seed: case.seed, index: case.history.len().saturating_sub(case.generated_from) as u64 }
}

/// Whether a seed could be found with which the token wins under the chain as it is.
fn let_win(r: &mut Random, case: &mut Case, token: u32) -> bool {
    (0..400).any(|_| {
        case.seed = r.bits();
        sample(&case.logits, &case.history, case.generated_from, &case.chain, draw_of(case)) == Ok(token)
    })
}

fn set_edge(r: &mut Random, case: &mut Case, ids: &[u32], distance: f64) -> bool {
    let penalty = r.range(1.05, 1.5);
    let [a, b] = [ids[0] as usize, ids[1] as usize];
    let repetition = Stage::Repetition { penalty, last_n: None };
    let nearly = |r: &mut Random, x: f64| x * (1.0 + r.range(-distance, distance));
    let left = |case: &Case| survivors(&case.logits, &case.history, 0, &case.chain).unwrap_or_default();
    match case.kind {
        "edge: greedy" => {
            case.logits[a] = r.range(5.0, 20.0) as f32;
            case.logits[b] = nearly(r, f64::from(case.logits[a]) / penalty) as f32;
            case.chain = Chain::in_order([repetition, Stage::Temperature(0.0)]);
            true
        }
        "edge: top-k" => {
            // The second and the third place are nearly the same.
            case.logits[a] = r.range(5.0, 20.0) as f32;
            case.logits[b] = nearly(r, f64::from(case.logits[a]) / penalty) as f32;
            case.logits[ids[2] as usize] = case.logits[b] + 0.1;
            case.chain = Chain::in_order([repetition, Stage::TopK(2)]);
            true
        }
        "edge: top-k, merged" => {
            // The temperature rounds the second and the third place to the same.
            let size = 10f64.powf(r.range(-25.0, -18.0));
            for &id in &ids[1..] {
                case.logits[id as usize] = (size * r.range(-1.0, 1.0)) as f32;
            }
            case.chain = Chain::in_order([Stage::Temperature(r.range(0.3, 0.9)), Stage::TopK(2)]);
            let Some(&(token, _)) = left(case).get(1) else { return false };
            let_win(r, case, token)
        }
        "edge: top-p" => {
            let left = left(case);
            let place = 1 + r.below(3);
            let Some(&(token, _)) = left.get(place) else { return false };
            let reached: f64 = left[..place].iter().map(|x| x.1).sum();
            let found = let_win(r, case, token);
            case.chain = Chain::in_order([Stage::TopP(nearly(r, reached).min(1.0))]);
            found
        }
        "edge: min-p" => {
            let left = left(case);
            let Some(&(token, share)) = left.get(1 + r.below(3)) else { return false };
            let found = let_win(r, case, token);
            case.chain = Chain::in_order([Stage::MinP(nearly(r, share / left[0].1).min(1.0))]);
            found
        }
        "edge: draw" => {
            // Two tokens with nearly the same sum, which no other reaches.
            case.logits.fill(-40.0);
            let at = draw_of(case);
            let noise = |id: usize| gumbel(at, id as u32);
            case.logits[a] = r.range(0.5, 2.0) as f32;
            case.logits[b] = nearly(r, f64::from(case.logits[a]) + noise(a) - noise(b)) as f32;
            true
        }
        _ => {
            case.logits.fill(-40.0);
            let at = draw_of(case);
            let noise = |id: usize| gumbel(at, id as u32);
            let temperature = r.range(0.5, 1.5);
            case.logits[a] = r.range(5.0, 20.0) as f32;
            let own = f64::from(case.logits[a]) / penalty / temperature;
            case.logits[b] = nearly(r, (own + noise(a) - noise(b)) * temperature) as f32;
            case.chain = Chain::in_order([repetition, Stage::Temperature(temperature)]);
            true
        }
    }
}
