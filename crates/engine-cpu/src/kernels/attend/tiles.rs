//! Tiles in registers: some queries times vectors of columns. Each result is one chain of fused multiply-adds, in the order
//! of d for scores and of positions for values, so the shape of a tile changes no bit.

use super::VECTORS;
use crate::isa::{Cache, F16x, Floats};
use std::slice::Chunks;

/// Most queries of a tile.
pub(super) const QUERIES: usize = 6;

/// Whether registers hold the sums of that many queries with all vectors of a block, or with as many of columns. If not,
/// tiles are of one vector.
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

/// Rows that will be wanted next, and where they come: a tile asks for them while it computes.
#[derive(Clone, Copy)]
pub(super) struct Next<'a> {
    pub(super) rows: &'a [&'a [u8]],
    pub(super) into: Cache,
}

/// The same in some steps, as evenly as can be: a core waits for no more than some twenty lines at a time, and goes on with nothing
/// else if it is asked for another.
struct Ahead<'a> {
    rows: Chunks<'a, &'a [u8]>,
    /// How many steps go by for some rows, and how many are left.
    every: usize,
    left: usize,
    into: Cache,
}

impl<'a> Ahead<'a> {
    fn new(next: Next<'a>, steps: usize) -> Ahead<'a> {
        let Next { rows, into } = next;
        let every = (steps / rows.len().max(1)).max(1);
        Ahead { rows: rows.chunks(rows.len().div_ceil(steps.max(1)).max(1)), every, left: every, into }
    }

    #[inline(always)]
    fn step<I: Floats>(&mut self, isa: I) {
        self.left -= 1;
        if self.left == 0 {
            self.left = self.every;
            for row in self.rows.next().unwrap_or_default() {
                isa.prefetch_all(row, self.into);
            }
        }
    }
}

/// Scores of queries with the 64 positions of a block, whose keys lie by d; all have as many d. What is `next` is asked for
/// meanwhile.
#[inline(always)]
pub(super) fn scores<I: Floats, E: Encoding, const Q: usize>(
    isa: I,
    queries: [&[f32]; Q],
    keys: &[u8],
    next: Next,
    out: &mut [[F16x; VECTORS]; Q],
) {
    let dim = keys.len() / (VECTORS * E::BYTES);
    let mut ahead = Ahead::new(next, if is_wide::<I>() { dim } else { dim * VECTORS });
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
    mut queries: [&[f32]; Q],
    keys: &[u8],
    at: usize,
    ahead: &mut Ahead,
    out: &mut [[F16x; VECTORS]; Q],
) {
    let keys = keys.chunks_exact(VECTORS * E::BYTES);
    for query in &mut queries {
        *query = &query[..keys.len()];
    }
    let mut sums = [[isa.splat_float(0.0); N]; Q];
    for (d, keys) in keys.enumerate() {
        ahead.step(isa);
        let keys = &keys[at * E::BYTES..][..N * E::BYTES];
        let mut lanes = [isa.splat_float(0.0); N];
        for n in 0..N {
            lanes[n] = E::lanes(isa, &keys[n * E::BYTES..]);
        }
        for q in 0..Q {
            let x = isa.splat_float(queries[q][d]);
            for n in 0..N {
                sums[q][n] = isa.fma(x, lanes[n], sums[q][n]);
            }
        }
    }
    for q in 0..Q {
        for n in 0..N {
            out[q][at + n] = isa.lanes(sums[q][n]);
        }
    }
}

/// What queries have seen of the values of a head: `sums` before, plus the rows times their weights. What is `next` is
/// asked for meanwhile.
pub(super) struct Values<'a, const Q: usize> {
    pub(super) rows: &'a [&'a [u8]],
    /// As many as rows, at least.
    pub(super) weights: [&'a [f32]; Q],
    pub(super) before: [f32; Q],
    /// Vectors of the first query, of the second ...
    pub(super) sums: &'a mut [F16x],
    pub(super) next: Next<'a>,
}

impl<const Q: usize> Values<'_, Q> {
    #[inline(always)]
    pub(super) fn add<I: Floats, E: Encoding>(self, isa: I) {
        let Values { rows, weights, before, sums, next } = self;
        let vectors = sums.len() / Q;
        let passes = if is_wide::<I>() { vectors / 4 + vectors % 4 } else { vectors };
        let mut ahead = Ahead::new(next, rows.len() * passes);
        let mut at = 0;
        while at < vectors {
            let side = if is_wide::<I>() && vectors - at >= 4 {
                columns::<I, E, Q, 4>(isa, rows, weights, before, sums, at, &mut ahead)
            } else {
                columns::<I, E, Q, 1>(isa, rows, weights, before, sums, at, &mut ahead)
            };
            at += side;
        }
    }
}

/// `N` vectors of columns from `at` on; gives `N`.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn columns<I: Floats, E: Encoding, const Q: usize, const N: usize>(
    isa: I,
    rows: &[&[u8]],
    mut weights: [&[f32]; Q],
    before: [f32; Q],
    sums: &mut [F16x],
    at: usize,
    ahead: &mut Ahead,
) -> usize {
    for weights in &mut weights {
        *weights = &weights[..rows.len()];
    }
    let vectors = sums.len() / Q;
    let mut lanes = [[isa.splat_float(0.0); N]; Q];
    for q in 0..Q {
        let before = isa.splat_float(before[q]);
        for n in 0..N {
            lanes[q][n] = isa.product(isa.floats(&sums[q * vectors + at + n]), before);
        }
    }
    for (t, row) in rows.iter().enumerate() {
        ahead.step(isa);
        let row = &row[at * E::BYTES..][..N * E::BYTES];
        let mut values = [isa.splat_float(0.0); N];
        for n in 0..N {
            values[n] = E::lanes(isa, &row[n * E::BYTES..]);
        }
        for q in 0..Q {
            let weight = isa.splat_float(weights[q][t]);
            for n in 0..N {
                lanes[q][n] = isa.fma(weight, values[n], lanes[q][n]);
            }
        }
    }
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
    fn all_rows_are_asked_for_evenly_in_so_many_steps() {
        let row: &[u8] = &[0; 128];
        for steps in [1, 7, 64, 256, 300] {
            for count in [0, 1, 5, 63, 64, 65, 200, 1_000] {
                let rows = vec![row; count];
                let mut ahead = Ahead::new(Next { rows: &rows, into: Cache::Second }, steps);
                let mut asked = Vec::new();
                for step in 0..steps {
                    let before = ahead.rows.len();
                    ahead.step(Portable);
                    if ahead.rows.len() < before {
                        asked.push(step);
                    }
                }
                assert_eq!(ahead.rows.len(), 0, "{count} rows in {steps} steps");
                let apart = steps / count.max(1);
                assert!(
                    asked.windows(2).all(|w| w[1] - w[0] == apart.max(1)),
                    "{count} rows in {steps} steps: {asked:?}"
                );
            }
        }
    }
}
