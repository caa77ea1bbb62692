//! Products of rows of floats: tiles of a few rows of the weight by a few of the step, whose sums stay in registers from
//! the first value to the last. What the lanes of a sum are, and how they are rounded, [`Terms`] say.
//!
//! Weights are turned into lanes each time they are read: that takes no multiplier, so prompts lose nothing by it, and
//! decoding needs no memory but the weight's own.

use super::product::Activations;
use crate::isa::Body;
use crate::lines::{self, LINE};
use std::ops::Range;

mod rows;
mod tile;

pub(super) use rows::Rows;
use tile::Tile;

/// What all is read in: a cache line, and 16 lanes of floats.
type Line = [u8; LINE];

/// Rows of a weight side by side.
const SIDE: usize = 4;

/// Rows of a step up to which weights pass once, out of the memory.
const FEW: usize = 8;

/// Bytes of activations that stay in the second cache while the weights of a tile pass.
const NEAR: usize = 256 << 10;

/// Most tiles of the same rows of a weight, one after the other.
const TILES: usize = 16;

/// Lines of activations that all parts of sums take one after the other.
const BLOCK: usize = 64;

/// Where parts go one after the other: tiles of a step by tiles of a weight whose sums wait in memory while blocks of their
/// rows pass, so that these come out of the second cache.
const WAITING: [usize; 2] = [8, 16];

/// How weights and activations become sums: one chain a lane, in the order of lines. A line of weights goes with `LINES` lines
/// of activations.
pub(super) trait Terms<const LINES: usize>: Copy {
    /// Activations or weights, in a register.
    type Values: Copy;
    /// 16 sums.
    type Sums: Copy;
    /// Registers that 16 sums take.
    const PARTS: usize;
    /// How many times 16 sums fit into registers, beside what is added to them.
    const SUMS: usize;

    /// Sums of nothing.
    fn none(self) -> Self::Sums;
    /// What goes to part `part` of the sums of a line of activations.
    fn activations(self, line: &Line, part: usize) -> Self::Values;
    /// The weights for that, of line `at` of the activations that go with the line.
    fn weights(self, line: &Line, at: usize, part: usize) -> Self::Values;
    /// Adds the products to part `part` of the sums.
    fn add(self, x: Self::Values, w: Self::Values, sums: Self::Sums, part: usize) -> Self::Sums;
    /// The sum of all lanes: +8, +4, +2, +1.
    fn fold(self, sums: Self::Sums) -> f32;
    /// The line with this byte will be read soon.
    fn prefetch(self, byte: *const u8);
    /// The same, but not so soon: into the second cache.
    fn prefetch_far(self, byte: *const u8);
}

/// Products of all rows of a weight, and of all of a step, row after row of the step; with a bias for each row of the weight,
/// if there are any. A body, to be compiled for a set.
pub(super) struct Dots<'c, T, const LINES: usize> {
    pub(super) terms: T,
    pub(super) x: Activations<'c>,
    pub(super) w: Rows<'c>,
    pub(super) biases: Option<&'c [f32]>,
    pub(super) out: &'c mut [f32],
}

impl<T: Terms<LINES>, const LINES: usize> Body for Dots<'_, T, LINES> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        match self.w.lines4 {
            true => self.all::<{ lines::ROWS }>(),
            false => self.all::<1>(),
        }
    }
}

impl<T: Terms<LINES>, const LINES: usize> Dots<'_, T, LINES> {
    /// Everything; `W` rows of the weight lie together.
    #[inline(always)]
    fn all<const W: usize>(mut self) {
        match self.x.count() {
            0 | 1 => {}
            ..=FEW if T::PARTS > 1 => return self.by_parts::<W, 1>(),
            _ if T::PARTS > 1 => return self.by_parts::<W, { WAITING[1] }>(),
            _ => {}
        }
        let most = (T::SUMS * T::PARTS / SIDE).max(1);
        let (count, near) = (self.x.count(), (NEAR / self.x.row_bytes().max(1) / most).clamp(1, TILES) * most);
        for from in (0..count).step_by(near) {
            // The weight passes once for each of these; only the first time it comes from far.
            let (rows, far) = (from..count.min(from + near), from == 0);
            for at in (0..self.w.count).step_by(SIDE) {
                self.at_once::<W>(rows.clone(), at, far);
            }
        }
    }

    /// Rows of the weight from `at` on by these of the step, all parts of their sums at once.
    #[inline(always)]
    fn at_once<const W: usize>(&mut self, rows: Range<usize>, at: usize, mut far: bool) {
        for rows in evenly(rows, (T::SUMS / SIDE).max(1)) {
            match rows.len() {
                1 => self.block::<W, 1>(rows, at, far),
                2 if T::SUMS >= 2 * SIDE => self.block::<W, 2>(rows, at, far),
                3 if T::SUMS >= 3 * SIDE => self.block::<W, 3>(rows, at, far),
                4 if T::SUMS >= 4 * SIDE => self.block::<W, 4>(rows, at, far),
                5 if T::SUMS >= 5 * SIDE => self.block::<W, 5>(rows, at, far),
                6 if T::SUMS >= 6 * SIDE => self.block::<W, 6>(rows, at, far),
                count => unreachable!("{count} rows, for which there are no registers"),
            }
            far = false;
        }
    }

    #[inline(always)]
    fn block<const W: usize, const C: usize>(&mut self, rows: Range<usize>, at: usize, far: bool) {
        let tile = Tile::<T, W, C, LINES>::new(self.terms, self.x, rows.start, self.w, at);
        let mut sums = [[self.terms.none(); C]; SIDE];
        tile.add(&mut sums, far);
        self.put(rows, at, &sums);
    }

    /// All rows with one part of the sums after the other, for which there are more registers. A block of three rows of the step
    /// stays in the first cache for all parts of `TALL` tiles of the weight.
    #[inline(always)]
    fn by_parts<const W: usize, const TALL: usize>(&mut self) {
        let mut kept = [[[[self.terms.none(); 3]; SIDE]; TALL]; WAITING[0]];
        let (lines, count, size) = (self.w.lines(), self.x.count(), self.w.count);
        for from in (0..count).step_by(3 * WAITING[0]) {
            let few = from..count.min(from + 3 * WAITING[0]);
            for first in (0..size).step_by(TALL * SIDE) {
                for block in (0..lines.max(1)).step_by(BLOCK / LINES) {
                    let block = block..lines.min(block + BLOCK / LINES);
                    for (rows, kept) in evenly(few.clone(), 3).zip(&mut kept) {
                        for (at, kept) in (first..size).step_by(SIDE).zip(kept) {
                            match rows.len() {
                                1 => self.part::<W, 1>(rows.clone(), at, block.clone(), kept),
                                2 => self.part::<W, 2>(rows.clone(), at, block.clone(), kept),
                                3 => self.part::<W, 3>(rows.clone(), at, block.clone(), kept),
                                count => unreachable!("{count} of several rows"),
                            }
                        }
                    }
                }
            }
        }
    }

    /// These lines, and with the last of them the results.
    #[inline(always)]
    fn part<const W: usize, const C: usize>(
        &mut self,
        rows: Range<usize>,
        at: usize,
        lines: Range<usize>,
        kept: &mut [[T::Sums; 3]; SIDE],
    ) {
        let tile = Tile::<T, W, C, LINES>::new(self.terms, self.x, rows.start, self.w, at);
        let (first, last) = (lines.start == 0, lines.end == self.w.lines());
        tile.add_part(kept, lines.clone(), 0, first);
        tile.add_part(kept, lines, 1, false);
        if last {
            tile.add_rest(kept);
            self.put(rows, at, kept);
        }
    }

    /// Results of these rows of the step and the weight's from `at` on, of which there may be fewer.
    #[inline(always)]
    fn put<const C: usize>(&mut self, rows: Range<usize>, at: usize, sums: &[[T::Sums; C]; SIDE]) {
        let size = self.w.count;
        for (i, sums) in sums.iter().enumerate().take(size - at) {
            for (row, sum) in rows.clone().zip(sums) {
                let sum = self.terms.fold(*sum);
                self.out[row * size + at + i] = if let Some(biases) = self.biases { sum + biases[at + i] } else { sum };
            }
        }
    }
}

/// Rows in parts of at most so many, as even as can be: one alone costs nearly as much as several.
#[inline(always)]
fn evenly(rows: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
    let mut left = rows;
    std::iter::from_fn(move || {
        let count = left.len().div_ceil(left.len().div_ceil(most).max(1));
        let start = left.start;
        left.start += count;
        (count > 0).then_some(start..start + count)
    })
}
