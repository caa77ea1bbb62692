//! Products of weights that are floats: numerics `f32/l16`. Lanes are values of a row, k mod 16, with one chain of fused
//! multiply-adds a lane; lanes that a tail lacks keep their value, and all are folded at the end.

use super::decoded::decode_row;
use super::on;
use crate::isa::{F16x, Isa, LANES, fold_sum};
use crate::tile::Tile;
use inkstone_tensor::DType;
use inkstone_tensor::step::StepError;

/// What this reads; all are exact in f32.
pub(super) const WEIGHTS: &[DType] = &[DType::F32, DType::F16, DType::BF16];

/// Rows of the weight side by side: independent chains hide the latency of each.
const ROWS: usize = 4;

pub(super) fn linear<I: Isa>(tile: &mut Tile) -> Result<(), StepError> {
    // The floats are taken before, so that the body has them as slices.
    on!(I, product, tile)
}

#[inline(always)]
fn product(tile: &mut Tile) -> Result<(), StepError> {
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
            let sums = dots(x.row::<f32>(r), weights);
            let at = first - cols.start;
            for (i, out) in out.row::<f32>(r)[at..at + count].iter_mut().enumerate() {
                *out = if bias.is_some() { sums[i] + biases[at + i] } else { sums[i] };
            }
        }
    }
    Ok(())
}

#[inline(always)]
fn dots(x: &[f32], w: [&[f32]; ROWS]) -> [f32; ROWS] {
    let mut sums: [F16x; ROWS] = [[0.0; LANES]; ROWS];
    let (chunks, tail) = x.as_chunks::<LANES>();
    for (i, x) in chunks.iter().enumerate() {
        for (sum, w) in sums.iter_mut().zip(w) {
            let w = &w[i * LANES..][..LANES];
            for lane in 0..LANES {
                sum[lane] = x[lane].mul_add(w[lane], sum[lane]);
            }
        }
    }
    for (sum, w) in sums.iter_mut().zip(w) {
        for ((sum, x), w) in sum.iter_mut().zip(tail).zip(&w[chunks.len() * LANES..]) {
            *sum = x.mul_add(*w, *sum);
        }
    }
    sums.map(fold_sum)
}
