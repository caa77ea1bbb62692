//! `(x - mean(x)) / sqrt(var(x) + eps) * w + bias`: mean and variance in 16 lanes, one after the other.

use super::decoded::decode_row;
use super::on;
use crate::isa::{Isa, sum_lanes};
use crate::tile::Tile;
use inkstone_tensor::Op;
use inkstone_tensor::step::StepError;

pub(super) fn layer_norm<I: Isa>(tile: &mut Tile) -> Result<(), StepError> {
    on!(I, body, tile)
}

#[inline(always)]
fn body(tile: &mut Tile) -> Result<(), StepError> {
    let Op::LayerNorm(op) = tile.op else { unreachable!("the kernel of layer_norm") };
    let [x, w, bias] = [tile.ins[0], tile.ins[1], tile.ins[2]];
    let cols = x.ty.cols;
    let (weights, biases) = tile.scratch.floats(2 * cols).split_at_mut(cols);
    decode_row(&w, 0, 0, weights);
    decode_row(&bias, 0, 0, biases);
    for r in tile.outs[0].rows.clone() {
        row(x.row(r), weights, biases, op.eps, tile.outs[0].row(r));
    }
    Ok(())
}

/// One row.
#[inline(always)]
pub(crate) fn row(x: &[f32], weights: &[f32], biases: &[f32], eps: f32, out: &mut [f32]) {
    let cols = x.len() as f32;
    let mean = sum_lanes(x, |sum, x| sum + x) / cols;
    let squares = sum_lanes(x, |sum, x| (x - mean).mul_add(x - mean, sum));
    let scale = 1.0 / (squares / cols + eps).sqrt();
    for (((out, x), w), bias) in out.iter_mut().zip(x).zip(weights).zip(biases) {
        *out = ((x - mean) * scale).mul_add(*w, *bias);
    }
}
