//! IQ4_XS: a half-precision `d`, 16 bits with the upper two bits of eight scales, 4 bytes with their low nibbles, 128
//! bytes of nibbles that index the table of IQ4_NL; value = (d (scale - 32)) table[q].
//!
//! Each 32 values have 16 bytes: the first 16 values in the low nibbles, the others in the high ones.

use super::iq4_nl::TABLE;
use super::{decode_blocks, half_at};

pub(crate) fn decode(bytes: &[u8], values: &mut [f32]) {
    decode_blocks(bytes, values, |b: &[u8; 136], v: &mut [f32; 256]| {
        let d = half_at(b, 0);
        let uppers = u16::from_le_bytes([b[2], b[3]]);
        for (group, v) in v.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let low = b[4 + group / 2] >> (group % 2 * 4) & 15;
            let upper = (uppers >> (group * 2) & 3) as u8;
            let scale = d * f32::from((low | upper << 4) as i8 - 32);
            let (low, high) = v.split_at_mut(16);
            for ((low, high), &q) in low.iter_mut().zip(high).zip(&b[8 + group * 16..][..16]) {
                *low = scale * TABLE[usize::from(q & 15)];
                *high = scale * TABLE[usize::from(q >> 4)];
            }
        }
    });
}
