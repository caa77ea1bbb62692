//! Q4_K: half-precision `d` and `m`, 12 bytes with eight scales and minima of 6 bits (see `scales`), 128 bytes of
//! nibbles `q`; value = (d scale) q - (m minimum).
//!
//! Each 64 values have 32 bytes: the first 32 values in the low nibbles, the others in the high ones.

use super::scales::scale_and_minimum;
use super::{decode_blocks, half_at};

pub(crate) fn decode(bytes: &[u8], values: &mut [f32]) {
    decode_blocks(bytes, values, |b: &[u8; 144], v: &mut [f32; 256]| {
        let (d, m) = (half_at(b, 0), half_at(b, 2));
        for (group, v) in v.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let (scale, minimum) = scale_and_minimum(b, group);
            let (scale, minimum) = (d * scale, m * minimum);
            let shift = group % 2 * 4;
            for (v, &q) in v.iter_mut().zip(&b[16 + group / 2 * 32..][..32]) {
                *v = scale * f32::from(q >> shift & 15) - minimum;
            }
        }
    });
}
