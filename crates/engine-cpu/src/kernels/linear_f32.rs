//! Products of weights that are floats: numerics `f32/l16`. Lanes are values of a row, k mod 16, with one chain of fused
//! multiply-adds a lane; lanes that a tail lacks keep their value, and all are folded at the end.

use super::decoded::decode_row;
use super::product::{Activations, Weight, first};
use crate::isa::{Body, Floats, LANES, Portable};
use inkstone_tensor::DType;
use std::ops::Range;

/// What this reads; all are exact in f32.
pub(super) const WEIGHTS: &[DType] = &[DType::F32, DType::F16, DType::BF16];

/// Rows of the weight side by side: independent chains hide the latency of each.
const ROWS: usize = 4;

/// See [`super::product::columns`].
pub(super) fn columns<I: Floats>(
    x: Activations,
    weight: &Weight,
    cols: Range<usize>,
    work: &mut Vec<f32>,
    out: &mut [f32],
) {
    match I::detect() {
        Some(isa) => isa.run(Call { isa, x, weight, cols, work, out }),
        None => columns::<Portable>(x, weight, cols, work, out),
    }
}

struct Call<'c, 'v, I> {
    isa: I,
    x: Activations<'v>,
    weight: &'c Weight<'v>,
    cols: Range<usize>,
    work: &'c mut Vec<f32>,
    out: &'c mut [f32],
}

impl<I: Floats> Body for Call<'_, '_, I> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Call { isa, x, weight, cols, work, out } = self;
        let k = weight.w.ty.cols;
        let (block, biases) = first(work, ROWS * k + cols.len()).split_at_mut(ROWS * k);
        if let Some(bias) = weight.bias {
            decode_row(&bias, 0, cols.start, biases);
        }
        for at in (0..cols.len()).step_by(ROWS) {
            let count = ROWS.min(cols.len() - at);
            for (i, row) in block.chunks_exact_mut(k).enumerate().take(count) {
                decode_row(&weight.w, cols.start + at + i, 0, row);
            }
            let row = |i: usize| &block[i.min(count - 1) * k..][..k];
            let weights = [row(0), row(1), row(2), row(3)];
            for (r, out) in out.chunks_exact_mut(cols.len()).enumerate() {
                let sums = dots(isa, bytemuck::cast_slice(x.row(r)), weights);
                for (i, out) in out[at..at + count].iter_mut().enumerate() {
                    *out = if weight.bias.is_some() { sums[i] + biases[at + i] } else { sums[i] };
                }
            }
        }
    }
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
