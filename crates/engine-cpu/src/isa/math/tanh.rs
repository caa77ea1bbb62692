//! tanh |x| = t / (t + 2) with t = e^2|x| - 1 = 2^n (e^r - 1) + 2^n - 1, which does not cancel.

use super::exp::{LN2_HI, LN2_LO, round};
use crate::isa::Floats;

/// The hyperbolic tangent of `x`, with an error below 2.5 units in the last place.
#[inline(always)]
pub(crate) fn tanh<I: Floats>(isa: I, x: I::F) -> I::F {
    let size = isa.abs(x);
    // Beyond 20 it rounds to 1. A NaN passes.
    let double = isa.smaller(isa.splat_float(20.0), isa.sum(size, size));
    let n = round(isa, isa.product(double, isa.splat_float(std::f32::consts::LOG2_E)));
    let r = isa.fma(n, isa.splat_float(-LN2_HI), double);
    let r = isa.fma(n, isa.splat_float(-LN2_LO), r);
    // e^r - 1 = r + r^2 (1/2 + r / 6 + ..) by Taylor's series.
    let mut p = isa.splat_float(1.0 / 5040.0);
    for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5] {
        p = isa.fma(p, r, isa.splat_float(c));
    }
    let p = isa.fma(isa.product(r, r), p, r);
    let power = isa.power_of_two(n);
    let t = isa.fma(power, p, isa.difference(power, isa.splat_float(1.0)));
    isa.with_sign(isa.quotient(t, isa.sum(t, isa.splat_float(2.0))), x)
}
