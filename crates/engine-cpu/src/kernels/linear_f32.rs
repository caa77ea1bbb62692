//! Products of weights that are floats: numerics `f32/l16`. Lanes are values of a row, k mod 16, with one chain of
//! fused multiply-adds a lane; lanes that a tail lacks keep their value, and all are folded at the end.

use super::decoded::decode_row;
use super::dots::{Dots, Rows, Terms, Turned};
use super::linear_q8::Work;
use super::product::{Activations, Weight, first};
use crate::isa::{Floats, Portable};
use inkstone_tensor::DType;
use std::ops::Range;

/// The supported dtypes of weights; all their values are exact in f32.
pub(super) const WEIGHTS: &[DType] = &[DType::F32, DType::F16, DType::BF16];

/// The supported dtypes except BF16.
pub(super) const OTHERS: &[DType] = &[DType::F32, DType::F16];

/// See [`super::product::columns`].
pub(super) fn columns<I: Floats>(
    x: Activations,
    turned: &Turned,
    weight: &Weight,
    cols: Range<usize>,
    work: &mut Work,
    out: &mut [f32],
) {
    let Some(isa) = I::detect() else { return columns::<Portable>(x, turned, weight, cols, work, out) };
    let Work { floats, lines, .. } = work;
    let w = &weight.w;
    let dtype = w.ty.dtype;
    // Of other dtypes there is one row at most, for which no kernel is chosen.
    let decoded = if WEIGHTS.contains(&dtype) { 0 } else { w.ty.cols * cols.len() };
    let (biases, decoded) = first(floats, cols.len() + decoded).split_at_mut(cols.len());
    if let Some(bias) = weight.bias {
        decode_row(&bias, 0, cols.start, biases);
    }
    let biases = weight.bias.is_some().then_some(&*biases);
    for (i, row) in decoded.chunks_exact_mut(w.ty.cols).enumerate() {
        decode_row(w, cols.start + i, 0, row);
    }
    let rows = Rows::of(w, cols);
    match dtype {
        DType::F32 => Dots { terms: Singles(isa), x, w: rows, biases, out }.run(isa, turned, lines),
        DType::F16 => Dots { terms: Halves(isa), x, w: rows, biases, out }.run(isa, turned, lines),
        DType::BF16 => Dots { terms: UpperHalves(isa), x, w: rows, biases, out }.run(isa, turned, lines),
        _ => {
            let w = Rows::decoded(decoded, w.ty.cols);
            Dots { terms: Singles(isa), x, w, biases, out }.run(isa, turned, lines);
        }
    }
}

/// F32.
#[derive(Clone, Copy)]
struct Singles<I>(I);
/// F16.
#[derive(Clone, Copy)]
struct Halves<I>(I);
/// BF16.
#[derive(Clone, Copy)]
struct UpperHalves<I>(I);

macro_rules! terms {
    ($($name:ident, $lines:literal: $weights:ident($line:ident, $at:ident) = $bytes:expr;)+) => {$(
        impl<I: Floats> Terms<$lines> for $name<I> {
            type Values = I::Part;
            type Sums = I::F;
            const PARTS: usize = I::PARTS;
            const SUMS: usize = I::SUMS;
            const RARE: bool = I::RARE;

            #[inline(always)]
            fn none(self) -> I::F {
                self.0.splat_float(0.0)
            }
            #[inline(always)]
            fn activations(self, line: &[u8; 64], part: usize) -> I::Part {
                self.0.singles_part(line, part)
            }
            #[inline(always)]
            fn weights(self, $line: &[u8; 64], $at: usize, part: usize) -> I::Part {
                self.0.$weights($bytes, part)
            }
            #[inline(always)]
            fn add(self, x: I::Part, w: I::Part, sums: I::F, part: usize) -> I::F {
                self.0.fma_part(x, w, sums, part)
            }
            #[inline(always)]
            fn keep(self, sums: I::F) -> [u8; 64] {
                bytemuck::cast(self.0.lanes(sums))
            }
            #[inline(always)]
            fn kept(self, line: &[u8; 64]) -> I::F {
                self.0.floats(&bytemuck::cast(*line))
            }
            #[inline(always)]
            fn fold(self, sums: [I::F; 4]) -> [f32; 4] {
                self.0.fold_sums(sums)
            }
            #[inline(always)]
            fn prefetch(self, byte: *const u8) {
                self.0.prefetch_line(byte);
            }
            #[inline(always)]
            fn prefetch_far(self, byte: *const u8) {
                self.0.prefetch_far(byte);
            }
        }
    )+};
}

terms! {
    Singles, 1: singles_part(line, _at) = line;
    Halves, 2: halves_part(line, at) = half(line, at);
    UpperHalves, 2: upper_halves_part(line, at) = half(line, at);
}

/// A half of a line.
#[inline(always)]
fn half(line: &[u8; 64], at: usize) -> &[u8; 32] {
    &line.as_chunks().0[at]
}
