//! `x / sqrt(mean(x^2) + eps) * w`, of rows or of parts of them: the mean in 16 lanes.

use super::decoded::decode_row;
use super::on;
use crate::isa::{Floats, LANES};
use crate::tile::Tile;
use inkstone_tensor::Op;
use inkstone_tensor::step::StepError;

pub(super) fn rms_norm<I: Floats>(tile: &mut Tile) -> Result<(), StepError> {
    on!(I, body, tile)
}

#[inline(always)]
fn body<I: Floats>(isa: I, tile: &mut Tile) -> Result<(), StepError> {
    let Op::RmsNorm(op) = tile.op else { unreachable!("the kernel of rms_norm") };
    let [x, w] = [tile.ins[0], tile.ins[1]];
    let weights = tile.scratch.floats(w.ty.cols);
    decode_row(&w, 0, 0, weights);
    for r in tile.outs[0].rows.clone() {
        row(isa, x.row(r), weights, op.eps, tile.outs[0].row(r));
    }
    Ok(())
}

/// One row: as many norms side by side as the weights go into it.
#[inline(always)]
pub(crate) fn row<I: Floats>(isa: I, x: &[f32], weights: &[f32], eps: f32, out: &mut [f32]) {
    let part = weights.len();
    let vectors = part.div_ceil(LANES);
    for (out, x) in out.chunks_exact_mut(part).zip(x.chunks_exact(part)) {
        let mut squares = isa.splat_float(0.0);
        for i in 0..vectors {
            let x = isa.take(x, i, 0.0);
            squares = isa.fma(x, x, squares);
        }
        let scale = isa.splat_float(1.0 / (isa.fold_sum(squares) / part as f32 + eps).sqrt());
        for i in 0..vectors {
            let scaled = isa.product(isa.take(x, i, 0.0), scale);
            isa.put(out, i, isa.product(scaled, isa.take(weights, i, 0.0)));
        }
    }
}
