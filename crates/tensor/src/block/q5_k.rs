//! Q5_K: half-precision `d` and `m`, 12 bytes with eight scales and minima of 6 bits (see `scales`), 32 bytes of fifth
//! bits, 128 bytes of nibbles; value = (d scale) q - (m minimum).
//!
//! The nibbles are stored as in Q4_K. Bit j of byte i of the fifth bits belongs to value 32 j + i.

use super::scales::scale_and_minimum;
use super::{decode_blocks, half_at};

pub(crate) fn decode(bytes: &[u8], values: &mut [f32]) {
    decode_blocks(bytes, values, |b: &[u8; 176], v: &mut [f32; 256]| {
        let (d, m) = (half_at(b, 0), half_at(b, 2));
        for (group, v) in v.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let (scale, minimum) = scale_and_minimum(b, group);
            let (scale, minimum) = (d * scale, m * minimum);
            let shift = group % 2 * 4;
            for ((v, &q), &fifth) in v.iter_mut().zip(&b[48 + group / 2 * 32..][..32]).zip(&b[16..48]) {
                *v = scale * f32::from(q >> shift & 15 | (fifth >> group & 1) << 4) - minimum;
            }
        }
    });
}
