//! e^x: x = (32 k + j) ln 2 / 32 + r, so e^x = 2^k 2^(j/32) e^r with a table of 32 and a Taylor polynomial.

use super::double::scale;
use super::tables::{EXP2, INV_LN2_32, LN2_32_HI, LN2_32_LO};

/// Beyond this the result is infinite or zero; up to it every step of [`exp_pair`] is in range.
pub(super) const FAR: f64 = 746.0;

/// e to the power of `x`.
pub fn exp(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x.abs() > FAR {
        return if x > 0.0 { f64::INFINITY } else { 0.0 };
    }
    let (hi, lo, k) = exp_pair(x, 0.0);
    scale(hi + lo, k)
}

/// e^(x + x_lo) as (hi, lo, k) with the value (hi + lo) 2^k, hi in 1 .. 2. `|x|` is at most [`FAR`] and `|x_lo|` half an ulp of it.
#[inline(always)]
pub(super) fn exp_pair(x: f64, x_lo: f64) -> (f64, f64, i32) {
    // Adding this constant rounds to an integer and leaves it in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
    let shifted = x * INV_LN2_32 + ROUND;
    let n = shifted - ROUND;
    let index = shifted.to_bits() as i32;
    let (j, k) = (index & 31, index >> 5);
    // The first difference is exact. |r| <= ln 2 / 64.
    let r = (x - n * LN2_32_HI) + (x_lo - n * LN2_32_LO);
    // e^r - 1 by Taylor's series; the first term left out is below 2^-61.
    let tail = 1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0))));
    let p = r + r * r * (0.5 + r * tail);
    let (hi, lo) = EXP2[j as usize];
    let (hi, lo) = (f64::from_bits(hi), f64::from_bits(lo));
    (hi, lo + hi * p, k)
}
