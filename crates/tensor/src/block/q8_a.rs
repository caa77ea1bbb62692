//! Q8_A: 32 signed bytes `q`, a single-precision scale `d`, and the sum of the `q` as 32 bits; value = d q.
//!
//! Encoding: `d = max |x| / 127`, `q = x * (127 / max |x|)` rounded to nearest, ties to even. A group with a NaN or an
//! infinity has the scale NaN and `q` of 0, so that the fault shows; one whose largest value is too small for a finite
//! `127 / max |x|` has the scale 0.

use super::{decode_blocks, encode_blocks};

pub(super) const BYTES: usize = 40;
pub(super) const VALUES: usize = 32;

pub(crate) fn decode(bytes: &[u8], values: &mut [f32]) {
    decode_blocks(bytes, values, |b: &[u8; BYTES], v: &mut [f32; VALUES]| {
        let d = f32::from_le_bytes([b[32], b[33], b[34], b[35]]);
        for (v, &q) in v.iter_mut().zip(&b[..VALUES]) {
            *v = f32::from(q as i8) * d;
        }
    });
}

pub(crate) fn encode(values: &[f32], bytes: &mut [u8]) {
    encode_blocks(values, bytes, |v: &[f32; VALUES], b: &mut [u8; BYTES]| group(v, scale(v), b));
}

/// The scale of some values and its inverse, which is 0 where all of them become 0.
pub(super) fn scale(values: &[f32]) -> (f32, f32) {
    let finite = values.iter().fold(true, |all, x| all & x.is_finite());
    let largest = values.iter().fold(0f32, |m, x| if x.abs() > m { x.abs() } else { m });
    let inverse = 127.0 / largest;
    match (finite, inverse.is_finite()) {
        (false, _) => (f32::NAN, 0.0),
        (true, false) => (0.0, 0.0),
        (true, true) => (largest / 127.0, inverse),
    }
}

/// One group with this scale.
pub(super) fn group(values: &[f32; VALUES], (d, inverse): (f32, f32), b: &mut [u8; BYTES]) {
    let mut sum = 0i32;
    for (b, x) in b.iter_mut().zip(values) {
        // A NaN, as of an infinity times 0, becomes 0.
        let q = round_ties_even(x * inverse).clamp(-127.0, 127.0) as i8;
        sum += i32::from(q);
        *b = q as u8;
    }
    b[32..36].copy_from_slice(&d.to_le_bytes());
    b[36..].copy_from_slice(&sum.to_le_bytes());
}

/// Rounds values far below 2^22 to the nearest integer, ties to even: adding this constant rounds to an integer.
#[inline(always)]
fn round_ties_even(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23
    (x + ROUND) - ROUND
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(values: [f32; VALUES]) -> ([i8; VALUES], f32, i32) {
        let mut b = [0u8; BYTES];
        encode(&values, &mut b);
        let word = |at: usize| [b[at], b[at + 1], b[at + 2], b[at + 3]];
        (std::array::from_fn(|i| b[i] as i8), f32::from_le_bytes(word(32)), i32::from_le_bytes(word(36)))
    }

    #[test]
    fn values_are_rounded_to_even_by_the_largest() {
        let mut values = [0.0; VALUES];
        values[..5].copy_from_slice(&[-127.0, 0.5, 1.5, 2.5, -3.49]);
        let (q, d, sum) = encoded(values);
        assert_eq!((&q[..6], d, sum), (&[-127, 0, 2, 2, -3, 0][..], 1.0, -126));
        let mut decoded = [9.0; VALUES];
        let mut b = [0u8; BYTES];
        encode(&values, &mut b);
        decode(&b, &mut decoded);
        assert_eq!(decoded[..4], [-127.0, 0.0, 2.0, 2.0]);
    }

    #[test]
    fn rounding_is_that_of_the_standard_library() {
        for i in -1270..=1270 {
            let x = i as f32 / 10.0;
            assert_eq!(round_ties_even(x), x.round_ties_even(), "{x}");
        }
    }

    #[test]
    fn what_is_no_number_shows_and_what_is_tiny_is_zero() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut values = [1.0; VALUES];
            values[7] = bad;
            let (q, d, sum) = encoded(values);
            assert!(d.is_nan() && q == [0; VALUES] && sum == 0, "{bad}");
        }
        assert_eq!(encoded([1e-40; VALUES]), ([0; VALUES], 0.0, 0));
        assert_eq!(encoded([0.0; VALUES]), ([0; VALUES], 0.0, 0));
    }
}
