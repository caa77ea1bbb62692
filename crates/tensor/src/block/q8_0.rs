//! Q8_0: a half-precision scale `d` and 32 signed bytes `q`; value = d q.
//!
//! Encoding: `d = max |x| / 127`, `q = x / d` rounded to nearest, ties away from zero, by the unrounded `d`.

use super::{decode_blocks, encode_blocks, half_at};

const BYTES: usize = 34;
const VALUES: usize = 32;

pub(crate) fn decode(bytes: &[u8], values: &mut [f32]) {
    decode_blocks(bytes, values, |b: &[u8; BYTES], v: &mut [f32; VALUES]| {
        let d = half_at(b, 0);
        for (v, &q) in v.iter_mut().zip(&b[2..]) {
            *v = f32::from(q as i8) * d;
        }
    });
}

pub(crate) fn encode(values: &[f32], bytes: &mut [u8]) {
    encode_blocks(values, bytes, |v: &[f32; VALUES], b: &mut [u8; BYTES]| {
        let largest = v.iter().fold(0f32, |m, x| m.max(x.abs()));
        let d = largest / 127.0;
        let inverse = if d == 0.0 { 0.0 } else { 1.0 / d };
        let (scale, quants) = b.split_at_mut(2);
        scale.copy_from_slice(&half::f16::from_f32(d).to_le_bytes());
        for (q, x) in quants.iter_mut().zip(v) {
            *q = round_away(x * inverse) as u8;
        }
    });
}

/// Rounds to the nearest integer, ties away from zero. NaN becomes 0, and values out of range become the nearest bound.
#[inline(always)]
fn round_away(x: f32) -> i8 {
    // The largest number below a half: a half itself would round its predecessor up to 1.
    const BELOW_HALF: f32 = f32::from_bits(0x3eff_ffff);
    (x + BELOW_HALF.copysign(x)) as i8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_that_of_the_standard_library_and_saturates() {
        for bits in (0..=0x4300_0000u32).step_by(997).chain([0x3eff_ffff, 0x3f00_0000, 0x3fc0_0000, 0x42fd_0000]) {
            for x in [f32::from_bits(bits), -f32::from_bits(bits)] {
                assert_eq!(round_away(x), x.round() as i8, "{x}");
            }
        }
        assert_eq!([f32::NAN, f32::INFINITY, -1e9].map(round_away), [0, 127, -128]);
    }
}
