//! Q5_1: half-precision scale `d` and minimum `m`, 32 fifth bits (bit i belongs to value i), 32 nibbles with values 0
//! to 15 in the low ones; value = d q + m.

use super::{decode_blocks, half_at};

pub(crate) fn decode(bytes: &[u8], values: &mut [f32]) {
    decode_blocks(bytes, values, |b: &[u8; 24], v: &mut [f32; 32]| {
        let (d, m) = (half_at(b, 0), half_at(b, 2));
        let fifth = u32::from_le_bytes([b[4], b[5], b[6], b[7]]);
        let (low, high) = v.split_at_mut(16);
        for (i, ((low, high), &q)) in low.iter_mut().zip(high).zip(&b[8..]).enumerate() {
            let fifth = fifth >> i;
            *low = (u32::from(q & 15) | (fifth & 1) << 4) as f32 * d + m;
            *high = (u32::from(q >> 4) | (fifth >> 16 & 1) << 4) as f32 * d + m;
        }
    });
}
