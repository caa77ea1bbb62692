//! ln x: x = 2^k m; a table has c near 1/m and ln c; ln x = k ln 2 - ln c + ln(1 + r) with r = m c - 1, below 2^-7.

use super::double::{fast_two_sum, two_product, two_sum};
use super::tables::{LN, LN2_HI, LN2_LO};

/// The natural logarithm of `x`: NaN for negative numbers, -infinity for both zeros.
pub fn ln(x: f64) -> f64 {
    if x.is_nan() || x == f64::INFINITY {
        return x;
    }
    if x <= 0.0 {
        return if x == 0.0 { f64::NEG_INFINITY } else { f64::NAN };
    }
    let (hi, lo) = ln_pair(x);
    hi + lo
}

/// ln x of a positive finite number as a pair with a relative error below 2^-66.
#[inline(always)]
pub(super) fn ln_pair(x: f64) -> (f64, f64) {
    const MANTISSA: u64 = (1 << 52) - 1;
    const ONE: u64 = 1023 << 52;
    let (x, shift) = if x < f64::MIN_POSITIVE { (x * 18_014_398_509_481_984.0, 54) } else { (x, 0) }; // 2^54
    let bits = x.to_bits();
    let mut k = (bits >> 52) as i32 - 1023 - shift;
    let mut m = f64::from_bits(bits & MANTISSA | ONE);
    if m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        k += 1;
    }
    // m is in 0.707 ..= 1.4143, so the index is in 91 ..= 181; the table begins at 90.
    let (c, ln_hi, ln_lo) = LN[(m * 128.0 + 0.5) as usize - 90];
    let c = f64::from_bits(c);
    // Both products are exact, as c has 10 bits; so is the difference.
    let m_hi = f64::from_bits(m.to_bits() & !0x7ff_ffff);
    let (r, r_lo) = two_sum(m_hi * c - 1.0, (m - m_hi) * c);
    // ln(1 + r) = r - r^2/2 + r^3 (1/3 - r/4 + ..)
    let (half_square, half_square_lo) = two_product(r, r * 0.5);
    let inner = 1.0 / 7.0 - r * (1.0 / 8.0 - r * (1.0 / 9.0 - r * (1.0 / 10.0)));
    let cubic = r * r * r * (1.0 / 3.0 - r * (1.0 / 4.0 - r * (1.0 / 5.0 - r * (1.0 / 6.0 - r * inner))));
    let k = f64::from(k);
    let (sum, e1) = two_sum(k * LN2_HI, f64::from_bits(ln_hi));
    let (sum, e2) = two_sum(sum, r);
    let (sum, e3) = two_sum(sum, -half_square);
    let small = k * LN2_LO + f64::from_bits(ln_lo) + (r_lo - r * r_lo) - half_square_lo;
    fast_two_sum(sum, e1 + e2 + e3 + (small + cubic))
}
