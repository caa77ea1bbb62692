//! `x / sqrt(mean(x^2) + eps) * w`: the mean in 16 lanes.

use super::decoded::decode_row;
use super::on;
use crate::isa::{Isa, LANES, fold_sum};
use crate::tile::Tile;
use inkstone_tensor::Op;
use inkstone_tensor::step::StepError;

pub(super) fn rms_norm<I: Isa>(tile: &mut Tile) -> Result<(), StepError> {
    on!(I, body, tile)
}

#[inline(always)]
fn body(tile: &mut Tile) -> Result<(), StepError> {
    let Op::RmsNorm(op) = tile.op else { unreachable!("the kernel of rms_norm") };
    let [x, w] = [tile.ins[0], tile.ins[1]];
    let cols = x.ty.cols;
    let weights = tile.scratch.floats(cols);
    decode_row(&w, 0, 0, weights);
    for r in tile.outs[0].rows.clone() {
        let x = x.row::<f32>(r);
        let scale = 1.0 / (squares(x) / cols as f32 + op.eps).sqrt();
        for ((out, x), w) in tile.outs[0].row::<f32>(r).iter_mut().zip(x).zip(&*weights) {
            *out = x * scale * w;
        }
    }
    Ok(())
}

#[inline(always)]
fn squares(x: &[f32]) -> f32 {
    let mut sums = [0f32; LANES];
    let (chunks, tail) = x.as_chunks::<LANES>();
    for x in chunks {
        for (sum, x) in sums.iter_mut().zip(x) {
            *sum = x.mul_add(*x, *sum);
        }
    }
    for (sum, x) in sums.iter_mut().zip(tail) {
        *sum = x.mul_add(*x, *sum);
    }
    fold_sum(sums)
}
