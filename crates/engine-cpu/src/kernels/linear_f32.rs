//! Products of weights that are floats: numerics `f32/l16`. Lanes are values of a row, k mod 16, with one chain of fused
//! multiply-adds a lane; lanes that a tail lacks keep their value, and all are folded at the end.

use super::decoded::decode_row;
use super::on;
use crate::isa::{Floats, LANES};
use crate::tile::Tile;
use inkstone_tensor::DType;
use inkstone_tensor::step::StepError;

/// What this reads; all are exact in f32.
pub(super) const WEIGHTS: &[DType] = &[DType::F32, DType::F16, DType::BF16];

/// Rows of the weight side by side: independent chains hide the latency of each.
const ROWS: usize = 4;

pub(super) fn linear<I: Floats>(tile: &mut Tile) -> Result<(), StepError> {
    on!(I, product, tile)
}

#[inline(always)]
fn product<I: Floats>(isa: I, tile: &mut Tile) -> Result<(), StepError> {
    let [x, w] = [tile.ins[0], tile.ins[1]];
    let bias = tile.ins.get(2).copied();
    let out = &mut tile.outs[0];
    let (rows, cols, k) = (out.rows.clone(), out.cols.clone(), x.ty.cols);
    let floats = tile.scratch.floats(ROWS * k + cols.len());
    let (block, biases) = floats.split_at_mut(ROWS * k);
    if let Some(bias) = bias {
        decode_row(&bias, 0, cols.start, biases);
    }
    for first in cols.clone().step_by(ROWS) {
        let count = ROWS.min(cols.end - first);
        for (i, row) in block.chunks_exact_mut(k).enumerate().take(count) {
            decode_row(&w, first + i, 0, row);
        }
        let row = |i: usize| &block[i.min(count - 1) * k..][..k];
        let weights = [row(0), row(1), row(2), row(3)];
        for r in rows.clone() {
            let sums = dots(isa, x.row::<f32>(r), weights);
            let at = first - cols.start;
            for (i, out) in out.row::<f32>(r)[at..at + count].iter_mut().enumerate() {
                *out = if bias.is_some() { sums[i] + biases[at + i] } else { sums[i] };
            }
        }
    }
    Ok(())
}

#[inline(always)]
fn dots<I: Floats>(isa: I, x: &[f32], w: [&[f32]; ROWS]) -> [f32; ROWS] {
    let mut sums = [isa.splat_float(0.0); ROWS];
    for i in 0..x.len().div_ceil(LANES) {
        // Lanes beyond the end add zero, and keep their value.
        let x = isa.take(x, i, 0.0);
        for row in 0..ROWS {
            sums[row] = isa.fma(x, isa.take(w[row], i, 0.0), sums[row]);
        }
    }
    let mut folded = [0.0; ROWS];
    for row in 0..ROWS {
        folded[row] = isa.fold_sum(sums[row]);
    }
    folded
}
