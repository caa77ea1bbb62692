//! x^y = e^(y ln x) with ln x and the product as pairs.

use super::double::{fast_two_sum, scale, two_product};
use super::exp::{FAR, exp_pair};
use super::ln::ln_pair;

/// `x` to the power of `y`; special cases as C99's `pow`.
pub fn pow(x: f64, y: f64) -> f64 {
    if y == 0.0 || x == 1.0 {
        return 1.0;
    }
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    let odd = is_odd(y);
    if x == 0.0 || x.is_infinite() {
        let size = if (x == 0.0) == (y < 0.0) { f64::INFINITY } else { 0.0 };
        return if odd { size.copysign(x) } else { size };
    }
    if x == -1.0 && (y.is_infinite() || !odd && y.trunc() == y) {
        return 1.0;
    }
    if y.is_infinite() {
        return if (x.abs() > 1.0) == (y > 0.0) { f64::INFINITY } else { 0.0 };
    }
    if x < 0.0 && y.trunc() != y {
        return f64::NAN;
    }
    let size = pow_positive(x.abs(), y);
    if x < 0.0 && odd { -size } else { size }
}

/// x^y of finite numbers, `x` positive.
fn pow_positive(x: f64, y: f64) -> f64 {
    const TINY: f64 = 1.0 / (1u128 << 70) as f64;
    const HUGE: f64 = (1u128 << 66) as f64;
    if x == 1.0 || y.abs() < TINY {
        return 1.0; // |ln x| < 746
    }
    let out_of_range = |large: bool| if large { f64::INFINITY } else { 0.0 };
    if y.abs() > HUGE {
        return out_of_range((x > 1.0) == (y > 0.0)); // |ln x| >= 2^-53
    }
    let (hi, lo) = ln_pair(x);
    let (product, error) = two_product(y, hi);
    let (exponent, error) = fast_two_sum(product, error + y * lo);
    if exponent.abs() > FAR {
        return out_of_range(exponent > 0.0);
    }
    let (hi, lo, k) = exp_pair(exponent, error);
    scale(hi + lo, k)
}

/// Whether `y` is an odd integer. From 2^53 on all numbers are even.
fn is_odd(y: f64) -> bool {
    const ALL_EVEN: f64 = (1u64 << 53) as f64;
    y.abs() < ALL_EVEN && y.trunc() == y && y as i64 % 2 != 0
}
