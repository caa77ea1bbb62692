//! `x / sqrt(mean(x^2) + eps) * w`, of rows or of parts of them: the mean in 16 lanes.

use super::decoded::decode_row;
use super::on;
use crate::isa::{Isa, sum_lanes};
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
    let weights = tile.scratch.floats(w.ty.cols);
    decode_row(&w, 0, 0, weights);
    for r in tile.outs[0].rows.clone() {
        row(x.row(r), weights, op.eps, tile.outs[0].row(r));
    }
    Ok(())
}

/// One row: as many norms side by side as the weights go into it.
#[inline(always)]
pub(crate) fn row(x: &[f32], weights: &[f32], eps: f32, out: &mut [f32]) {
    let part = weights.len();
    for (out, x) in out.chunks_exact_mut(part).zip(x.chunks_exact(part)) {
        let squares = sum_lanes(x, |sum, x| x.mul_add(x, sum));
        let scale = 1.0 / (squares / part as f32 + eps).sqrt();
        for ((out, x), w) in out.iter_mut().zip(x).zip(weights) {
            *out = x * scale * w;
        }
    }
}
