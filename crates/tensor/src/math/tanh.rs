//! tanh x = (e^2x - 1) / (e^2x + 1) on pairs; near zero its Taylor series, which does not cancel.

use super::double::{fast_two_sum, power_of_two, two_product, two_sum};
use super::exp::exp_pair;

/// Taylor coefficients of x^3, x^5, .. over x: Bernoulli numbers, 2^2n (2^2n - 1) B_2n / (2n)!.
const SERIES: [f64; 9] = [
    -1.0 / 3.0,
    2.0 / 15.0,
    -17.0 / 315.0,
    62.0 / 2835.0,
    -1382.0 / 155_925.0,
    21_844.0 / 6_081_075.0,
    -929_569.0 / 638_512_875.0,
    6_404_582.0 / 10_854_718_875.0,
    -443_861_162.0 / 1_856_156_927_625.0,
];

/// The hyperbolic tangent of `x`.
pub fn tanh(x: f64) -> f64 {
    let a = x.abs();
    if a < 0.125 {
        let square = x * x;
        let series = SERIES.iter().rev().fold(0.0, |sum, c| sum * square + c);
        return (x + x * (square * series)).copysign(x);
    }
    if a > 22.0 {
        return 1f64.copysign(x); // 1 - 2 e^-44 rounds to 1
    }
    if x.is_nan() {
        return x;
    }
    let (hi, lo, k) = exp_pair(2.0 * a, 0.0);
    let (hi, lo) = (hi * power_of_two(k), lo * power_of_two(k));
    let (above, e1) = two_sum(hi, -1.0);
    let (above, above_lo) = fast_two_sum(above, e1 + lo);
    let (below, e2) = fast_two_sum(hi, 1.0);
    let (below, below_lo) = fast_two_sum(below, e2 + lo);
    let quotient = above / below;
    let (product, product_lo) = two_product(quotient, below);
    let rest = (above - product) - product_lo + above_lo - quotient * below_lo;
    (quotient + rest / below).copysign(x)
}
