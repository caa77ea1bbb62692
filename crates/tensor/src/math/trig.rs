//! sin and cos: the angle is reduced to a multiple of pi/2 and a rest by integer arithmetic with the bits of 2/pi
//! (Payne and Hanek 1983), exact for every finite number; then Taylor polynomials on |rest| <= pi/4.

use super::double::{fast_two_sum, power_of_two, two_product};
use super::tables::{HALF_PI_HI, HALF_PI_LO, TWO_OVER_PI};
use std::f64::consts::FRAC_PI_4;

/// The sine of `x` radians; NaN for infinities.
pub fn sin(x: f64) -> f64 {
    sin_cos(x).0
}

/// The cosine of `x` radians; NaN for infinities.
pub fn cos(x: f64) -> f64 {
    sin_cos(x).1
}

/// Sine and cosine of `x` radians, by one reduction.
pub fn sin_cos(x: f64) -> (f64, f64) {
    if !x.is_finite() {
        return (f64::NAN, f64::NAN);
    }
    let a = x.abs();
    let (quadrant, rest, rest_lo) = if a <= FRAC_PI_4 { (0, a, 0.0) } else { reduce(a) };
    let (s, c) = (sin_kernel(rest, rest_lo), cos_kernel(rest, rest_lo));
    let (s, c) = match quadrant {
        0 => (s, c),
        1 => (c, -s),
        2 => (-s, -c),
        _ => (-c, s),
    };
    (if x.is_sign_negative() { -s } else { s }, c)
}

/// `x` as quadrant * pi/2 + (rest, rest_lo), quadrant modulo 4, |rest| <= pi/4. `x` is finite and at least pi/4.
fn reduce(x: f64) -> (u32, f64, f64) {
    let bits = x.to_bits();
    let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
    let exponent = (bits >> 52) as i32 - 1075; // x = mantissa * 2^exponent, -53 <= exponent <= 971
    // Bits of 2/pi of weight 2^(2 - exponent) and above give multiples of 4. 192 bits from there on leave an error of
    // 2^-137 quadrants, and no double is nearer than 2^-62 to a multiple of pi/2. The table has 64 zeros in front.
    let start = (exponent + 62) as usize; // 9 ..= 1033
    let (word, shift) = (start / 64, start % 64);
    let window = |i: usize| {
        let pair = u128::from(TWO_OVER_PI[word + i]) << 64 | u128::from(TWO_OVER_PI[word + i + 1]);
        (pair << shift >> 64) as u64
    };
    let product = |w: u64| u128::from(mantissa) * u128::from(w);
    let low = product(window(2));
    let middle = product(window(1)) + (low >> 64);
    let high = (product(window(0)) as u64).wrapping_add((middle >> 64) as u64);
    // The product modulo 4: two bits of quadrant, then the fraction, whose first 128 bits read as a signed number
    // round to the nearest quadrant.
    let fraction = u128::from(high) << 66 | (middle as u64 as u128) << 2 | (low as u64 >> 62) as u128;
    let signed = fraction as i128;
    let quadrant = ((high >> 62) as u32 + u32::from(signed < 0)) % 4;
    let magnitude = signed.unsigned_abs();
    let zeros = magnitude.leading_zeros() as i32;
    if zeros >= 128 {
        return (quadrant, 0.0, 0.0);
    }
    let normal = magnitude << zeros;
    let sign = if signed < 0 { -1.0 } else { 1.0 };
    let unit = sign * power_of_two(-53 - zeros);
    let hi = (normal >> 75) as u64 as f64 * unit;
    let lo = (normal >> 22 & ((1 << 53) - 1)) as u64 as f64 * (unit * power_of_two(-53));
    let (rest, error) = two_product(hi, HALF_PI_HI);
    let (rest, rest_lo) = fast_two_sum(rest, error + (hi * HALF_PI_LO + lo * HALF_PI_HI));
    (quadrant, rest, rest_lo)
}

/// 1/n! with its sign, from x^3 on.
const SIN: [f64; 8] = [
    -1.0 / 6.0,
    1.0 / 120.0,
    -1.0 / 5040.0,
    1.0 / 362_880.0,
    -1.0 / 39_916_800.0,
    1.0 / 6_227_020_800.0,
    -1.0 / 1_307_674_368_000.0,
    1.0 / 355_687_428_096_000.0,
];

/// 1/n! with its sign, from x^4 on.
const COS: [f64; 8] = [
    1.0 / 24.0,
    -1.0 / 720.0,
    1.0 / 40_320.0,
    -1.0 / 3_628_800.0,
    1.0 / 479_001_600.0,
    -1.0 / 87_178_291_200.0,
    1.0 / 20_922_789_888_000.0,
    -1.0 / 6_402_373_705_728_000.0,
];

#[inline(always)]
fn series(coefficients: &[f64; 8], square: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * square + c)
}

/// sin(x + lo) = x + (x^3 (-1/6 + ..) + lo (1 - x^2/2)).
fn sin_kernel(x: f64, lo: f64) -> f64 {
    let square = x * x;
    x + (x * (square * series(&SIN, square)) + lo * (1.0 - 0.5 * square))
}

/// cos(x + lo) = 1 - x^2/2 + (x^4 (1/24 - ..) - x lo), the first difference with its rounding error.
fn cos_kernel(x: f64, lo: f64) -> f64 {
    let square = x * x;
    let (first, error) = fast_two_sum(1.0, -0.5 * square);
    first + (error + (square * square * series(&COS, square) - x * lo))
}
