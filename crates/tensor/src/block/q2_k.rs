//! Q2_K: 16 bytes with the scale (low nibble) and minimum (high nibble) of 16 values each, 64 bytes of 2-bit `q`, then
//! half-precision `d` and `m`; value = (d scale) q - (m minimum).
//!
//! Each half of 128 values has 32 bytes: byte i holds the values i, i + 32, i + 64, i + 96 from the low bits up.

use super::{decode_blocks, half_at};

pub(crate) fn decode(bytes: &[u8], values: &mut [f32]) {
    decode_blocks(bytes, values, |b: &[u8; 84], v: &mut [f32; 256]| {
        let (d, m) = (half_at(b, 80), half_at(b, 82));
        for (group, (v, &scale)) in v.as_chunks_mut::<16>().0.iter_mut().zip(&b[..16]).enumerate() {
            let (half, shift, side) = (group / 8, group / 2 % 4 * 2, group % 2);
            let quants = &b[16 + half * 32 + side * 16..][..16];
            let (scale, minimum) = (d * f32::from(scale & 15), m * f32::from(scale >> 4));
            for (v, &q) in v.iter_mut().zip(quants) {
                *v = scale * f32::from(q >> shift & 3) - minimum;
            }
        }
    });
}
