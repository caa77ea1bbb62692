//! Block formats: the layout of quantised values in memory. Each format has one file, and a row in the table of
//! `dtype`.
//!
//! The layouts are defined by GGUF, or by the file of the format; they are little-endian. Arithmetic is single
//! precision in the order that each file states, without fused operations, so that every machine decodes the same bits.
//! Sources and destinations are used up to their last whole block; the remaining bytes or values are not changed.

pub(crate) mod bf16;
pub(crate) mod f16;
pub(crate) mod f32;
pub(crate) mod iq4_nl;
pub(crate) mod iq4_xs;
pub(crate) mod mxfp4;
pub(crate) mod q2_k;
pub(crate) mod q3_k;
pub(crate) mod q4_0;
pub(crate) mod q4_1;
pub(crate) mod q4_k;
pub(crate) mod q5_0;
pub(crate) mod q5_1;
pub(crate) mod q5_k;
pub(crate) mod q6_k;
pub(crate) mod q8_0;
pub(crate) mod q8_a;
pub(crate) mod q8_b;
mod scales;

/// Applies `block` to each block of `B` bytes and its `V` values.
#[inline(always)]
fn decode_blocks<const B: usize, const V: usize>(
    bytes: &[u8],
    values: &mut [f32],
    block: impl Fn(&[u8; B], &mut [f32; V]),
) {
    for (bytes, values) in bytes.as_chunks::<B>().0.iter().zip(values.as_chunks_mut::<V>().0) {
        block(bytes, values);
    }
}

/// Applies `block` to each `V` values and their block of `B` bytes.
#[inline(always)]
fn encode_blocks<const B: usize, const V: usize>(
    values: &[f32],
    bytes: &mut [u8],
    block: impl Fn(&[f32; V], &mut [u8; B]),
) {
    for (values, bytes) in values.as_chunks::<V>().0.iter().zip(bytes.as_chunks_mut::<B>().0) {
        block(values, bytes);
    }
}

/// The half-precision number at byte `at`, as a single.
#[inline(always)]
fn half_at<const B: usize>(bytes: &[u8; B], at: usize) -> f32 {
    half::f16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f32()
}
