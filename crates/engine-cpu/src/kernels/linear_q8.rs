//! Products of quantised weights and activations of 8 bits: numerics `q8/32.i32`. Lanes are rows of the weight.
//!
//! Each result is one chain over the groups of 32, ascending:
//! `u = d f32(isum)`, with a minimum `u = fma(-m, f32(asum), u)`, then `acc = fma(u, da, acc)`. The integers are exact
//! in any order, so tiles, threads, rows of a step and instruction sets change no bit.

use super::decoded::decode_row;
use super::formats::{Format, Group, with_format};
use crate::isa::{Body, F16x, Isa, LANES, Portable};
use crate::tile::Tile;
use inkstone_tensor::DType;
use inkstone_tensor::step::StepError;

/// Groups that are unpacked at once: they stay in the first cache while all rows of the step use them.
const GROUPS: usize = 8;
/// Bytes of a group of activations.
const ACTIVATIONS: usize = 40;

/// 16 rows of a weight, some groups of them.
struct Panel {
    /// By group, then by four values: 16 rows of four.
    quants: [[[u8; 64]; 8]; GROUPS],
    d: [F16x; GROUPS],
    m: [F16x; GROUPS],
    scale: [[[i32; LANES]; 2]; GROUPS],
    minimum: [[[i32; LANES]; 2]; GROUPS],
}

pub(super) fn linear<I: Isa>(tile: &mut Tile) -> Result<(), StepError> {
    match I::detect() {
        Some(isa) => isa.run(Call(isa, tile)),
        None => Call(Portable, tile).call(),
    }
    Ok(())
}

struct Call<'t, 'a, 'm, I>(I, &'t mut Tile<'a, 'm>);

impl<I: Isa> Body for Call<'_, '_, '_, I> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let dtype = self.1.ins[1].ty.dtype;
        with_format!(dtype, product::<I>(self.0, self.1))
    }
}

#[inline(always)]
fn product<I: Isa, F: Format>(isa: I, tile: &mut Tile) {
    let [x, w] = [tile.ins[0], tile.ins[1]];
    let bias = tile.ins.get(2).copied();
    let out = &mut tile.outs[0];
    let (rows, cols) = (out.rows.clone(), out.cols.clone());
    let groups = x.ty.cols / 32;
    let mut panel = Panel {
        quants: [[[0; 64]; 8]; GROUPS],
        d: [[0.0; LANES]; GROUPS],
        m: [[0.0; LANES]; GROUPS],
        scale: [[[0; LANES]; 2]; GROUPS],
        minimum: [[[0; LANES]; 2]; GROUPS],
    };
    let floats = tile.scratch.floats(rows.len() * LANES + cols.len());
    let (sums, biases) = floats.split_at_mut(rows.len() * LANES);
    let sums = sums.as_chunks_mut::<LANES>().0;
    biases.fill(0.0);
    if let Some(bias) = bias {
        decode_row(&bias, 0, cols.start, biases);
    }
    for first in cols.clone().step_by(LANES) {
        let lanes = LANES.min(cols.end - first);
        sums.iter_mut().for_each(|s| *s = [0.0; LANES]);
        for from in (0..groups).step_by(GROUPS) {
            let count = GROUPS.min(groups - from);
            for lane in 0..lanes {
                let row = w.row_bytes(first + lane);
                for g in 0..count {
                    let block = &row[(from + g) / F::GROUPS * F::BYTES..][..F::BYTES];
                    put(&mut panel, g, lane, &F::group(block, (from + g) % F::GROUPS));
                }
            }
            for (sum, r) in sums.iter_mut().zip(rows.clone()) {
                let activations = &x.row_bytes(r)[from * ACTIVATIONS..][..count * ACTIVATIONS];
                for (g, a) in activations.as_chunks::<ACTIVATIONS>().0.iter().enumerate() {
                    *sum = step::<I, F>(isa, &panel, g, a, *sum);
                }
            }
        }
        for (sum, r) in sums.iter().zip(rows.clone()) {
            let at = first - cols.start;
            let out = &mut out.row::<f32>(r)[at..at + lanes];
            for ((out, sum), bias) in out.iter_mut().zip(sum).zip(&biases[at..]) {
                *out = if tile.ins.len() == 3 { sum + bias } else { *sum };
            }
        }
    }
}

#[inline(always)]
fn put(panel: &mut Panel, g: usize, lane: usize, group: &Group) {
    for (line, four) in panel.quants[g].iter_mut().zip(group.q.as_chunks::<4>().0) {
        line[4 * lane..4 * lane + 4].copy_from_slice(four);
    }
    (panel.d[g][lane], panel.m[g][lane]) = (group.d, group.m);
    for half in 0..2 {
        panel.scale[g][half][lane] = group.scale[half];
        panel.minimum[g][half][lane] = group.minimum[half];
    }
}

/// A group of 16 rows times one of activations, added: the one place where floats are summed.
#[inline(always)]
fn step<I: Isa, F: Format>(isa: I, panel: &Panel, g: usize, a: &[u8; ACTIVATIONS], sum: F16x) -> F16x {
    let word = |at: usize| [a[at], a[at + 1], a[at + 2], a[at + 3]];
    let four = |i: usize| word(4 * i).map(|b| b as i8);
    let (da, total) = (f32::from_le_bytes(word(32)), i32::from_le_bytes(word(36)));
    let mut parts = [isa.zero(); 2];
    for i in 0..4 {
        parts[0] = isa.dot(parts[0], &panel.quants[g][i], four(i));
    }
    if !F::HALVES {
        parts[1] = parts[0];
    }
    for i in 4..8 {
        parts[1] = isa.dot(parts[1], &panel.quants[g][i], four(i));
    }
    let (low, high) = (isa.sums(parts[0]), isa.sums(parts[1]));
    let low_total: i32 = if F::HALVES { a[..16].iter().map(|b| i32::from(*b as i8)).sum() } else { 0 };
    let totals = [low_total, total - low_total];
    std::array::from_fn(|lane| {
        let isum = if F::HALVES {
            let [first, second] = panel.scale[g];
            let (first, second) = (first[lane], second[lane]);
            first * (low[lane] - F::OFFSET * totals[0]) + second * (high[lane] - F::OFFSET * totals[1])
        } else {
            high[lane] - F::OFFSET * total
        };
        let mut u = panel.d[g][lane] * isum as f32;
        if F::MINIMUM {
            let asum = if F::HALVES {
                panel.minimum[g][0][lane] * totals[0] + panel.minimum[g][1][lane] * totals[1]
            } else {
                total
            };
            u = (-panel.m[g][lane]).mul_add(asum as f32, u);
        }
        u.mul_add(da, sum[lane])
    })
}
