//! Products of quantised weights and activations of 8 bits: numerics `q8/32.i32`. Lanes are rows of the weight.
//!
//! Each result is one chain over the groups of 32, ascending:
//! `u = d f32(isum)`, with a minimum `u = fma(m, f32(asum), u)`, then `acc = fma(u, da, acc)`. The integers are exact
//! in any order, so tiles, threads, rows of a step, layouts and instruction sets change no bit.

use super::decoded::decode_row;
use super::formats::{Format, Group, with_format};
use super::product::{Activations, Weight, first};
use crate::isa::{Body, LANES, Portable, Words};
use crate::memory::View;
use crate::panel::{PANEL16, ROWS, pack};
use inkstone_tensor::DType;
use std::marker::PhantomData;
use std::ops::Range;

/// Groups that are unpacked at once for more rows of a step than are done directly: they stay in the first cache.
const GROUPS: usize = 8;
/// Rows of a step that are done side by side.
const SIDE: usize = 4;
/// Bytes of a group of activations.
const ACTIVATIONS: usize = 40;
/// Bytes of a column of the largest blocks.
const LARGEST: usize = ROWS * 210;

/// See [`super::product::columns`].
pub(super) fn columns<I: Words>(
    x: Activations,
    weight: &Weight,
    cols: Range<usize>,
    work: &mut Vec<f32>,
    out: &mut [f32],
) {
    with_format!(weight.w.ty.dtype, run::<I>(x, weight, cols, work, out))
}

/// Not inlined: compiled once for each format and set.
fn run<I: Words, F: Format>(x: Activations, weight: &Weight, cols: Range<usize>, work: &mut Vec<f32>, out: &mut [f32]) {
    match I::detect() {
        Some(isa) => isa.run(Call { isa, x, weight, cols, work, out, format: PhantomData::<F> }),
        None => run::<Portable, F>(x, weight, cols, work, out),
    }
}

struct Call<'c, 'v, I, F> {
    isa: I,
    x: Activations<'v>,
    weight: &'c Weight<'v>,
    cols: Range<usize>,
    work: &'c mut Vec<f32>,
    out: &'c mut [f32],
    format: PhantomData<F>,
}

impl<I: Words, F: Format> Body for Call<'_, '_, I, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Call { isa, x, weight, cols, work, out, .. } = self;
        let rows = x.count();
        let (sums, biases) = first(work, rows * LANES + cols.len()).split_at_mut(rows * LANES);
        let sums = sums.as_chunks_mut::<LANES>().0;
        biases.fill(0.0);
        if let Some(bias) = weight.bias {
            decode_row(&bias, 0, cols.start, biases);
        }
        for panel in (cols.start / LANES * LANES..cols.end).step_by(LANES) {
            panel_sums::<I, F>(isa, &weight.w, panel, x, sums);
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

/// The 16 columns of the result from `first` on, of all rows.
#[inline(always)]
fn panel_sums<I: Words, F: Format>(isa: I, w: &View, first: usize, x: Activations, sums: &mut [[f32; LANES]]) {
    let activations = |r: usize| x.row(r).as_chunks::<ACTIVATIONS>().0;
    match sums {
        [sum] => [*sum] = direct::<I, F, 1>(isa, w, first, [activations(0)]),
        [a, b] => [*a, *b] = direct::<I, F, 2>(isa, w, first, [activations(0), activations(1)]),
        // A row may be there twice.
        [_, _, rest @ ..] if rest.len() <= 2 => {
            let last = sums.len() - 1;
            let found = direct::<I, F, SIDE>(isa, w, first, std::array::from_fn(|i| activations(i.min(last))));
            sums.copy_from_slice(&found[..=last]);
        }
        _ => chunk::<I, F>(isa, w, first, x, sums),
    }
}

/// A few rows of a step, each group unpacked into registers.
#[inline(always)]
fn direct<I: Words, F: Format, const N: usize>(
    isa: I,
    w: &View,
    first: usize,
    x: [&[[u8; ACTIVATIONS]]; N],
) -> [[f32; LANES]; N] {
    let mut sums = [isa.splat_float(0.0); N];
    let mut buffer = [0; LARGEST];
    for b in 0..x[0].len() / F::GROUPS {
        let blocks = column::<F>(w, first, b, &mut buffer);
        for g in 0..F::GROUPS {
            let group = F::group(isa, blocks, g);
            let mut a = [&x[0][0]; N];
            for n in 0..N {
                a[n] = &x[n][b * F::GROUPS + g];
            }
            sums = step::<I, F, N>(isa, &group, a, sums);
        }
    }
    let mut lanes = [[0.0; LANES]; N];
    for n in 0..N {
        lanes[n] = isa.lanes(sums[n]);
    }
    lanes
}

/// Many rows of a step: some groups are unpacked, then all rows use them.
#[inline(always)]
fn chunk<I: Words, F: Format>(isa: I, w: &View, first: usize, x: Activations, sums: &mut [[f32; LANES]]) {
    let mut buffer = [0; LARGEST];
    let words = [isa.splat(0); 8];
    let none = isa.splat_float(0.0);
    let mut groups = [Group::<I> { q: words, d: none, m: none, scale: [words[0]; 2], minimum: [words[0]; 2] }; GROUPS];
    sums.as_flattened_mut().fill(0.0);
    let count = w.ty.cols / 32;
    for from in (0..count).step_by(GROUPS) {
        let count = GROUPS.min(count - from);
        for (i, group) in groups.iter_mut().enumerate().take(count) {
            let blocks = column::<F>(w, first, (from + i) / F::GROUPS, &mut buffer);
            *group = F::group(isa, blocks, (from + i) % F::GROUPS);
        }
        for (r, sums) in sums.chunks_mut(SIDE).enumerate() {
            let last = sums.len() - 1;
            let rows: [_; SIDE] = std::array::from_fn(|i| {
                let x = x.row(r * SIDE + i.min(last)).as_chunks::<ACTIVATIONS>().0;
                &x[from..from + count]
            });
            let mut found = [none; SIDE];
            for i in 0..SIDE {
                found[i] = isa.floats(&sums[i.min(last)]);
            }
            for (g, group) in groups.iter().enumerate().take(count) {
                let a = [&rows[0][g], &rows[1][g], &rows[2][g], &rows[3][g]];
                found = step::<I, F, SIDE>(isa, group, a, found);
            }
            for (sum, found) in sums.iter_mut().zip(found) {
                *sum = isa.lanes(found);
            }
        }
    }
}

/// Column `b` of the blocks of the 16 rows from `first` on, as panels have it.
#[inline(always)]
fn column<'b, F: Format>(w: &View<'b>, first: usize, b: usize, buffer: &'b mut [u8; LARGEST]) -> &'b [u8] {
    let size = ROWS * F::BYTES;
    if w.layout == PANEL16 {
        return &w.panel(first / ROWS)[b * size..][..size];
    }
    let row = w.ty.row_bytes() as usize;
    let rows = w.rows_from(first, ROWS);
    let end = rows.len() - row + (b + 1) * F::BYTES;
    pack(w.ty.dtype, &rows[b * F::BYTES..end], row, &mut buffer[..size]);
    &buffer[..size]
}

/// A group of 16 rows times one of activations of each row of the step, added: the one place where floats are summed.
#[inline(always)]
fn step<I: Words, F: Format, const N: usize>(
    isa: I,
    group: &Group<I>,
    x: [&[u8; ACTIVATIONS]; N],
    mut sums: [I::F; N],
) -> [I::F; N] {
    let (mut low, mut high) = ([isa.splat(0); N], [isa.splat(0); N]);
    for i in 0..4 {
        for n in 0..N {
            low[n] = dot::<I, F>(isa, low[n], group.q[i], four(x[n], 4 * i));
            high[n] = dot::<I, F>(isa, high[n], group.q[i + 4], four(x[n], 4 * i + 16));
        }
    }
    for n in 0..N {
        let da = isa.splat_float(f32::from_le_bytes(word(x[n], 32)));
        let total = u32::from_le_bytes(word(x[n], 36));
        let mut u;
        if F::HALVES {
            let first: i32 = x[n][..16].iter().map(|b| i32::from(*b as i8)).sum();
            let totals = [first as u32, total.wrapping_sub(first as u32)];
            let (mut isum, mut asum) = (isa.splat(0), isa.splat(0));
            for (i, dots) in [low[n], high[n]].into_iter().enumerate() {
                let dots = isa.sub(dots, isa.splat(F::OFFSET.wrapping_mul(totals[i])));
                isum = isa.add(isum, isa.mul(group.scale[i], dots));
                asum = isa.add(asum, isa.mul(group.minimum[i], isa.splat(totals[i])));
            }
            u = isa.product(group.d, isa.to_floats(isum));
            if F::MINIMUM {
                u = isa.fma(group.m, isa.to_floats(asum), u);
            }
        } else {
            let isum = isa.sub(isa.add(low[n], high[n]), isa.splat(F::OFFSET.wrapping_mul(total)));
            u = isa.product(group.d, isa.to_floats(isum));
            if F::MINIMUM {
                u = isa.fma(group.m, isa.splat_float(total as i32 as f32), u);
            }
        }
        sums[n] = isa.fma(u, da, sums[n]);
    }
    sums
}

#[inline(always)]
fn dot<I: Words, F: Format>(isa: I, sums: I::W, w: I::W, a: [i8; 4]) -> I::W {
    if F::SMALL { isa.dot::<true>(sums, w, a) } else { isa.dot::<false>(sums, w, a) }
}

#[inline(always)]
fn word(x: &[u8; ACTIVATIONS], at: usize) -> [u8; 4] {
    [x[at], x[at + 1], x[at + 2], x[at + 3]]
}

#[inline(always)]
fn four(x: &[u8; ACTIVATIONS], at: usize) -> [i8; 4] {
    word(x, at).map(|b| b as i8)
}
