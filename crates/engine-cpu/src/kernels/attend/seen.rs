//! The state of queries over the positions so far: online softmax (Milakov and Gimelshein 2018).

use super::VECTORS;
use crate::isa::math::exp;
use crate::isa::{F16x, Floats, LANES};
use inkstone_tensor::Visible;

/// All positions of a block.
const WHOLE: Visible = Visible { first: 0, from: 0, end: VECTORS * LANES };

/// Of some queries: the largest score, the sum of weights, and weighted values, each query's in whole vectors.
pub(in crate::kernels) struct Seen<'a> {
    pub(super) maxima: &'a mut [f32],
    pub(super) totals: &'a mut [f32],
    pub(super) sums: &'a mut [F16x],
}

impl<'a> Seen<'a> {
    /// Of so many queries, in floats that have any values; [`Seen::floats`] of them.
    pub(super) fn split(floats: &'a mut [f32], queries: usize) -> Seen<'a> {
        let (singles, sums) = floats.split_at_mut((2 * queries).next_multiple_of(LANES));
        let (maxima, totals) = singles.split_at_mut(queries);
        Seen { maxima, totals: &mut totals[..queries], sums: sums.as_chunks_mut().0 }
    }

    /// Floats for so many queries and vectors of values.
    pub(super) fn floats(queries: usize, vectors: usize) -> usize {
        (2 * queries).next_multiple_of(LANES) + queries * vectors * LANES
    }

    /// Nothing, so far.
    pub(super) fn clear(&mut self) {
        self.maxima.fill(f32::NEG_INFINITY);
        self.totals.fill(0.0);
        self.sums.fill([0.0; LANES]);
    }

    /// Vectors of a query.
    pub(super) fn vectors(&self) -> usize {
        self.sums.len() / self.maxima.len()
    }

    /// Turns the scores of some queries, from `first` on, with a block into weights. Each query sees some positions of it,
    /// and the weights of the others are 0. Gives what all that was seen before is worth now.
    #[inline(always)]
    pub(super) fn weigh<I: Floats, const Q: usize>(
        &mut self,
        isa: I,
        first: usize,
        scores: &mut [[F16x; VECTORS]; Q],
        visible: [Visible; Q],
        scale: f32,
    ) -> [f32; Q] {
        let infinite = isa.splat_float(f32::NEG_INFINITY);
        let (mut olds, mut news) = ([0.0; LANES], [0.0; LANES]);
        let maxima = &mut self.maxima[first..][..Q];
        for q in 0..Q {
            let mut largest = infinite;
            for (i, vector) in scores[q].iter_mut().enumerate() {
                let mut score = isa.product(isa.floats(vector), isa.splat_float(scale));
                if visible[q] != WHOLE {
                    let indices: [f32; LANES] = std::array::from_fn(|lane| (i * LANES + lane) as f32);
                    let indices = isa.floats(&indices);
                    let [first, from, end] = [visible[q].first, visible[q].from, visible[q].end];
                    let before = isa.below(indices, isa.splat_float(first as f32), score, infinite);
                    score = isa.below(indices, isa.splat_float(end as f32), score, infinite);
                    score = isa.below(indices, isa.splat_float(from as f32), before, score);
                }
                largest = isa.larger(score, largest);
                *vector = isa.lanes(score);
            }
            let largest = isa.fold_max(largest);
            olds[q] = maxima[q];
            news[q] = if largest > maxima[q] { largest } else { maxima[q] };
            maxima[q] = news[q];
        }
        let before = shares(isa, &olds, &news);
        for q in 0..Q {
            let max = isa.splat_float(news[q]);
            let mut total = isa.splat_float(0.0);
            for vector in &mut scores[q] {
                let weight = exp(isa, isa.difference(isa.floats(vector), max));
                total = isa.sum(total, weight);
                *vector = isa.lanes(weight);
            }
            let seen = &mut self.totals[first + q];
            *seen = seen.mul_add(before[q], isa.fold_sum(total));
        }
        std::array::from_fn(|q| before[q])
    }

    /// The result of a query.
    #[inline(always)]
    pub(in crate::kernels) fn put<I: Floats>(&self, isa: I, query: usize, out: &mut [f32]) {
        let (vectors, total) = (self.vectors(), isa.splat_float(self.totals[query]));
        for (i, sum) in self.sums[query * vectors..][..vectors].iter().enumerate() {
            isa.put(out, i, isa.quotient(isa.floats(sum), total));
        }
    }

    /// Merges the state of a query for a segment. The state of the first segment is copied.
    #[inline(always)]
    pub(super) fn merge<I: Floats>(&mut self, isa: I, segment: &Seen, query: usize, is_first: bool) {
        let vectors = self.vectors();
        let (max, total) = (&mut self.maxima[query], &mut self.totals[query]);
        let sums = &mut self.sums[query * vectors..][..vectors];
        let (added_max, added_total) = (segment.maxima[query], segment.totals[query]);
        let added_sums = &segment.sums[query * vectors..][..vectors];
        if is_first {
            (*max, *total) = (added_max, added_total);
            return sums.copy_from_slice(added_sums);
        }
        let largest = if added_max > *max { added_max } else { *max };
        let (mut olds, mut news) = ([0.0; LANES], [0.0; LANES]);
        (olds[0], olds[1], news[0], news[1]) = (*max, added_max, largest, largest);
        let shares = shares(isa, &olds, &news);
        *total = total.mul_add(shares[0], added_total * shares[1]);
        *max = largest;
        let (before, after) = (isa.splat_float(shares[0]), isa.splat_float(shares[1]));
        for (sum, added) in sums.iter_mut().zip(added_sums) {
            let added = isa.product(isa.floats(added), after);
            *sum = isa.lanes(isa.fma(isa.floats(sum), before, added));
        }
    }
}

/// The factors that convert weights relative to the old largest scores to weights relative to the new ones, which are
/// not smaller; 0 if there were no old scores.
#[inline(always)]
fn shares<I: Floats>(isa: I, maxima: &F16x, by: &F16x) -> F16x {
    let mut shares = isa.lanes(exp(isa, isa.difference(isa.floats(maxima), isa.floats(by))));
    for (share, max) in shares.iter_mut().zip(maxima) {
        *share = if *max == f32::NEG_INFINITY { 0.0 } else { *share };
    }
    shares
}
