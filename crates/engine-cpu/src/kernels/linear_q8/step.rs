//! The one place where floats of these products are summed.

use super::super::formats::{Format, Group};
use super::side::Columns;
use crate::isa::{F16x, Words};
use std::sync::atomic::{Ordering, compiler_fence};

/// Where [`Columns`] have the scales, and what both halves begin with.
const SCALES: usize = 8;
const FIRST: usize = 10;

/// Sums of 16 columns of the result, by row.
pub(super) trait Sums<I: Words> {
    /// `sums[n] = fma(u, da, sums[n])`
    fn add(&mut self, isa: I, n: usize, u: I::F, da: f32);
}

/// In registers.
impl<I: Words, const N: usize> Sums<I> for [I::F; N] {
    #[inline(always)]
    fn add(&mut self, isa: I, n: usize, u: I::F, da: f32) {
        self[n] = isa.fma(u, isa.splat_float(da), self[n]);
    }
}

/// In memory; `.1` vectors lie between those of two rows.
pub(super) struct InMemory<'a>(pub(super) &'a mut [F16x], pub(super) usize);

impl<I: Words> Sums<I> for InMemory<'_> {
    #[inline(always)]
    fn add(&mut self, isa: I, n: usize, u: I::F, da: f32) {
        let at = &mut self.0[n * self.1];
        *at = isa.lanes(isa.fma(u, isa.splat_float(da), isa.floats(at)));
    }
}

/// A group of 16 rows of a weight times one of `N` rows of a step, added to `sums`.
#[inline(always)]
pub(super) fn step<I: Words, F: Format, const N: usize>(
    isa: I,
    group: &Group<I>,
    x: &Columns<N>,
    sums: &mut impl Sums<I>,
) {
    let [x @ .., scales, _, first, second, halves] = x;
    let dots = match F::HALVES {
        true => F::scaled_dots(isa, &group.q, group.scale, x, [first, second], halves),
        false => F::dots(isa, isa.splats(F::OFFSET > 0, first), &group.q, x),
    };
    for n in 0..N {
        let mut u = isa.product(group.d, isa.to_floats(dots[n]));
        if F::MINIMUM {
            let asum = match F::HALVES {
                true => isa.to_floats(isa.weighted(group.minimum, halves[n])),
                false => isa.splat_float(f32::from_bits(first[n])),
            };
            u = isa.fma(group.m, asum, u);
        }
        sums.add(isa, n, u, f32::from_bits(scales[n]));
    }
}

/// The same of the four groups from `4 half` on, whose bytes are read in order; of formats with scales of 16 values and no
/// minima, on sets whose factors are plain words.
#[inline(always)]
pub(super) fn four_steps<I: Words, F: Format, const N: usize>(
    isa: I,
    blocks: &[u8],
    half: usize,
    x: &[Columns<N>; 4],
    sums: &mut impl Sums<I>,
) {
    // Written out, so that everything stays in registers.
    macro_rules! each {
        ($f:ident: $($a:expr),*) => {{ $($f!($a);)* }};
    }
    let mut totals = [[isa.splat(0); N]; 4];
    macro_rules! part {
        ($part:expr) => {{
            let mut dots = [[isa.splat(0); N]; 4];
            macro_rules! begin {
                ($g:expr) => {
                    dots[$g] = isa.splats(F::OFFSET > 0, &x[$g][FIRST + $part])
                };
            }
            macro_rules! vectors {
                ($i:expr) => {{
                    let q = F::four(isa, blocks, half, 4 * $part + $i);
                    for n in 0..N {
                        dots[0][n] = isa.dot(dots[0][n], q[0], x[0][4 * $part + $i][n]);
                        dots[1][n] = isa.dot(dots[1][n], q[1], x[1][4 * $part + $i][n]);
                        dots[2][n] = isa.dot(dots[2][n], q[2], x[2][4 * $part + $i][n]);
                        dots[3][n] = isa.dot(dots[3][n], q[3], x[3][4 * $part + $i][n]);
                    }
                    compiler_fence(Ordering::SeqCst);
                }};
            }
            macro_rules! total {
                ($g:expr) => {{
                    let scale = F::group(isa, blocks, 4 * half + $g).scale[$part];
                    for n in 0..N {
                        totals[$g][n] = isa.add(totals[$g][n], isa.mul(scale, dots[$g][n]));
                    }
                }};
            }
            each!(begin: 0, 1, 2, 3);
            each!(vectors: 0, 1, 2, 3);
            each!(total: 0, 1, 2, 3);
        }};
    }
    macro_rules! finish {
        ($g:expr) => {{
            let d = F::group(isa, blocks, 4 * half + $g).d;
            for n in 0..N {
                let u = isa.product(d, isa.to_floats(totals[$g][n]));
                sums.add(isa, n, u, f32::from_bits(x[$g][SCALES][n]));
            }
        }};
    }
    each!(part: 0, 1);
    each!(finish: 0, 1, 2, 3);
}
