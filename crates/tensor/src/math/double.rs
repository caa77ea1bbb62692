//! Sums and products with their rounding errors (Dekker 1971, Knuth, TAOCP 4.2.2): a pair of numbers is a value of
//! about 106 bits.

/// `a + b` as the rounded sum and its rounding error.
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    let of_a = sum - of_b;
    (sum, (a - of_a) + (b - of_b))
}

/// [`two_sum`] where `a` is zero or not smaller than `b` in magnitude.
#[inline(always)]
pub(super) fn fast_two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// `a` as an upper part of 26 bits and the rest. `|a|` is below 2^996.
#[inline(always)]
fn split(a: f64) -> (f64, f64) {
    let c = 134_217_729.0 * a; // 2^27 + 1
    let upper = c - (c - a);
    (upper, a - upper)
}

/// `a * b` as the rounded product and its rounding error. Both must be below 2^996, and the product not close to
/// subnormal.
#[inline(always)]
pub(super) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    let (a1, a0) = split(a);
    let (b1, b0) = split(b);
    (product, ((a1 * b1 - product) + a1 * b0 + a0 * b1) + a0 * b0)
}

/// 2^k for k in -1022 ..= 1023.
#[inline(always)]
pub(super) fn power_of_two(k: i32) -> f64 {
    f64::from_bits(((1023 + k) as u64) << 52)
}

/// `x * 2^k` for k in -2000 ..= 2000, rounded once.
#[inline(always)]
pub(super) fn scale(x: f64, k: i32) -> f64 {
    if (-1022..=1023).contains(&k) {
        x * power_of_two(k)
    } else {
        // The first product is exact.
        let first = k.clamp(-969, 1023);
        x * power_of_two(first) * power_of_two((k - first).clamp(-1022, 1023))
    }
}
