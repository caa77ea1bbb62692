//! Products of quantised weights and activations of 8 bits: numerics `q8/32.i32`. Lanes are rows of the weight.
//!
//! Each result is one chain over the groups of 32, ascending:
//! `u = d f32(isum)`, with a minimum `u = fma(m, f32(asum), u)`, then `acc = fma(u, da, acc)`. The integers are exact
//! in any order, so tiles, threads, rows of a step, layouts and instruction sets change no bit.

mod chunk;
mod direct;
mod side;
mod step;
mod unpacked;

pub(super) use side::{Side, pack};
pub(super) use unpacked::Unpacked;

use super::decoded::decode_row;
use super::formats::{Format, with_format};
use super::product::{Weight, first};
use crate::isa::{Body, LANES, Portable, Words};
use crate::memory::View;
use crate::panel::{PANEL16, ROWS, pack_with};
use inkstone_tensor::DType;
use std::marker::PhantomData;
use std::ops::Range;

/// Rows of a step up to which each group is unpacked into registers and used at once; more go through memory.
const DIRECT: usize = 8;
/// Bytes of a column of the largest blocks.
const LARGEST: usize = ROWS * 210;

/// Memory that products work in.
#[derive(Default)]
pub(super) struct Work {
    /// Sums and biases.
    pub(super) floats: Vec<f32>,
    /// Weights of some panels.
    pub(super) unpacked: Vec<Unpacked>,
}

/// See [`super::product::columns`].
pub(super) fn columns<I: Words>(x: Side, weight: &Weight, cols: Range<usize>, work: &mut Work, out: &mut [f32]) {
    with_format!(weight.w.ty.dtype, run::<I>(x, weight, cols, work, out))
}

/// Not inlined: compiled once for each format and set.
fn run<I: Words, F: Format>(x: Side, weight: &Weight, cols: Range<usize>, work: &mut Work, out: &mut [f32]) {
    match I::detect() {
        Some(isa) => isa.run(Call { isa, x, weight, cols, work, out, format: PhantomData::<F> }),
        None => run::<Portable, F>(x, weight, cols, work, out),
    }
}

struct Call<'c, 'v, I, F> {
    isa: I,
    x: Side<'c>,
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
        let Call { isa, x, weight, cols, work, out, .. } = self;
        let Work { floats, unpacked } = work;
        let (sums, biases) = first(floats, x.rows * LANES + cols.len()).split_at_mut(x.rows * LANES);
        let sums = sums.as_chunks_mut::<LANES>().0;
        biases.fill(0.0);
        if let Some(bias) = weight.bias {
            decode_row(&bias, 0, cols.start, biases);
        }
        for panel in (cols.start / LANES * LANES..cols.end).step_by(LANES) {
            if x.rows <= DIRECT {
                direct::panel::<I, F>(isa, &weight.w, panel, x, sums);
            } else {
                chunk::panel::<I, F>(isa, &weight.w, panel, x, unpacked, sums);
            }
            // A tile may begin or end inside a panel.
            let lanes = cols.start.max(panel)..cols.end.min(panel + LANES);
            let at = lanes.start - cols.start;
            for (sum, out) in sums.iter().zip(out.chunks_exact_mut(cols.len())) {
                let sum = &sum[lanes.start - panel..][..lanes.len()];
                for ((out, sum), b) in out[at..].iter_mut().zip(sum).zip(&biases[at..]) {
                    *out = if weight.bias.is_some() { sum + b } else { *sum };
                }
            }
        }
    }
}

/// Column `b` of the blocks of the 16 rows from `first` on, as panels have it.
#[inline(always)]
fn column<'b, I: Words, F: Format>(
    isa: I,
    w: &View<'b>,
    first: usize,
    b: usize,
    buffer: &'b mut [u8; LARGEST],
) -> &'b [u8] {
    let size = ROWS * F::BYTES;
    if w.layout == PANEL16 {
        return &w.panel(first / ROWS)[b * size..][..size];
    }
    let row = w.ty.row_bytes() as usize;
    let rows = w.rows_from(first, ROWS);
    let end = rows.len() - row + (b + 1) * F::BYTES;
    pack_with(isa, w.ty.dtype, &rows[b * F::BYTES..end], row, &mut buffer[..size]);
    &buffer[..size]
}
