//! Products of weights and activations in BF16: numerics `bf16/l16`. Lane i of a sum has the elements 2 i and 2 i + 1
//! of each 32 of a row, which [`Pairs`] adds; all lanes are folded at the end.

use super::decoded::decode_row;
use super::dots::{Dots, Rows, Terms, Turned};
use super::product::{Activations, Weight, first};
use crate::isa::{Floats, Isa, Pairs};
use inkstone_tensor::DType;
use std::ops::Range;

#[cfg(target_arch = "x86_64")]
type Best = crate::isa::Avx512Bf16;
#[cfg(not(target_arch = "x86_64"))]
type Best = crate::isa::Portable;

/// The supported dtypes of weights.
pub(super) const WEIGHTS: &[DType] = &[DType::BF16];

/// See [`super::product::columns`].
pub(super) fn columns(x: Activations, weight: &Weight, cols: Range<usize>, work: &mut Vec<f32>, out: &mut [f32]) {
    // Chosen only where the instructions are; should they be missing all the same, plain Rust gives the same bits.
    match Best::detect() {
        Some(isa) => run(isa, x, weight, cols, work, out),
        None => run(crate::isa::Portable, x, weight, cols, work, out),
    }
}

fn run<I: Pairs>(isa: I, x: Activations, weight: &Weight, cols: Range<usize>, work: &mut Vec<f32>, out: &mut [f32]) {
    let w = &weight.w;
    let biases = first(work, cols.len());
    if let Some(bias) = weight.bias {
        decode_row(&bias, 0, cols.start, biases);
    }
    let biases = weight.bias.is_some().then_some(&*biases);
    let w = Rows::of(w, cols);
    // Sums have one part: nothing is turned, and nothing waits.
    Dots { terms: Both(isa), x, w, biases, out }.run(isa, &Turned::default(), &mut Vec::new());
}

#[derive(Clone, Copy)]
struct Both<I>(I);

impl<I: Pairs> Terms<1> for Both<I> {
    type Values = I::P;
    type Sums = <I::Set as Floats>::F;
    const PARTS: usize = 1;
    const SUMS: usize = I::Set::SUMS;
    const RARE: bool = I::Set::RARE;

    #[inline(always)]
    fn none(self) -> Self::Sums {
        self.0.set().splat_float(0.0)
    }
    #[inline(always)]
    fn activations(self, line: &[u8; 64], _part: usize) -> I::P {
        self.0.pairs(line)
    }
    #[inline(always)]
    fn weights(self, line: &[u8; 64], _at: usize, _part: usize) -> I::P {
        self.0.pairs(line)
    }
    #[inline(always)]
    fn add(self, x: I::P, w: I::P, sums: Self::Sums, _part: usize) -> Self::Sums {
        self.0.add_pairs(x, w, sums)
    }
    #[inline(always)]
    fn keep(self, sums: Self::Sums) -> [u8; 64] {
        bytemuck::cast(self.0.set().lanes(sums))
    }
    #[inline(always)]
    fn kept(self, line: &[u8; 64]) -> Self::Sums {
        self.0.set().floats(&bytemuck::cast(*line))
    }
    #[inline(always)]
    fn fold(self, sums: [Self::Sums; 4]) -> [f32; 4] {
        self.0.set().fold_sums(sums)
    }
    #[inline(always)]
    fn prefetch(self, byte: *const u8) {
        self.0.set().prefetch_line(byte);
    }
    #[inline(always)]
    fn prefetch_far(self, byte: *const u8) {
        self.0.set().prefetch_far(byte);
    }
}
