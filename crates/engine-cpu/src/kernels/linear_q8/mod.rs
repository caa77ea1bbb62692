//! Products of quantised weights and activations of 8 bits: numerics `q8/32.i32` and `q8/256.i32`. Lanes are rows of
//! the weight.
//!
//! Each result is one chain over the groups of 32, ascending: `u = d f32(isum)`, with a minimum
//! `u = fma(m, f32(asum), u)`, then `acc = fma(u, da, acc)`. Where [`Format::LATE`] says so it is one over the blocks:
//! `sum = fma(f32(isum), da, sum)` over the groups of a block, from 0 on, then `acc = fma(sum, d, acc)`.
//!
//! With activations of one scale for a block of 256 it is one over the blocks, of which integers are summed first:
//! `u = d f32(sum of scale isum)`, with minima `u = fma(m, f32(sum of minimum asum), u)`, then `acc = fma(u, da, acc)`.
//!
//! The integers are exact in any order, so tiles, threads, rows of a step, layouts and instruction sets change no bit.

mod chunk;
mod direct;
mod own;
mod shared;
mod side;
mod step;
#[cfg(test)]
mod tests;
mod together;
mod unpacked;

pub(super) use own::OwnSide;
use side::{Form, Side, has_code};
pub(super) use together::{Forms, SharedSide, is_for};
pub(super) use unpacked::Unpacked;

use super::decoded::decode_row;
use super::formats::{Format, Head, with_format};
use super::product::{Weight, first};
use crate::isa::{Body, LANES, Portable, STREAMS, Words};
use crate::memory::View;
use crate::panel::{PANEL16, ROWS, pack_before};
use crate::scratch::{self, room};
use inkstone_tensor::{DType, NoMemory};
use std::marker::PhantomData;
use std::ops::Range;

/// Panels whose groups are unpacked at once: with 8 groups they take half of the first cache.
pub(super) const PANELS: usize = 4;

/// The encodings of activations: with one scale per 32 values, and with one scale per block of 256.
pub(super) const ENCODED: [DType; 2] = [DType::Q8_A, WHOLE];
/// The latter.
const WHOLE: DType = DType::Q8_B;

/// Memory that products work in.
#[derive(Default)]
pub(super) struct Work {
    /// Sums and biases.
    pub(super) floats: Vec<f32>,
    /// Scratch memory for panels of weights in the layout of the file.
    packed: Vec<u8>,
    unpacked: Vec<Unpacked>,
    /// Lines of weights that are floats.
    pub(super) lines: Vec<scratch::Line>,
}

impl Work {
    /// Room for products with rows of a weight of no more than `floats` values together, some of them side by side.
    pub(super) fn reserve(&mut self, floats: usize) -> Result<(), NoMemory> {
        room(&mut self.floats, floats)?;
        room(&mut self.packed, floats.saturating_mul(9))?;
        room(&mut self.unpacked, PANELS * side::GROUPS)
    }
}

/// Activations of a step, put side by side by the worker itself, or by all of them.
pub(super) enum Sides<'a> {
    Own(&'a mut OwnSide),
    Shared(&'a SharedSide<'a>),
}

impl Sides<'_> {
    /// Whether each group of a weight is used as soon as it is unpacked. Only many rows are put side by side by all
    /// workers.
    fn are_direct(&self) -> bool {
        matches!(self, Sides::Own(side) if side.blocks.direct)
    }

    /// Whether they have one scale for a whole block.
    fn are_whole(&self) -> bool {
        match self {
            Sides::Own(side) => side.whole,
            Sides::Shared(side) => side.forms.whole,
        }
    }

    fn form<I: Words>(&mut self, form: Form) -> Side<'_> {
        match self {
            Sides::Own(side) => side.form(form),
            Sides::Shared(side) => side.form::<I>(form),
        }
    }
}

/// See [`super::product::columns`].
pub(super) fn columns<I: Words>(mut x: Sides, weight: &Weight, cols: Range<usize>, work: &mut Work, out: &mut [f32]) {
    with_format!(weight.w.ty.dtype, x.are_whole(), run::<I>(&mut x, weight, cols, work, out))
}

/// Whether all of these formats have code for each number of few rows: see [`Format::COMMON`].
fn are_common<I: Words>(whole: bool, mut weights: impl Iterator<Item = DType>) -> bool {
    weights.all(|dtype| with_format!(dtype, whole, is_common::<I>()))
}

fn is_common<I: Words, F: Format>() -> bool {
    has_code::<I, F>(side::FEW[1])
}

/// Not inlined: compiled once for each format and set.
fn run<I: Words, F: Format>(x: &mut Sides, weight: &Weight, cols: Range<usize>, work: &mut Work, out: &mut [f32]) {
    match I::detect() {
        Some(isa) => {
            let direct = x.are_direct();
            let x = x.form::<I>(Form::of::<I, F>(direct));
            isa.run(Call { isa, x, direct, weight, cols, work, out, format: PhantomData::<F> });
        }
        None => run::<Portable, F>(x, weight, cols, work, out),
    }
}

struct Call<'c, 'v, I, F> {
    isa: I,
    x: Side<'c>,
    /// Whether each group of the weight is used as soon as it is unpacked.
    direct: bool,
    weight: &'c Weight<'v>,
    cols: Range<usize>,
    work: &'c mut Work,
    out: &'c mut [f32],
    format: PhantomData<F>,
}

impl<I: Words, F: Format> Body for Call<'_, '_, I, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Call { isa, x, direct, weight, cols, work, out, .. } = self;
        let Work { floats, packed, unpacked, .. } = work;
        let rows = x.rows();
        let at_once = match Form::of::<I, F>(direct) {
            _ if direct && weight.w.layout == PANEL16 => direct::streams::<I, F>(rows),
            // Panels that are made here stay in the first cache.
            _ if direct => 1,
            Form::Wide => PANELS / 2,
            Form::Columns(_) => PANELS,
        };
        let (sums, biases) = first(floats, rows * at_once * LANES + cols.len()).split_at_mut(rows * at_once * LANES);
        if let Some(bias) = weight.bias {
            decode_row(&bias, 0, cols.start, biases);
        }
        // Made once: to fill so much for every few panels takes 1% of a step.
        let mut heads = [Head::none(isa); STREAMS];
        for panel in (cols.start / LANES..cols.end.div_ceil(LANES)).step_by(at_once) {
            let wide = at_once.min(cols.end.div_ceil(LANES) - panel);
            let panels = rows16(&weight.w, panel, wide, packed);
            let sums = &mut sums[..rows * wide * LANES];
            if direct {
                direct::panels::<I, F>(isa, panels, wide, x, &mut heads, sums.as_chunks_mut().0);
            } else {
                chunk::panels::<I, F>(isa, panels, x, unpacked, sums.as_chunks_mut().0);
            }
            for i in 0..wide {
                // A tile may begin or end inside a panel.
                let start = (panel + i) * LANES;
                let lanes = cols.start.max(start)..cols.end.min(start + LANES);
                let (at, inside) = (lanes.start - cols.start, lanes.start - start);
                let mut bias = [0.0; LANES];
                if weight.bias.is_some() {
                    bias[inside..][..lanes.len()].copy_from_slice(&biases[at..][..lanes.len()]);
                }
                let bias = isa.floats(&bias);
                for (row, n) in x.blocks() {
                    for (r, sums) in sums.as_chunks().0[row * wide + i * n..][..n].iter().enumerate() {
                        // Adding 0 gives all zeros the same sign, independent of the order of the scales.
                        let sums = isa.lanes(isa.sum(isa.sum(isa.floats(sums), isa.splat_float(0.0)), bias));
                        let out = &mut out[(row + r) * cols.len() + at..][..lanes.len()];
                        match out.first_chunk_mut() {
                            Some(out) => *out = sums,
                            None => out.copy_from_slice(&sums[inside..][..lanes.len()]),
                        }
                    }
                }
            }
        }
    }
}

/// The panels of a weight from `first` on. The panels of a weight in the layout of the file are packed into `packed`.
#[inline(always)]
fn rows16<'b>(w: &View<'b>, first: usize, count: usize, packed: &'b mut Vec<u8>) -> &'b [u8] {
    if w.layout == PANEL16 { w.groups(ROWS, first, count) } else { made(w, first, count, packed) }
}

#[inline(never)]
fn made<'b>(w: &View<'b>, at: usize, count: usize, packed: &'b mut Vec<u8>) -> &'b [u8] {
    let row = w.stride();
    let packed = first(packed, count * ROWS * row);
    for (i, panel) in packed.chunks_exact_mut(ROWS * row).enumerate() {
        let rows = |panel: usize| if panel * ROWS < w.rows() { w.rows_from(panel * ROWS, ROWS) } else { &[] };
        pack_before(w.ty.dtype, rows(at + i), row, rows(at + i + 1), panel);
    }
    packed
}
