//! Q4_1: half-precision scale `d` and minimum `m`, 32 nibbles `q`, values 0 to 15 in the low ones; value = d q + m.

use super::{decode_blocks, half_at};

pub(crate) fn decode(bytes: &[u8], values: &mut [f32]) {
    decode_blocks(bytes, values, |b: &[u8; 20], v: &mut [f32; 32]| {
        let (d, m) = (half_at(b, 0), half_at(b, 2));
        let (low, high) = v.split_at_mut(16);
        for ((low, high), &q) in low.iter_mut().zip(high).zip(&b[4..]) {
            *low = f32::from(q & 15) * d + m;
            *high = f32::from(q >> 4) * d + m;
        }
    });
}
