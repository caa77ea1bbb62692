//! IQ4_NL: a half-precision scale `d` and 32 nibbles that index a table of 16 values, values 0 to 15 in the low ones;
//! value = d table[q].

use super::{decode_blocks, half_at};

/// The values that a nibble of IQ4_NL and IQ4_XS stands for: denser around zero, as weights are.
pub(super) static TABLE: [f32; 16] =
    [-127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0, 1.0, 13.0, 25.0, 38.0, 53.0, 69.0, 89.0, 113.0];

pub(crate) fn decode(bytes: &[u8], values: &mut [f32]) {
    decode_blocks(bytes, values, |b: &[u8; 18], v: &mut [f32; 32]| {
        let d = half_at(b, 0);
        let (low, high) = v.split_at_mut(16);
        for ((low, high), &q) in low.iter_mut().zip(high).zip(&b[2..]) {
            *low = d * TABLE[usize::from(q & 15)];
            *high = d * TABLE[usize::from(q >> 4)];
        }
    });
}
