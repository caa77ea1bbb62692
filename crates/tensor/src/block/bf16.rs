//! BF16: the upper half of an IEEE single. Encoding rounds to nearest, ties to even; a NaN keeps its sign and becomes
//! quiet.

use super::{decode_blocks, encode_blocks};

pub(crate) fn decode(bytes: &[u8], values: &mut [f32]) {
    decode_blocks(bytes, values, |b: &[u8; 2], v: &mut [f32; 1]| {
        v[0] = f32::from_bits(u32::from(u16::from_le_bytes(*b)) << 16);
    });
}

pub(crate) fn encode(values: &[f32], bytes: &mut [u8]) {
    encode_blocks(values, bytes, |v: &[f32; 1], b: &mut [u8; 2]| *b = upper_half(v[0]).to_le_bytes());
}

fn upper_half(value: f32) -> u16 {
    const QUIET: u16 = 1 << 6;
    let bits = value.to_bits();
    let upper = (bits >> 16) as u16;
    if value.is_nan() {
        upper | QUIET
    } else {
        // Half of the last place, a little less where that place is even. A carry into the exponent is right: the
        // largest finite numbers become infinity.
        ((bits + 0x7fff + u32::from(upper & 1)) >> 16) as u16
    }
}
