//! e^x: x = n ln 2 + r with |r| <= ln 2 / 2, and e^r by Taylor's series.

use crate::isa::Floats;

/// Adding it rounds to an integer: 1.5 * 2^23.
pub(super) const ROUND: f32 = 12_582_912.0;
/// 9 bits of ln 2, so that small integers times it are exact.
pub(super) const LN2_HI: f32 = 0.693_359_4;
/// The rounding error of the constant above.
pub(super) const LN2_LO: f32 = -2.121_944_4e-4;

/// e to the power of `x`, with an error below 1 unit in the last place; 0 below -87, where the result would soon be
/// subnormal.
#[inline(always)]
pub(crate) fn exp<I: Floats>(isa: I, x: I::F) -> I::F {
    // A NaN passes.
    let clamped = isa.larger(isa.splat_float(-88.0), isa.smaller(isa.splat_float(89.0), x));
    let n = round(isa, isa.product(clamped, isa.splat_float(std::f32::consts::LOG2_E)));
    let r = isa.fma(n, isa.splat_float(-LN2_HI), clamped);
    let r = isa.fma(n, isa.splat_float(-LN2_LO), r);
    let power = scaled(isa, series(isa, r), n);
    isa.below(x, isa.splat_float(-87.0), isa.splat_float(0.0), power)
}

/// Rounds values far below 2^22 to the nearest integer.
#[inline(always)]
pub(super) fn round<I: Floats>(isa: I, x: I::F) -> I::F {
    let by = isa.splat_float(ROUND);
    isa.difference(isa.sum(x, by), by)
}

/// e^r for |r| <= ln 2 / 2.
#[inline(always)]
pub(super) fn series<I: Floats>(isa: I, r: I::F) -> I::F {
    let mut p = isa.splat_float(1.0 / 5040.0);
    for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        p = isa.fma(p, r, isa.splat_float(c));
    }
    p
}

/// a 2^n, in two steps: |n| is up to 252, beyond one exponent.
#[inline(always)]
pub(super) fn scaled<I: Floats>(isa: I, a: I::F, n: I::F) -> I::F {
    let half = round(isa, isa.product(n, isa.splat_float(0.5)));
    let first = isa.product(a, isa.power_of_two(half));
    isa.product(first, isa.power_of_two(isa.difference(n, half)))
}
