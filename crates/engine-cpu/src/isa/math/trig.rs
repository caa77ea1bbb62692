//! sin and cos: angles are reduced to |r| <= pi / 4 in doubles, so that accuracy does not fall with their size; then
//! Taylor's series in single precision.

use crate::isa::{F16x, Floats, LANES};
use inkstone_tensor::math;

/// Adding it rounds to an integer: 1.5 * 2^52.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// pi / 2 as the nearest double and its rounding error.
const HALF_PI: [f64; 2] = [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17];
/// The largest argument with an accurate reduction; larger ones are computed one by one.
const LARGEST: f64 = (1u64 << 30) as f64;

/// Sine and cosine of 16 angles in radians, with errors below 1.5 units in the last place of a float.
#[inline(always)]
pub(crate) fn sin_cos<I: Floats>(isa: I, angles: &[f64; LANES]) -> [I::F; 2] {
    let x = isa.doubles(angles);
    let quadrants = nearest(isa, isa.wide_product(x, isa.splat_double(std::f64::consts::FRAC_2_PI)));
    let [hi, lo] = HALF_PI.map(|c| isa.splat_double(-c));
    let r = isa.narrow(isa.wide_fma(quadrants, lo, isa.wide_fma(quadrants, hi, x)));
    // The quadrant modulo 4: -2 ..= 2.
    let fours = nearest(isa, isa.wide_product(quadrants, isa.splat_double(0.25)));
    let q = isa.narrow(isa.wide_fma(fours, isa.splat_double(-4.0), quadrants));

    let square = isa.product(r, r);
    let mut sin = isa.splat_float(1.0 / 362_880.0);
    for c in [-1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0] {
        sin = isa.fma(sin, square, isa.splat_float(c));
    }
    // Zero keeps its sign.
    let sin = isa.with_sign(isa.fma(isa.product(sin, square), r, r), r);
    let mut cos = isa.splat_float(-1.0 / 3_628_800.0);
    for c in [1.0 / 40_320.0, -1.0 / 720.0, 1.0 / 24.0, -0.5, 1.0] {
        cos = isa.fma(cos, square, isa.splat_float(c));
    }

    // Odd quadrants swap the two. The sine is negative in quadrants -1 and +-2, the cosine in 1 and +-2.
    let [zero, half, large] = [0.0, 0.5, 1.5].map(|c| isa.splat_float(c));
    let size = isa.abs(q);
    let odd = isa.below(isa.abs(isa.difference(size, isa.splat_float(1.0))), half, half, zero);
    let (s, c) = (isa.below(zero, odd, cos, sin), isa.below(zero, odd, sin, cos));
    let far = isa.below(large, size, half, zero);
    let sin_negative = isa.below(q, isa.difference(zero, half), half, far);
    let cos_negative = isa.below(half, q, half, far);
    let s = isa.below(zero, sin_negative, isa.difference(zero, s), s);
    let c = isa.below(zero, cos_negative, isa.difference(zero, c), c);
    let mut plain = true;
    for angle in angles {
        plain &= angle.abs() <= LARGEST;
    }
    if plain { [s, c] } else { one_by_one(angles, [isa.lanes(s), isa.lanes(c)]).map(|lanes| isa.floats(&lanes)) }
}

/// Rounds values far below 2^51 to the nearest integer.
#[inline(always)]
fn nearest<I: Floats>(isa: I, x: I::D) -> I::D {
    let by = isa.splat_double(ROUND);
    isa.wide_difference(isa.wide_sum(x, by), by)
}

/// With the lanes whose angles are too large, or no numbers, done by definition.
#[inline(never)]
fn one_by_one(angles: &[f64; LANES], [mut sins, mut cosines]: [F16x; 2]) -> [F16x; 2] {
    for ((sin, cos), angle) in sins.iter_mut().zip(&mut cosines).zip(angles) {
        if angle.is_nan() || angle.abs() > LARGEST {
            let (s, c) = math::sin_cos(*angle);
            (*sin, *cos) = (s as f32, c as f32);
        }
    }
    [sins, cosines]
}
