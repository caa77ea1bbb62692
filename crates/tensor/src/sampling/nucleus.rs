//! Top-p, nucleus sampling (Holtzman et al. 2020), without sorting the tokens that it drops.
//!
//! The last token is defined by sums in sorted order: the total of all weights, and the cumulated probabilities up to
//! `p`. The latter need only the first tokens. The former requires a sort of the whole row, but a sum in another order
//! differs only in its last bits, so bounds of the total are known without sorting. A larger total never makes the
//! cumulated probability reach `p` earlier, because quotients and sums are rounded monotonically: if `p` is reached at
//! the same token with both bounds, it is also reached there with every total between them. Otherwise the last bits
//! decide, and the whole row is sorted.

use super::row::{Candidate, Workspace};
use super::truncate::{NEGLIGIBLE, below, total};
use crate::math::exp;

/// Buckets for each step of 1 below the largest logit.
const FINENESS: f64 = 8.0;

/// As many as there are down to [`NEGLIGIBLE`].
const BUCKETS: usize = (NEGLIGIBLE * -FINENESS) as usize;

/// Keeps the first tokens in the order whose probabilities together reach `p`.
pub(super) fn top_p(row: &mut Workspace, p: f64) {
    let Some(max) = row.largest() else { return };
    let set = row.set();
    let histogram = Histogram::new(set, max);
    let bounds = histogram.bounds_of_total();
    let farthest = histogram.distance_that_reaches(p * bounds[1]);
    // Those up to any distance are the first ones of the order, so what the histogram says here is a matter of speed.
    let front = move_to_front(set, |c| below(max, c.z) >= farthest);
    let (front, rest) = set.split_at_mut(front);
    front.sort_unstable_by(Candidate::order);
    let last = match crossing(front, bounds, p) {
        Some(last) => Some(last),
        None => {
            rest.sort_unstable_by(Candidate::order);
            let total = total(set);
            crossing(set, [total; 2], p)
        }
    };
    if let Some(last) = last {
        set.truncate(last + 1);
    }
    row.ordered();
}

/// The index of the token with which the cumulated probability reaches `p`, if that is the same for all totals from
/// `low` to `high`.
fn crossing(sorted: &[Candidate], [low, high]: [f64; 2], p: f64) -> Option<usize> {
    let max = sorted.first().map_or(0.0, |c| c.z);
    let (mut most, mut least) = (0.0, 0.0);
    let first = sorted.iter().position(|c| {
        let weight = exp(below(max, c.z));
        most += weight / low;
        least += weight / high;
        most >= p
    })?;
    (least >= p).then_some(first)
}

/// The weights of a set, summed by bucket.
struct Histogram {
    weights: [f64; BUCKETS],
    tokens: usize,
}

impl Histogram {
    fn new(set: &[Candidate], max: f64) -> Histogram {
        let mut weights = [0.0; BUCKETS];
        for c in set {
            let distance = below(max, c.z);
            if distance > NEGLIGIBLE {
                weights[(distance * -FINENESS) as usize] += exp(distance);
            }
        }
        Histogram { weights, tokens: set.len() }
    }

    /// The lower and the upper bound of the total in sorted order.
    ///
    /// In any order, the relative error of a sum of n weights is less than n u, to first order in the unit roundoff u
    /// (Higham 2002, 4.2), so two orders differ by less than 2 n u. Twice this bound covers the terms of higher order.
    fn bounds_of_total(&self) -> [f64; 2] {
        let total: f64 = self.weights.iter().sum();
        let slack = 2.0 * f64::EPSILON * self.tokens as f64;
        [total * (1.0 - slack), total * (1.0 + slack)]
    }

    /// A distance up to which the weights reach `wanted`; -infinity if they never do.
    fn distance_that_reaches(&self, wanted: f64) -> f64 {
        let mut sum = 0.0;
        let bucket = self.weights.iter().position(|weight| {
            sum += weight;
            sum >= wanted
        });
        bucket.map_or(f64::NEG_INFINITY, |bucket| (bucket + 1) as f64 / -FINENESS)
    }
}

/// Moves the tokens that `is_front` holds for before the others, and counts them.
fn move_to_front(set: &mut [Candidate], is_front: impl Fn(&Candidate) -> bool) -> usize {
    let mut front = 0;
    for at in 0..set.len() {
        if is_front(&set[at]) {
            set.swap(front, at);
            front += 1;
        }
    }
    front
}
