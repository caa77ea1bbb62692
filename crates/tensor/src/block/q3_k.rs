//! Q3_K: 32 bytes of third bits, 64 bytes of 2-bit `q`, 12 bytes with 16 scales of 6 bits, a half-precision `d`;
//! value = (d (scale - 32)) (q - 4), where `q` has its third bit.
//!
//! The 2-bit parts are stored as in Q2_K. Bit j of byte i of the third bits belongs to value 32 j + i. Scale j has its
//! low nibble in byte j (its low half for j < 8, else the high half of byte j - 8) and its upper two bits in byte 8 + j
//! mod 4.

use super::{decode_blocks, half_at};

pub(crate) fn decode(bytes: &[u8], values: &mut [f32]) {
    decode_blocks(bytes, values, |b: &[u8; 110], v: &mut [f32; 256]| {
        let d = half_at(b, 108);
        let scales = &b[96..108];
        for (group, v) in v.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let (half, shift, side) = (group / 8, group / 2 % 4 * 2, group % 2);
            let low = scales[group % 8] >> (group / 8 * 4) & 15;
            let upper = scales[8 + group % 4] >> (group / 4 * 2) & 3;
            let scale = d * f32::from((low | upper << 4) as i8 - 32);
            let quants = &b[32 + half * 32 + side * 16..][..16];
            let thirds = &b[side * 16..][..16];
            for ((v, &q), &third) in v.iter_mut().zip(quants).zip(thirds) {
                let q = q >> shift & 3 | (third >> (group / 2) & 1) << 2;
                *v = scale * f32::from(q as i8 - 4);
            }
        }
    });
}
