//! Sampling on the device: the token of the definition, or
//! [`Record::Host`](inkstone_tensor::step::record::Record::Host).
//!
//! The definition ([`inkstone_tensor::sampling`]) computes in f64, which WGSL does not have. The kernel computes in f32
//! with a bound of each error. A token is *surely in*, *surely out* or *unsure* after each stage. If the token with the
//! largest sum of logit and noise is surely in, and its sum exceeds by more than the bounds the sums of all that are
//! not surely out, it is the token of the definition. Otherwise the host draws.
//!
//! # Assumptions
//! The unit of all bounds is `e` = 2^-23, relative. `+`, `-` and `*` give one of the two numbers next to the exact
//! result (1 e); `/` is within 2.5 e if the divisor is normal; `a * b + c` may be rounded once or twice; subnormal
//! operands and results may be zero. The compiler makes no sum less accurate than it is written. No NaN and no infinity
//! is computed with: drivers may assume that there are none. They are found by their bits. From 2^100 on logits are
//! left to the host.
//!
//! # Order
//! Logits are compared by integer keys that have the order of the numbers, with -0 as 0. Logits that no stage edited
//! are exact, so their order and the rule of the lower id among equals are also exact: greedy draws on these never need
//! the host. Sets are counted in integers, and weights are summed in integers of 2^-43, which have the same sum in any
//! order.
//!
//! # Edits
//! Bans remove tokens, which is exact. With an error `d` of the logit before, and the result `x`:
//!
//! | stage | error of the result |
//! | --- | --- |
//! | bias | d + e \|x\| |
//! | repetition penalty `r`, rounded to f32 | d max(r, 1/r) + 3 e \|x\| |
//! | frequency, presence: less `c`, a rounded value times a count | d + 1.5 e \|c\| + e \|x\| |
//!
//! If the sign of the logit is unknown (\|logit\| <= d), the repetition penalty has three times the first part: product
//! and quotient are both small. Each error has 2^-100 on top for subnormal numbers, as penalties are from 2^-20 to
//! 2^20. The kernel takes 6 e \|x\| and 2 e \|c\|, which leaves 2 e \|x\| for its sums of logits and errors. `E` is the
//! largest error in the row, and counts for edited tokens only. If `E` is above T / 20 (T: the temperature) the host
//! draws.
//!
//! # Sure cuts
//! Top-k and top-p keep the tokens up to a *cut* in the order. The set is the one of the definition if all tokens in it
//! are above those behind it by more than their errors. Pairs of exact logits need no distance, with one exception. The
//! definition divides by the temperature, relative to the largest logit, which may round different logits to the same,
//! and then the lower id comes first. Let D be the distance of the cut `c` to the largest logit. Logits that are
//! rounded to the same differ by less than 2^-51 D. Different logits next to `c` in f32 differ by at least 2^-24 \|c\|.
//! So this needs \|c\| < 2^-27 D; the kernel demands a distance of 2^-40 D if \|c\| < 2^-22 D. If the cut of top-k is
//! not sure the host draws.
//!
//! # Heights and weights
//! The height of a token is h = (logit - largest) / T: errors of 1 e for the difference, 0.5 e for T in f32, 2.5 e for
//! the quotient, together below 4.1 e \|h\|, and E / T for edited tokens. An error of the largest logit moves all
//! heights alike, which matters only to min-p. The weight is e^h. `exp_f32` is within 3 e, so its relative error is at
//! most 4.1 e \|h\| + 3 e + 1.1 E / T, as exp(0.05) - 1 < 1.1 * 0.05.
//!
//! # Top-p
//! The definition keeps the tokens before which the cumulated weight is below p W, with the total W. Let w be the
//! computed weights. The difference of the two sides has an error of at most twice the sum of w times its relative
//! error. The mean of \|h\| by weight is the entropy less ln W, and so at most ln(n / W) for n tokens. Together with
//! the rounding of weights to 2^-43 (at most e W for 2^20 tokens, as W >= 1), of p, and of the products with W, the
//! error is below S = W (e (8.2 (ln(n / W) + 0.1) + 16) + 5 E / T). Of the two cuts at which the sum reaches p W - S
//! and p W + S, tokens up to the first are surely in, and tokens behind the second surely out. If a cut is not sure
//! this holds for tokens that are further than 2.2 E (and the distance above) from it. The first token is always in.
//!
//! # Min-p
//! A token is kept if its weight is at least p: relative bound 4.2 e \|h\| + 8 e + 2.5 E / T, which includes the
//! largest logit. The largest logit of a row without errors has the weight 1 exactly.
//!
//! # Noise
//! The 24 random bits m of a token are exact, and so are 2 m + 1 and its complement, from which comes -ln u: with
//! `ln_f32` within 4 e if u < 1/2, with `ln_1p_f32` within 3 e if u > 0.71, otherwise 4 e + e / 0.34 for the rounding
//! of u. This relative error of at most 7 e is an absolute one of its logarithm, which has 4 e \|g\| of its own. So the
//! noise g has 7 e + 4 e \|g\|, and the sum h + g, with two more roundings for the sum and the comparison, e (6.5
//! (\|h\| + \|g\|) + 10) + 1.1 E / T. Tokens with the same exact logit and the same random bits have the same sum in
//! the definition, where the lower id wins.

use super::one;
use crate::call::{Call, Dispatch, word};
use crate::shader::Shader;
use inkstone_compute::{Caps, Query, Shape, Work};
use inkstone_tensor::Dim;
use inkstone_tensor::sampling::{ChainRef, StageRef};

/// The slots of the kernel, and the names of their texts.
const SLOTS: [(&str, &str); 5] = [
    ("math", "shared/math"),
    ("chain", "sampling/chain"),
    ("edits", "sampling/edits"),
    ("order", "sampling/order"),
    ("noise", "sampling/noise"),
];

/// The largest vocabulary that the kernel takes.
const MAX_VOCAB: usize = 1 << 20;

/// The most workgroups, which take rows in turns.
const GROUPS: usize = 16;

/// Workgroups for so many logit rows.
fn workgroups(rows: usize) -> usize {
    rows.clamp(1, GROUPS)
}

/// The scratch of each workgroup: the edited logits of a row, and marks.
pub(super) fn work(shape: &Shape) -> Work {
    let vocab = shape.ins.first().map_or(0, |logits| logits.cols);
    let groups = workgroups(Dim::LogitRows.at(&shape.bucket));
    Work { scratch: (vocab as u64).saturating_mul(8).saturating_mul(groups as u64), ..Work::WHOLE }
}

pub(super) fn refuses(query: &Query, _caps: &Caps) -> Option<String> {
    let vocab = query.ins.first().map_or(0, |logits| logits.cols);
    (vocab > MAX_VOCAB).then(|| format!("{vocab} tokens, allowed: {MAX_VOCAB}"))
}

pub(super) fn sample(call: &Call) -> Result<Vec<Dispatch>, String> {
    let [logits, rows, history, out] = [&call.ins[0], &call.ins[1], &call.ins[2], &call.outs[0]];
    let words = [logits.at()?, word(logits.ty.cols)?, rows.at()?, out.at()?, call.scratch];
    let shader = SLOTS.iter().fold(Shader::named("sample"), |shader, (slot, name)| shader.file(slot, name));
    let grid = [workgroups(call.rows() as usize) as u32, 1, 1];
    one(Dispatch::new(shader, call.parameters(&words), grid).states(Some(history.state()?), None))
}

/// Whether the kernel takes a chain: stages in the usual order, each once, with moderate numbers, neither n-gram bans nor
/// typical-p. For other chains it gives the record of the host.
pub(crate) fn draws(chain: ChainRef) -> bool {
    let mut last = 0;
    chain.into_iter().all(|stage| {
        let (place, takes) = place(stage);
        place > std::mem::replace(&mut last, place) && (takes || stage.is_neutral())
    })
}

/// The place of a stage in the usual order, and whether the kernel can carry it out.
fn place(stage: StageRef) -> (u32, bool) {
    match stage {
        StageRef::Bias(_) => (1, true),
        StageRef::Ban(_) => (2, true),
        StageRef::MinTokens { .. } => (3, true),
        StageRef::Repetition { penalty, .. } => (4, is_within(penalty, 20)),
        StageRef::Frequency(x) => (5, is_within(x, 40)),
        StageRef::Presence(x) => (6, is_within(x, 40)),
        StageRef::NoRepeatNgram(_) => (7, false),
        StageRef::Temperature(x) => (8, x == 0.0 || is_within(x, 40)),
        StageRef::TopK(_) => (9, true),
        StageRef::TypicalP(_) => (10, false),
        StageRef::TopP(x) => (11, is_within(x, 40)),
        StageRef::MinP(x) => (12, is_within(x, 40)),
        _ => (u32::MAX, false),
    }
}

/// Whether the size of `x` is from 2^-n to 2^n.
fn is_within(x: f64, n: i32) -> bool {
    (2f64.powi(-n)..=2f64.powi(n)).contains(&x.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_tensor::sampling::{Chain, Stage};
    use naga::front::wgsl::parse_str;
    use naga::valid::{Capabilities, ValidationFlags, Validator};

    fn taken(stages: &[Stage]) -> bool {
        let mut words = Vec::new();
        Chain(stages.to_vec()).encode(&mut words);
        draws(ChainRef::decode(&words).unwrap())
    }

    #[test]
    fn it_draws_chains_of_its_stages_in_the_usual_order() {
        let repetition = Stage::Repetition { penalty: 1.1, last_n: None };
        let usual = [repetition.clone(), Stage::Temperature(0.7), Stage::TopK(40), Stage::TopP(0.9), Stage::MinP(0.1)];
        assert!(taken(&usual) && taken(&[]) && taken(&[Stage::Temperature(0.0)]));
        assert!(taken(&[Stage::NoRepeatNgram(0), Stage::TypicalP(1.0), Stage::TopP(1.0), Stage::MinP(0.0)]));
        assert!(!taken(&[Stage::TopK(40), Stage::Temperature(0.7)]));
        assert!(!taken(&[Stage::TopK(40), Stage::TopK(30)]));
        assert!(!taken(&[Stage::NoRepeatNgram(2)]) && !taken(&[Stage::TypicalP(0.5)]));
        assert!(!taken(&[Stage::Temperature(1e-20)]) && !taken(&[Stage::Frequency(1e20)]));
        assert!(!taken(&[Stage::Repetition { penalty: 1e9, last_n: Some(64) }]));
    }

    /// Replaces slots by their texts.
    fn assembled() -> String {
        let text = |name| inkstone_shaders::wgsl::text(name).unwrap();
        SLOTS.iter().fold(text("sample").to_owned(), |kernel, (slot, name)| {
            let (head, rest) = kernel.split_once(&format!("// slot: {slot}\n")).unwrap();
            let (_, tail) = rest.split_once("// end slot\n").unwrap();
            format!("{head}{}{tail}", text(name))
        })
    }

    #[test]
    fn the_kernel_is_valid_and_fits_into_the_memory_of_a_workgroup() {
        for text in [inkstone_shaders::wgsl::text("sample").unwrap().to_owned(), assembled()] {
            let module = parse_str(&text).unwrap_or_else(|e| panic!("{}", e.emit_to_string(&text)));
            let checked = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module);
            checked.unwrap_or_else(|e| panic!("{}", e.emit_to_string(&text)));
            let shared = module.global_variables.iter().filter(|(_, v)| v.space == naga::AddressSpace::WorkGroup);
            let bytes: u32 = shared.map(|(_, v)| module.types[v.ty].inner.size(module.to_ctx())).sum();
            assert!((1..=16 << 10).contains(&bytes), "{bytes} bytes");
        }
    }
}
