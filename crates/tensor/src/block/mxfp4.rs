//! MXFP4 (OCP Microscaling Formats 1.0): an exponent byte `e` and 32 nibbles, values 0 to 15 in the low ones, each a
//! number of 4-bit floating point (E2M1); value = 2^(e - 127) number.
//!
//! As in ggml, the exponent 255 is a number like the others, not a NaN, and -0 decodes to +0.

use super::decode_blocks;

/// Twice the E2M1 numbers, so that the scale below is half of the format's.
static TWICE: [f32; 16] = [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 0.0, -1.0, -2.0, -3.0, -4.0, -6.0, -8.0, -12.0];

pub(crate) fn decode(bytes: &[u8], values: &mut [f32]) {
    decode_blocks(bytes, values, |b: &[u8; 17], v: &mut [f32; 32]| {
        let scale = half_scale(b[0]);
        let (low, high) = v.split_at_mut(16);
        for ((low, high), &q) in low.iter_mut().zip(high).zip(&b[1..]) {
            *low = TWICE[usize::from(q & 15)] * scale;
            *high = TWICE[usize::from(q >> 4)] * scale;
        }
    });
}

/// 2^(e - 128); subnormal for the two smallest exponents.
fn half_scale(e: u8) -> f32 {
    f32::from_bits(match e {
        0 | 1 => 0x0020_0000 << e,
        _ => u32::from(e - 1) << 23,
    })
}
