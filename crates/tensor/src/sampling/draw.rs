//! The draw: arg-max of log-probability plus Gumbel noise, which is a draw from the probabilities (Gumbel 1954).

use super::philox::philox4x32_10;
use super::row::Workspace;
use super::truncate::below;
use crate::math::{exp, ln};

/// Which draw of which stream of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Draw {
    /// The stream.
    pub seed: u64,
    /// The index of the token: 0 for the first that is generated.
    pub index: u64,
}

/// No noise is larger: -ln(-ln(1 - 2^-25)) is 17.33.
const MOST_NOISE: f64 = 17.4;

/// The noise of a token in a draw: Philox with the seed as key and (index, token) as counter gives
/// u = ((x >> 8) + 1/2) 2^-24 in (0, 1), and -ln(-ln u) follows.
pub fn gumbel(draw: Draw, token: u32) -> f64 {
    noise(uniform(draw, token))
}

/// The random number in (0, 1) behind the noise; 1 less it is exact.
fn uniform(draw: Draw, token: u32) -> f64 {
    let words = |x: u64| [x as u32, (x >> 32) as u32];
    let [low, high] = words(draw.index);
    let [x, ..] = philox4x32_10([low, high, token, 0], words(draw.seed));
    (f64::from(x >> 8) + 0.5) * (1.0 / (1 << 24) as f64)
}

fn noise(u: f64) -> f64 {
    -ln(-ln(u))
}

/// Whether `u` is too small for a noise of `needed`. As 1 - u <= -ln u, a noise of at least `needed` takes
/// 1 - u <= e^-needed; the slack is far above what rounding does.
fn falls_short(u: f64, needed: f64) -> bool {
    1.0 - u > exp(-needed) * 1.000_001
}

/// The token that is drawn among those that are left.
pub(super) fn draw(row: &mut Workspace, draw: Draw) -> Option<u32> {
    let best = row.best()?;
    // The likeliest token sets a bar which tells most others that they lose, without the logarithms of their noise.
    let mut chosen = (gumbel(draw, best.id), best.id);
    for c in row.set().iter().filter(|c| c.id != best.id) {
        let log_weight = below(best.z, c.z);
        let needed = chosen.0 - log_weight;
        if needed > MOST_NOISE {
            continue;
        }
        let u = uniform(draw, c.id);
        if falls_short(u, needed) {
            continue;
        }
        let score = log_weight + noise(u);
        if score > chosen.0 || score == chosen.0 && c.id < chosen.1 {
            chosen = (score, c.id);
        }
    }
    Some(chosen.1)
}
