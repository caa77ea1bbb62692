//! F32: IEEE single precision, bits unchanged in both directions.

use super::{decode_blocks, encode_blocks};

pub(crate) fn decode(bytes: &[u8], values: &mut [f32]) {
    decode_blocks(bytes, values, |b: &[u8; 4], v: &mut [f32; 1]| v[0] = f32::from_le_bytes(*b));
}

pub(crate) fn encode(values: &[f32], bytes: &mut [u8]) {
    encode_blocks(values, bytes, |v: &[f32; 1], b: &mut [u8; 4]| *b = v[0].to_le_bytes());
}
