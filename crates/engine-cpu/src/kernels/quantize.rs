//! Activations in the dtype that products want them in: bytes with a scale for 32 or 256, as the formats of Q8_A and
//! Q8_B say.

use super::on;
use crate::isa::{Floats, LANES};
use crate::tile::Tile;
use inkstone_tensor::DType;
use inkstone_tensor::step::StepError;

/// Bytes of a group.
const BYTES: usize = 40;
/// Values of a group.
const VALUES: usize = 2 * LANES;
/// Adding it rounds what is far below 2^22 to an integer, ties to even: 1.5 2^23.
const ROUND: f32 = 12_582_912.0;

pub(super) fn quantize<I: Floats>(tile: &mut Tile) -> Result<(), StepError> {
    on!(I, body, tile)
}

#[inline(always)]
fn body<I: Floats>(isa: I, tile: &mut Tile) -> Result<(), StepError> {
    let (x, out) = (tile.ins[0], &mut tile.outs[0]);
    for r in out.rows.clone() {
        row(isa, out.ty.dtype, x.row(r), out.row_bytes(r));
    }
    Ok(())
}

/// One row.
#[inline(always)]
pub(super) fn row<I: Floats>(isa: I, to: DType, x: &[f32], out: &mut [u8]) {
    match to {
        DType::BF16 => upper_halves(x, out),
        DType::Q8_A => groups::<I, 1>(isa, x, out),
        DType::Q8_B => groups::<I, 8>(isa, x, out),
        // None that a product here wants.
        _ => to.info().encode.expect("infer takes dtypes that can be encoded")(x, out),
    }
}

/// Groups, of which `G` have one scale.
#[inline(always)]
fn groups<I: Floats, const G: usize>(isa: I, x: &[f32], out: &mut [u8]) {
    let (x, out) = (x.as_chunks::<VALUES>().0, out.as_chunks_mut::<BYTES>().0);
    for (x, out) in x.as_chunks::<G>().0.iter().zip(out.as_chunks_mut::<G>().0) {
        let (mut largest, mut none) = (isa.splat_float(0.0), isa.splat_float(0.0));
        for x in x {
            for half in [isa.take(x, 0, 0.0), isa.take(x, 1, 0.0)] {
                largest = isa.larger(largest, isa.abs(half));
                // A difference of NaN, or of infinities, is NaN.
                none = isa.sum(none, isa.difference(half, half));
            }
        }
        let (largest, none) = (isa.fold_max(largest), isa.fold_sum(none).is_nan());
        let inverse = 127.0 / largest;
        let scale = match (none, inverse.is_finite()) {
            (true, _) => None,
            (false, false) => Some((0.0, 0.0)),
            (false, true) => Some((largest / 127.0, inverse)),
        };
        for (x, out) in x.iter().zip(out) {
            group(isa, x, scale, out);
        }
    }
}

/// A group with a scale and its inverse; `None` if it contains NaN or infinity.
#[inline(always)]
fn group<I: Floats>(isa: I, x: &[f32; VALUES], scale: Option<(f32, f32)>, out: &mut [u8; BYTES]) {
    let mut halves = [isa.take(x, 0, 0.0), isa.take(x, 1, 0.0)];
    if scale.is_none() {
        halves = [isa.splat_float(0.0); 2];
    }
    let (d, inverse) = scale.unwrap_or((f32::NAN, 0.0));
    let (inverse, round) = (isa.splat_float(inverse), isa.splat_float(ROUND));
    let mut sums = isa.splat_float(0.0);
    for (i, half) in halves.into_iter().enumerate() {
        let q = isa.difference(isa.sum(isa.product(half, inverse), round), round);
        let q = isa.smaller(isa.larger(q, isa.splat_float(-127.0)), isa.splat_float(127.0));
        // The low bits hold the integer: no conversion that a vector unit lacks.
        out.as_chunks_mut().0[i] = isa.low_bytes(isa.sum(q, round));
        sums = isa.sum(sums, q);
    }
    // Integers far below 2^24: exact.
    let sum = isa.fold_sum(sums) as i32;
    out[VALUES..VALUES + 4].copy_from_slice(&d.to_le_bytes());
    out[VALUES + 4..].copy_from_slice(&sum.to_le_bytes());
}

/// To nearest, ties to even, as the format of BF16 says; plain operations on integers, which every set has vectors for.
#[inline(always)]
fn upper_halves(x: &[f32], out: &mut [u8]) {
    for (x, out) in x.iter().zip(out.as_chunks_mut::<2>().0) {
        let bits = x.to_bits();
        let nearest = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
        let upper = if bits << 1 > 0xff00_0000 { bits | 0x40_0000 } else { nearest };
        *out = ((upper >> 16) as u16).to_le_bytes();
    }
}
