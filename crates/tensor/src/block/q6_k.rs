//! Q6_K: 128 bytes of nibbles, 64 bytes of upper two bits, 16 signed scales of 16 values each, a half-precision `d`;
//! value = (d scale) (q - 32).
//!
//! Each half of 128 values has 64 bytes of nibbles: the values 0 to 63 in their low halves, 64 to 127 in their high
//! ones; and 32 bytes of upper bits: byte i holds the upper bits of the values i, i + 32, i + 64, i + 96 from the low
//! bits up.

use super::{decode_blocks, half_at};

pub(crate) fn decode(bytes: &[u8], values: &mut [f32]) {
    decode_blocks(bytes, values, |b: &[u8; 210], v: &mut [f32; 256]| {
        let d = half_at(b, 208);
        for (group, (v, &scale)) in v.as_chunks_mut::<16>().0.iter_mut().zip(&b[192..208]).enumerate() {
            let (half, quarter, side) = (group / 8, group / 2 % 4, group % 2);
            let scale = d * f32::from(scale as i8);
            let nibbles = &b[half * 64 + quarter % 2 * 32 + side * 16..][..16];
            let uppers = &b[128 + half * 32 + side * 16..][..16];
            for ((v, &q), &upper) in v.iter_mut().zip(nibbles).zip(uppers) {
                let q = q >> (quarter / 2 * 4) & 15 | (upper >> (quarter * 2) & 3) << 4;
                *v = scale * f32::from(q as i8 - 32);
            }
        }
    });
}
