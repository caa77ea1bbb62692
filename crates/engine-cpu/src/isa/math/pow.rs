//! x^y = 2^(y log2 x): the logarithm and the product in doubles, the power in floats.

use super::exp::{round, scaled, series};
use crate::isa::{F16x, Floats};
use inkstone_tensor::math;
use std::f64::consts::LN_2;

/// `x` to the power of `y`, with an error below 1 unit in the last place. Lanes that are not positive finite numbers
/// are computed with the definition, one by one.
#[inline(always)]
pub(crate) fn pow<I: Floats>(isa: I, x: I::F, y: I::F) -> I::F {
    let exponent = isa.wide_product(isa.widen(y), log2(isa, x));
    let size = isa.narrow(exponent);
    let [low, high] = [-200.0, 200.0].map(|c| isa.splat_float(c));
    let n = round(isa, isa.larger(low, isa.smaller(high, size)));
    let rest = isa.wide_difference(exponent, isa.widen(n));
    let r = isa.narrow(isa.wide_product(rest, isa.splat_double(LN_2)));
    let power = scaled(isa, series(isa, r), n);
    let power = isa.below(size, low, isa.splat_float(0.0), power);
    let power = isa.below(high, size, isa.splat_float(f32::INFINITY), power);
    let (x, y) = (isa.lanes(x), isa.lanes(y));
    let mut plain = true;
    for (x, y) in x.iter().zip(&y) {
        plain &= (*x > 0.0) & (*x < f32::INFINITY) & (y.abs() < f32::INFINITY);
    }
    if plain { power } else { isa.floats(&one_by_one(&x, &y, isa.lanes(power))) }
}

/// The logarithm to the base 2 of positive finite numbers: e + log2 m with m near 1, and log2 m by the series of
/// artanh((m - 1) / (m + 1)).
#[inline(always)]
fn log2<I: Floats>(isa: I, x: I::F) -> I::D {
    let [zero, one, tiny] = [0.0, 1.0, f32::MIN_POSITIVE].map(|c| isa.splat_float(c));
    let shift = isa.below(x, tiny, isa.splat_float(24.0), zero);
    let [e, m] = isa.parts(isa.product(x, isa.power_of_two(shift)));
    let root = isa.splat_float(std::f32::consts::SQRT_2);
    let above = isa.below(root, m, one, zero);
    let e = isa.sum(isa.difference(e, shift), above);
    let m = isa.below(root, m, isa.product(m, isa.splat_float(0.5)), m);
    let (m, one) = (isa.widen(m), isa.splat_double(1.0));
    let s = isa.wide_quotient(isa.wide_difference(m, one), isa.wide_sum(m, one));
    let square = isa.wide_product(s, s);
    let mut sum = isa.splat_double(1.0 / 15.0);
    for c in [1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0] {
        sum = isa.wide_fma(sum, square, isa.splat_double(c));
    }
    let scale = isa.wide_product(s, isa.splat_double(2.0 / LN_2));
    isa.wide_fma(sum, scale, isa.widen(e))
}

/// The result, with the lanes other than positive numbers to a finite power computed with the definition.
#[inline(never)]
fn one_by_one(x: &F16x, y: &F16x, mut found: F16x) -> F16x {
    for ((found, x), y) in found.iter_mut().zip(x).zip(y) {
        if !(*x > 0.0 && *x < f32::INFINITY && y.is_finite()) {
            *found = math::pow(f64::from(*x), f64::from(*y)) as f32;
        }
    }
    found
}
