//! Tiles in registers: some queries times vectors of columns. Each result is one chain of fused multiply-adds, in the
//! order of d for scores and of positions for values, so the shape of a tile changes no bit.

use super::VECTORS;
use crate::isa::{Cache, F16x, Floats};
use crate::memory::{LINE, Run};
use std::ops::Range;

/// Most queries of a tile.
pub(super) const QUERIES: usize = 6;

/// The same for a set.
pub(super) const fn most<I: Floats>() -> usize {
    if I::RARE { 1 } else { QUERIES }
}

/// Whether registers hold the sums of that many queries with all vectors of a block, or with as many of columns. If
/// not, tiles are of one vector.
const fn is_wide<I: Floats>() -> bool {
    I::SUMS >= QUERIES * VECTORS
}

/// How keys and values are encoded.
pub(super) trait Encoding {
    /// Bytes of a vector.
    const BYTES: usize;
    /// The first vector of some bytes.
    fn lanes<I: Floats>(isa: I, bytes: &[u8]) -> I::F;
}

macro_rules! encoding {
    ($name:ident, $bytes:literal, ($isa:ident, $x:ident) => $lanes:expr) => {
        pub(super) struct $name;

        impl Encoding for $name {
            const BYTES: usize = $bytes;

            #[inline(always)]
            fn lanes<I: Floats>($isa: I, bytes: &[u8]) -> I::F {
                let $x = bytes.first_chunk::<$bytes>().expect("rows have whole vectors");
                $lanes
            }
        }
    };
}

encoding!(Single, 64, (isa, x) => isa.floats(&bytemuck::pod_read_unaligned::<F16x>(x)));
encoding!(Half, 32, (isa, x) => isa.halves(x));

/// Rows with a distance in bytes.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) stride: usize,
}

impl<'a> Rows<'a> {
    /// Some of them.
    #[inline(always)]
    pub(super) fn part(self, rows: Range<usize>) -> Rows<'a> {
        Rows { bytes: &self.bytes[rows.start * self.stride..rows.end * self.stride], ..self }
    }

    /// How many there are.
    fn len(self) -> usize {
        self.bytes.len() / self.stride.max(1)
    }
}

/// The rows that are needed next, with their cache level: a tile prefetches them while it computes. They are contiguous
/// within their runs.
#[derive(Clone, Copy)]
pub(super) struct Next<'a> {
    pub(super) runs: &'a [Run<'a>],
    pub(super) into: Cache,
}

impl Next<'_> {
    /// Nothing.
    pub(super) const NONE: Next<'static> = Next { runs: &[], into: Cache::First };
}

/// The same divided into steps of nearly equal size: a core can wait for only about twenty lines at a time, and stalls
/// at a further request.
struct Ahead<'a> {
    runs: std::slice::Iter<'a, Run<'a>>,
    /// The next line, and how many there are before the next run.
    line: *const u8,
    left: usize,
    /// Lines of a step.
    lines: usize,
    /// How many steps go by for these, and how many until then.
    every: usize,
    steps: usize,
    into: Cache,
}

impl<'a> Ahead<'a> {
    #[inline(always)]
    fn new(next: Next<'a>, steps: usize) -> Ahead<'a> {
        let Next { runs, into } = next;
        let lines = runs.iter().map(|run| run.lines().1).sum::<usize>();
        let (every, lines) = ((steps / lines.max(1)).max(1), lines.div_ceil(steps.max(1)));
        let mut ahead = Ahead { runs: runs.iter(), line: std::ptr::null(), left: 0, lines, every, steps: every, into };
        ahead.find();
        ahead
    }

    #[inline(always)]
    fn step<I: Floats>(&mut self, isa: I) {
        self.steps -= 1;
        if self.steps == 0 {
            self.steps = self.every;
            for _ in 0..self.lines {
                isa.prefetch_into(self.line, self.into);
                self.line = self.line.wrapping_add(LINE);
                self.left -= 1;
                if self.left == 0 {
                    self.find();
                }
            }
        }
    }

    /// The lines of the next run. If there are none, no step comes that asks. No call, which would have sums leave
    /// their registers.
    #[inline(always)]
    fn find(&mut self) {
        match self.runs.next() {
            Some(run) => (self.line, self.left) = run.lines(),
            None => (self.left, self.every, self.steps) = (usize::MAX, usize::MAX, usize::MAX),
        }
    }
}

/// Adds the vectors of all rows from `at` on, times the factor of the query for each row, to the sums, of which each
/// query has `N` vectors. Meanwhile it prefetches the lines of `ahead`.
#[inline(always)]
fn add_rows<I: Floats, E: Encoding, const Q: usize, const N: usize>(
    isa: I,
    rows: Rows,
    at: usize,
    mut factors: [&[f32]; Q],
    ahead: &mut Ahead,
    mut sums: [[I::F; N]; Q],
) -> [[I::F; N]; Q] {
    for factors in &mut factors {
        *factors = &factors[..rows.len()];
    }
    for (t, row) in rows.bytes.chunks_exact(rows.stride).enumerate() {
        ahead.step(isa);
        let row = &row[at * E::BYTES..][..N * E::BYTES];
        let mut lanes = [isa.splat_float(0.0); N];
        for n in 0..N {
            lanes[n] = E::lanes(isa, &row[n * E::BYTES..]);
        }
        for q in 0..Q {
            let factor = isa.splat_float(factors[q][t]);
            for n in 0..N {
                sums[q][n] = isa.fma(factor, lanes[n], sums[q][n]);
            }
        }
    }
    sums
}

/// The scores of queries with the 64 positions of a block. The keys are stored by dimension d; all have the same number
/// of dimensions. Meanwhile it prefetches `next`.
#[inline(always)]
pub(super) fn scores<I: Floats, E: Encoding, const Q: usize>(
    isa: I,
    queries: [&[f32]; Q],
    keys: &[u8],
    next: Next,
    out: &mut [[F16x; VECTORS]; Q],
) {
    let keys = Rows { bytes: keys, stride: VECTORS * E::BYTES };
    let passes = if is_wide::<I>() { 1 } else { VECTORS };
    let mut ahead = Ahead::new(next, keys.len() * passes);
    if is_wide::<I>() {
        scores_at::<I, E, Q, VECTORS>(isa, queries, keys, 0, &mut ahead, out);
    } else {
        for at in 0..VECTORS {
            scores_at::<I, E, Q, 1>(isa, queries, keys, at, &mut ahead, out);
        }
    }
}

#[inline(always)]
fn scores_at<I: Floats, E: Encoding, const Q: usize, const N: usize>(
    isa: I,
    queries: [&[f32]; Q],
    keys: Rows,
    at: usize,
    ahead: &mut Ahead,
    out: &mut [[F16x; VECTORS]; Q],
) {
    let sums = [[isa.splat_float(0.0); N]; Q];
    let sums = add_rows::<I, E, Q, N>(isa, keys, at, queries, ahead, sums);
    for q in 0..Q {
        for n in 0..N {
            out[q][at + n] = isa.lanes(sums[q][n]);
        }
    }
}

/// The weighted sums of the values of a head: the earlier `sums` plus the rows times their weights. Meanwhile it
/// prefetches `next`.
pub(super) struct Values<'a, const Q: usize> {
    pub(super) rows: Rows<'a>,
    /// As many as rows, at least.
    pub(super) weights: [&'a [f32]; Q],
    pub(super) before: [f32; Q],
    /// Vectors of the first query, of the second ...
    pub(super) sums: &'a mut [F16x],
    pub(super) next: Next<'a>,
}

impl<const Q: usize> Values<'_, Q> {
    #[inline(always)]
    pub(super) fn add<I: Floats, E: Encoding>(mut self, isa: I) {
        let vectors = self.sums.len() / Q;
        let passes = if is_wide::<I>() { vectors / 4 + vectors % 4 } else { vectors };
        let mut ahead = Ahead::new(self.next, self.rows.len() * passes);
        let mut at = 0;
        while at < vectors {
            let side = if is_wide::<I>() && vectors - at >= 4 {
                columns::<I, E, Q, 4>(isa, &mut self, at, &mut ahead)
            } else {
                columns::<I, E, Q, 1>(isa, &mut self, at, &mut ahead)
            };
            at += side;
        }
    }
}

/// `N` vectors of columns from `at` on; gives `N`.
#[inline(always)]
fn columns<I: Floats, E: Encoding, const Q: usize, const N: usize>(
    isa: I,
    values: &mut Values<Q>,
    at: usize,
    ahead: &mut Ahead,
) -> usize {
    let Values { rows, weights, before, sums, .. } = values;
    let vectors = sums.len() / Q;
    let mut lanes = [[isa.splat_float(0.0); N]; Q];
    for q in 0..Q {
        let before = isa.splat_float(before[q]);
        for n in 0..N {
            lanes[q][n] = isa.product(isa.floats(&sums[q * vectors + at + n]), before);
        }
    }
    let lanes = add_rows::<I, E, Q, N>(isa, *rows, at, *weights, ahead, lanes);
    for q in 0..Q {
        for n in 0..N {
            sums[q * vectors + at + n] = isa.lanes(lanes[q][n]);
        }
    }
    N
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Portable;

    #[test]
    fn all_lines_are_asked_for_evenly_in_so_many_steps() {
        let memory = [0; 1 << 16];
        for steps in [1, 7, 64, 256, 300] {
            for count in [0, 1, 5, 63, 64, 65, 200, 1_000] {
                // In two runs, of which the first is short; none is empty.
                let (first, second) = memory[..count * LINE].split_at(count.div_ceil(5) * LINE);
                let runs: Vec<Run> =
                    [first, second].into_iter().filter(|run| !run.is_empty()).map(|run| Run::of(run, LINE)).collect();
                let mut ahead = Ahead::new(Next { runs: &runs, into: Cache::Second }, steps);
                let mut asked = Vec::new();
                for step in 0..steps {
                    let before = ahead.steps;
                    ahead.step(Portable);
                    if ahead.steps >= before {
                        asked.push(step);
                    }
                }
                assert_eq!(ahead.every, usize::MAX, "{count} lines in {steps} steps: {} of a run are left", ahead.left);
                let apart = steps / count.max(1);
                assert!(
                    asked.windows(2).all(|w| w[1] - w[0] == apart.max(1)),
                    "{count} lines in {steps} steps: {asked:?}"
                );
            }
        }
    }
}
