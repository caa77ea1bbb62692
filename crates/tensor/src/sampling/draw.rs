//! The draw: arg-max of log-probability plus Gumbel noise, which is a draw from the probabilities (Gumbel 1954).

use super::philox::philox4x32_10;
use super::row::Workspace;
use super::truncate::below;
use crate::math::ln;

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
    let words = |x: u64| [x as u32, (x >> 32) as u32];
    let [low, high] = words(draw.index);
    let [x, ..] = philox4x32_10([low, high, token, 0], words(draw.seed));
    let u = (f64::from(x >> 8) + 0.5) * (1.0 / (1 << 24) as f64);
    -ln(-ln(u))
}

/// The token that is drawn among those that are left.
pub(super) fn draw(row: &mut Workspace, draw: Draw) -> Option<u32> {
    let best = row.best()?;
    // The likeliest token sets a bar which tells most others, without their noise, that they lose.
    let mut chosen = (gumbel(draw, best.id), best.id);
    for c in row.set().iter().filter(|c| c.id != best.id) {
        let log_weight = below(best.z, c.z);
        if log_weight + MOST_NOISE < chosen.0 {
            continue;
        }
        let score = log_weight + gumbel(draw, c.id);
        if score > chosen.0 || score == chosen.0 && c.id < chosen.1 {
            chosen = (score, c.id);
        }
    }
    Some(chosen.1)
}
