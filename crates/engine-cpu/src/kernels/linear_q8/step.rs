//! The one place where floats of these products are summed.

use super::super::formats::{Format, Group};
use super::side::Columns;
use crate::isa::{F16x, Words};

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

/// In memory.
impl<I: Words> Sums<I> for [F16x] {
    #[inline(always)]
    fn add(&mut self, isa: I, n: usize, u: I::F, da: f32) {
        self[n] = isa.lanes(isa.fma(u, isa.splat_float(da), isa.floats(&self[n])));
    }
}

/// A group of 16 rows of a weight times one of `N` rows of a step, added to `sums`.
#[inline(always)]
pub(super) fn step<I: Words, F: Format, const N: usize>(
    isa: I,
    group: &Group<I>,
    x: &Columns<N>,
    sums: &mut (impl Sums<I> + ?Sized),
) {
    let [x @ .., scales, totals, float_totals, halves] = x;
    let dots = match F::HALVES {
        true => F::scaled_dots(isa, &group.q, group.scale, x, halves),
        false => F::dots(isa, [isa.splat(0); N], &group.q, x),
    };
    for n in 0..N {
        let isum = match F::HALVES {
            true => dots[n],
            false => F::less_offset(isa, dots[n], isa.splat(totals[n])),
        };
        let mut u = isa.product(group.d, isa.to_floats(isum));
        if F::MINIMUM {
            let asum = match F::HALVES {
                true => isa.to_floats(isa.weighted(group.minimum, halves[n])),
                false => isa.splat_float(f32::from_bits(float_totals[n])),
            };
            u = isa.fma(group.m, asum, u);
        }
        sums.add(isa, n, u, f32::from_bits(scales[n]));
    }
}
