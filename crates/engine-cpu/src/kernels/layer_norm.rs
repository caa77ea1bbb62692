//! `(x - mean(x)) / sqrt(var(x) + eps) * w + bias`: mean and variance in 16 lanes, one after the other.

use super::decoded::decode_row;
use super::on;
use crate::isa::{Floats, LANES};
use crate::tile::Tile;
use inkstone_tensor::Op;
use inkstone_tensor::step::StepError;

pub(super) fn layer_norm<I: Floats>(tile: &mut Tile) -> Result<(), StepError> {
    on!(I, body, tile)
}

#[inline(always)]
fn body<I: Floats>(isa: I, tile: &mut Tile) -> Result<(), StepError> {
    let Op::LayerNorm(op) = tile.op else { unreachable!("the kernel of layer_norm") };
    let [x, w, bias] = [tile.ins[0], tile.ins[1], tile.ins[2]];
    let cols = x.ty.cols;
    let (weights, biases) = tile.scratch.floats(2 * cols).split_at_mut(cols);
    decode_row(&w, 0, 0, weights);
    decode_row(&bias, 0, 0, biases);
    for r in tile.outs[0].rows.clone() {
        row(isa, x.row(r), weights, biases, op.eps, tile.outs[0].row(r));
    }
    Ok(())
}

/// One row.
#[inline(always)]
pub(crate) fn row<I: Floats>(isa: I, x: &[f32], weights: &[f32], biases: &[f32], eps: f32, out: &mut [f32]) {
    let (cols, vectors) = (x.len() as f32, x.len().div_ceil(LANES));
    let mut sums = isa.splat_float(0.0);
    for i in 0..vectors {
        sums = isa.sum(sums, isa.take(x, i, 0.0));
    }
    let mean = isa.fold_sum(sums) / cols;
    let means = isa.splat_float(mean);
    let mut squares = isa.splat_float(0.0);
    for i in 0..vectors {
        // Lanes beyond the end are at the mean, and add nothing.
        let apart = isa.difference(isa.take(x, i, mean), means);
        squares = isa.fma(apart, apart, squares);
    }
    let scale = isa.splat_float(1.0 / (isa.fold_sum(squares) / cols + eps).sqrt());
    for i in 0..vectors {
        let scaled = isa.product(isa.difference(isa.take(x, i, 0.0), means), scale);
        isa.put(out, i, isa.fma(scaled, isa.take(weights, i, 0.0), isa.take(biases, i, 0.0)));
    }
}
