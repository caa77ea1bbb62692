//! Q5_0: a half-precision scale `d`, 32 fifth bits (bit i belongs to value i), 32 nibbles with values 0 to 15 in the
//! low ones; value = d (q - 16).

use super::{decode_blocks, half_at};

pub(crate) fn decode(bytes: &[u8], values: &mut [f32]) {
    decode_blocks(bytes, values, |b: &[u8; 22], v: &mut [f32; 32]| {
        let d = half_at(b, 0);
        let fifth = u32::from_le_bytes([b[2], b[3], b[4], b[5]]);
        let (low, high) = v.split_at_mut(16);
        for (i, ((low, high), &q)) in low.iter_mut().zip(high).zip(&b[6..]).enumerate() {
            let fifth = fifth >> i;
            *low = ((u32::from(q & 15) | (fifth & 1) << 4) as i32 - 16) as f32 * d;
            *high = ((u32::from(q >> 4) | (fifth >> 16 & 1) << 4) as i32 - 16) as f32 * d;
        }
    });
}
