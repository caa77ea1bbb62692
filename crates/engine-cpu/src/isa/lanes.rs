//! 16 lanes of f32, and what kernels do with them. Operations are those that IEEE 754 rounds exactly; the order of sums
//! is fixed, so every set gives the same bits.

/// Lanes that all kernels count in, whatever the registers hold.
pub const LANES: usize = 16;

/// 16 values of f32.
pub type F16x = [f32; LANES];

/// The sum of all lanes: +8, +4, +2, +1.
#[inline(always)]
pub fn fold_sum(mut lanes: F16x) -> f32 {
    for half in [8, 4, 2, 1] {
        for i in 0..half {
            lanes[i] += lanes[i + half];
        }
    }
    lanes[0]
}

/// A sum over `x` in 16 lanes, element i in lane i mod 16, folded at the end; `add` takes a lane's sum and an element.
#[inline(always)]
pub fn sum_lanes(x: &[f32], add: impl Fn(f32, f32) -> f32) -> f32 {
    let mut sums = [0f32; LANES];
    let (chunks, tail) = x.as_chunks::<LANES>();
    for x in chunks {
        for (sum, x) in sums.iter_mut().zip(x) {
            *sum = add(*sum, *x);
        }
    }
    for (sum, x) in sums.iter_mut().zip(tail) {
        *sum = add(*sum, *x);
    }
    fold_sum(sums)
}

/// The largest lane; a NaN is passed over, and of two zeros the first counts.
#[inline(always)]
pub fn fold_max(lanes: F16x) -> f32 {
    lanes.iter().fold(f32::NEG_INFINITY, |max, x| if *x > max { *x } else { max })
}

/// e to the power of `x`, with an error below 1.5 units in the last place; 0 where the result would be subnormal, NaN
/// for NaN.
///
/// x = n ln 2 + r with |r| <= ln 2 / 2, and e^r by a polynomial.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23: adding it rounds to an integer, which its low bits hold.
    const LN2_HI: f32 = 0.693_359_4; // 9 bits, so that n times it is exact
    const LN2_LO: f32 = -2.121_944_4e-4;
    let clamped = if x > 89.0 { 89.0 } else { x };
    let clamped = if clamped < -88.0 { -88.0 } else { clamped };
    let shifted = clamped * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = n.mul_add(-LN2_LO, n.mul_add(-LN2_HI, clamped));
    // Taylor's series up to r^7.
    let mut p = 1.0f32 / 5040.0;
    for c in [1.0f32 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        p = p.mul_add(r, c);
    }
    // 2^n in two steps: n is 128 at most, beyond one exponent.
    let n = shifted.to_bits().wrapping_sub(ROUND.to_bits()) as i32;
    let half = n >> 1;
    let power = |n: i32| f32::from_bits(((127 + n) as u32) << 23);
    let y = p * power(half) * power(n - half);
    let y = if x < -87.0 { 0.0 } else { y };
    if x.is_nan() { x } else { y }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_within_its_bound_over_its_range() {
        let mut worst = 0f64;
        for bits in (0..=0x42b2_0000u32).step_by(101) {
            for x in [f32::from_bits(bits), -f32::from_bits(bits)] {
                if x < -87.0 {
                    continue;
                }
                let (found, wanted) = (f64::from(exp(x)), inkstone_tensor::math::exp(f64::from(x)));
                if wanted > f64::from(f32::MAX) {
                    assert!(found.is_infinite(), "{x}: {found}");
                    continue;
                }
                let ulp = f64::from(f32::from_bits((wanted as f32).to_bits() + 1)) - f64::from(wanted as f32);
                worst = worst.max((found - wanted).abs() / ulp);
            }
        }
        assert!(worst < 1.5, "{worst} ulp");
    }

    #[test]
    fn the_exponential_has_its_special_cases() {
        assert_eq!([exp(0.0), exp(-0.0), exp(f32::INFINITY), exp(100.0)], [1.0, 1.0, f32::INFINITY, f32::INFINITY]);
        assert_eq!([exp(f32::NEG_INFINITY), exp(-1e9), exp(-87.5)], [0.0; 3]);
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn folds_have_their_order() {
        let mut lanes = [0.0; LANES];
        (lanes[0], lanes[8], lanes[1]) = (1e8, -1e8, 1.0);
        assert_eq!(fold_sum(lanes), 1.0);
        (lanes[0], lanes[8], lanes[1]) = (1e8, 1.0, -1e8);
        assert_eq!(fold_sum(lanes), 0.0);
    }
}
