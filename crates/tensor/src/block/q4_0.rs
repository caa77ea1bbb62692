//! Q4_0: a half-precision scale `d` and 32 nibbles `q`, values 0 to 15 in the low ones; value = d (q - 8).

use super::{decode_blocks, half_at};

pub(crate) fn decode(bytes: &[u8], values: &mut [f32]) {
    decode_blocks(bytes, values, |b: &[u8; 18], v: &mut [f32; 32]| {
        let d = half_at(b, 0);
        let (low, high) = v.split_at_mut(16);
        for ((low, high), &q) in low.iter_mut().zip(high).zip(&b[2..]) {
            *low = f32::from((q & 15) as i8 - 8) * d;
            *high = f32::from((q >> 4) as i8 - 8) * d;
        }
    });
}
