//! Stages that look at all tokens: temperature, and those that keep the likely ones.

use super::SampleError;
use super::row::{Candidate, Workspace, reserve};
use crate::math::{exp, ln};

/// The distance of a logit to the largest one, so that e to its power is a weight from 0 to 1. If the largest is
/// infinite, the tokens that have it share everything.
pub(super) fn below(max: f64, z: f64) -> f64 {
    if z == max { 0.0 } else { z - max }
}

/// From this distance on weights change no bit of their sum: it is at least 1, and e^-37.5 < 2^-54 is less than half of
/// its last place.
pub(super) const NEGLIGIBLE: f64 = -37.5;

/// The sum of the weights of tokens that are in order.
pub(super) fn total(sorted: &[Candidate]) -> f64 {
    let max = sorted.first().map_or(0.0, |c| c.z);
    sorted.iter().map(|c| below(max, c.z)).take_while(|&d| d > NEGLIGIBLE).map(exp).sum()
}

/// Divides by a temperature above 0. Logits are taken relative to the largest, so that a tiny temperature sends all
/// others to -infinity and not all to infinity.
pub(super) fn temperature(row: &mut Workspace, temperature: f64) {
    row.divide(temperature);
}

pub(super) fn min_p(row: &mut Workspace, p: f64) {
    if let Some(best) = row.best() {
        row.set().retain(|c| exp(below(best.z, c.z)) >= p);
    }
}

/// Tokens come in the order of |surprise - entropy|, those with equal distance in the usual order.
pub(super) fn typical_p(row: &mut Workspace, p: f64) -> Result<(), SampleError> {
    let mut by_deviation = std::mem::take(&mut row.deviations);
    let set = row.sorted_set();
    reserve(&mut by_deviation, set.len())?;
    let (total, max) = (total(set), set.first().map_or(0.0, |c| c.z));
    let ln_total = ln(total);
    let probability = |c: &Candidate| exp(below(max, c.z)) / total;
    let surprise = |c: &Candidate| ln_total - below(max, c.z);
    let terms = set.iter().map(|c| (probability(c), surprise(c)));
    let entropy: f64 = terms.filter(|&(p, _)| p > 0.0).map(|(p, surprise)| p * surprise).sum();
    by_deviation.extend(set.iter().map(|c| ((surprise(c) - entropy).abs(), *c)));
    by_deviation.sort_unstable_by(|(a, c), (b, d)| a.total_cmp(b).then(Candidate::order(c, d)));
    let mut sum = 0.0;
    let crossing = by_deviation.iter().position(|(_, c)| {
        sum += probability(c);
        sum >= p
    });
    if let Some(last) = crossing {
        set.clear();
        set.extend(by_deviation[..=last].iter().map(|(_, c)| *c));
        row.disordered();
    }
    row.deviations = by_deviation;
    Ok(())
}
