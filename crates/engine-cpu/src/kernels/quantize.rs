//! Activations in the dtype that products want them in: bytes with a scale for 32, as the format of Q8_A says.

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
    if to == DType::BF16 {
        return upper_halves(x, out);
    }
    if to != DType::Q8_A {
        // None that a product here wants.
        let encode = to.info().encode.expect("infer takes dtypes that can be encoded");
        return encode(x, out);
    }
    for (x, out) in x.as_chunks::<VALUES>().0.iter().zip(out.as_chunks_mut::<BYTES>().0) {
        let mut halves = [isa.take(x, 0, 0.0), isa.take(x, 1, 0.0)];
        let largest = isa.fold_max(isa.larger(isa.abs(halves[0]), isa.abs(halves[1])));
        // A difference of what is no number, or of infinities, is no number.
        let none = isa.sum(isa.difference(halves[0], halves[0]), isa.difference(halves[1], halves[1]));
        let none = isa.fold_sum(none).is_nan();
        if none {
            halves = [isa.splat_float(0.0); 2];
        }
        let inverse = 127.0 / largest;
        let (d, inverse) = match (none, inverse.is_finite()) {
            (true, _) => (f32::NAN, 0.0),
            (false, false) => (0.0, 0.0),
            (false, true) => (largest / 127.0, inverse),
        };
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
