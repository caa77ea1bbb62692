//! Products of rows of floats: tiles of a few rows of the weight by a few of the step, whose sums stay in registers
//! from the first value to the last. [`Terms`] define the lanes of a sum and their rounding.
//!
//! Weights are converted to lanes each time they are read: this uses no multiplier, so it does not slow down prompts,
//! and decoding needs no memory except the weight itself.

use super::product::Activations;
use crate::isa::{Body, Isa};
use crate::lines::{self, LINE};
use crate::scratch;
use std::ops::Range;

mod parts;
mod rows;
mod tile;

use parts::InParts;
pub(super) use parts::Turned;
pub(super) use rows::Rows;
use tile::Tile;

/// The unit of all reads: a cache line, or 16 lanes of floats.
type Line = [u8; LINE];

/// Rows of a weight side by side.
const SIDE: usize = 4;

/// Rows of a step up to which weights pass once, out of the memory.
const FEW: usize = 8;

/// The number of tiles of a weight whose sums wait in memory while a block of their rows is processed: the rows of the
/// step stay in the first cache for all of them.
const TALL: usize = 16;

/// How weights and activations become sums: one chain a lane, in the order of lines. A line of weights goes with
/// `LINES` lines of activations.
pub(super) trait Terms<const LINES: usize>: Copy {
    /// Activations or weights, in a register.
    type Values: Copy;
    /// 16 sums.
    type Sums: Copy;
    /// Registers that 16 sums take.
    const PARTS: usize;
    /// The number of vectors of 16 sums that fit in registers, in addition to their operands.
    const SUMS: usize;
    /// [`Floats::RARE`](crate::isa::Floats::RARE) of the set.
    const RARE: bool;

    /// Sums of nothing.
    fn none(self) -> Self::Sums;
    /// The values of a line of activations that belong to part `part` of the sums.
    fn activations(self, line: &Line, part: usize) -> Self::Values;
    /// The weights for that, of line `at` of the activations that go with the line.
    fn weights(self, line: &Line, at: usize, part: usize) -> Self::Values;
    /// Adds the products to part `part` of the sums.
    fn add(self, x: Self::Values, w: Self::Values, sums: Self::Sums, part: usize) -> Self::Sums;
    /// The sums as a line in memory.
    fn keep(self, sums: Self::Sums) -> Line;
    /// The same, back in registers.
    fn kept(self, line: &Line) -> Self::Sums;
    /// The sum of all lanes, +8, +4, +2, +1, of each.
    fn fold(self, sums: [Self::Sums; SIDE]) -> [f32; SIDE];
    /// The line with this byte will be read soon.
    fn prefetch(self, byte: *const u8);
    /// The same, but not so soon: into the second cache.
    fn prefetch_far(self, byte: *const u8);
}

/// Products of all rows of a weight, and of all of a step, row after row of the step; with a bias for each row of the
/// weight, if there are any.
pub(super) struct Dots<'c, T, const LINES: usize> {
    pub(super) terms: T,
    pub(super) x: Activations<'c>,
    pub(super) w: Rows<'c>,
    pub(super) biases: Option<&'c [f32]>,
    pub(super) out: &'c mut [f32],
}

/// See [`Dots::at_once`].
struct AtOnce<'c, T, const W: usize, const LINES: usize>(Dots<'c, T, LINES>);

impl<T: Terms<LINES>, const W: usize, const LINES: usize> Body for AtOnce<'_, T, W, LINES> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        self.0.at_once::<W>();
    }
}

/// See [`Dots::in_blocks`]; with the lines of a block.
struct InBlocks<'c, T, const W: usize, const C: usize, const TALL: usize, const WIDE: usize, const LINES: usize>(
    Dots<'c, T, LINES>,
    usize,
);

impl<T: Terms<LINES>, const W: usize, const C: usize, const TALL: usize, const WIDE: usize, const LINES: usize> Body
    for InBlocks<'_, T, W, C, TALL, WIDE, LINES>
{
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        self.0.in_blocks::<W, C, TALL, WIDE>(self.1);
    }
}

impl<T: Terms<LINES>, const LINES: usize> Dots<'_, T, LINES> {
    /// Everything; `turned` are the activations, and `memory` is what products of many rows work in.
    pub(super) fn run<I: Isa>(self, isa: I, turned: &Turned, memory: &mut Vec<scratch::Line>) {
        match self.w.lines4 {
            true => self.all::<I, { lines::ROWS }>(isa, turned, memory),
            false => self.all::<I, 1>(isa, turned, memory),
        }
    }

    /// Computes all products; `W` rows of the weight are stored together.
    fn all<I: Isa, const W: usize>(self, isa: I, turned: &Turned, memory: &mut Vec<scratch::Line>) {
        let few = self.x.count() <= FEW;
        if const { T::PARTS == 1 } {
            if const { T::RARE } || few {
                isa.run(AtOnce::<T, W, LINES>(self));
            } else if const { T::SUMS >= 6 * SIDE } {
                isa.run(InBlocks::<T, W, 6, TALL, 4, LINES>(self, 128));
            } else {
                isa.run(InBlocks::<T, W, 1, TALL, 1, LINES>(self, 128));
            }
        } else if self.x.count() <= 1 {
            isa.run(AtOnce::<T, W, LINES>(self));
        } else if few {
            isa.run(InBlocks::<T, W, 3, 1, 8, LINES>(self, 64));
        } else {
            isa.run(InParts::<T, W, LINES>(self, turned.lines(), memory));
        }
    }

    /// All rows of the step by some of the weight, which passes once, out of the memory.
    #[inline(always)]
    fn at_once<const W: usize>(&mut self) {
        for at in (0..self.w.count).step_by(SIDE) {
            let mut far = true;
            for rows in evenly(0..self.x.count(), (T::SUMS / SIDE).max(1)) {
                match rows.len() {
                    1 => self.block::<W, 1>(rows, at, far),
                    2 if const { T::SUMS >= 2 * SIDE } => self.block::<W, 2>(rows, at, far),
                    3 if const { T::SUMS >= 3 * SIDE } => self.block::<W, 3>(rows, at, far),
                    4 if const { T::SUMS >= 4 * SIDE } => self.block::<W, 4>(rows, at, far),
                    5 if const { T::SUMS >= 5 * SIDE } => self.block::<W, 5>(rows, at, far),
                    6 if const { T::SUMS >= 6 * SIDE } => self.block::<W, 6>(rows, at, far),
                    count => unreachable!("{count} rows, for which there are no registers"),
                }
                far = false;
            }
        }
    }

    #[inline(always)]
    fn block<const W: usize, const C: usize>(&mut self, rows: Range<usize>, at: usize, far: bool) {
        let tile = Tile::<T, W, C, LINES>::new(self.terms, self.x, rows.start, self.w, at);
        let mut sums = [[self.terms.none(); C]; SIDE];
        tile.add(&mut sums, far);
        self.put(rows, at, &sums);
    }

    /// All rows, so many lines of activations after the other, and of each one part of the sums after the other, for
    /// which there are more registers: `C` rows of the step by `SIDE` of the weight. A block of `C` rows of the step
    /// stays in the first cache for `TALL` tiles of the weight, whose own come out of the second for `WIDE` of these.
    #[inline(always)]
    fn in_blocks<const W: usize, const C: usize, const TALL: usize, const WIDE: usize>(&mut self, block: usize) {
        let mut kept = [[[[self.terms.none(); C]; SIDE]; TALL]; WIDE];
        let (lines, count, size) = (self.w.lines(), self.x.count(), self.w.count);
        for from in (0..count).step_by(C * WIDE) {
            let few = from..count.min(from + C * WIDE);
            for first in (0..size).step_by(TALL * SIDE) {
                for begin in (0..lines.max(1)).step_by(block / LINES) {
                    let block = begin..lines.min(begin + block / LINES);
                    for (rows, kept) in evenly(few.clone(), C).zip(&mut kept) {
                        for (at, kept) in (first..size).step_by(SIDE).zip(kept) {
                            match rows.len() {
                                1 => self.part::<W, 1, C>(rows.clone(), at, block.clone(), kept),
                                2 if const { C >= 2 } => self.part::<W, 2, C>(rows.clone(), at, block.clone(), kept),
                                3 if const { C >= 3 } => self.part::<W, 3, C>(rows.clone(), at, block.clone(), kept),
                                4 if const { C >= 4 } => self.part::<W, 4, C>(rows.clone(), at, block.clone(), kept),
                                5 if const { C >= 5 } => self.part::<W, 5, C>(rows.clone(), at, block.clone(), kept),
                                6 if const { C >= 6 } => self.part::<W, 6, C>(rows.clone(), at, block.clone(), kept),
                                count => unreachable!("{count} of {C} rows at most"),
                            }
                        }
                    }
                }
            }
        }
    }

    /// These lines, and with the last of them the results.
    #[inline(always)]
    fn part<const W: usize, const C: usize, const N: usize>(
        &mut self,
        rows: Range<usize>,
        at: usize,
        lines: Range<usize>,
        kept: &mut [[T::Sums; N]; SIDE],
    ) {
        let tile = Tile::<T, W, C, LINES>::new(self.terms, self.x, rows.start, self.w, at);
        let (first, last) = (lines.start == 0, lines.end == self.w.lines());
        // Not a loop: parts are known where their code is made.
        tile.add_part(kept, lines.clone(), 0, first);
        if T::PARTS > 1 {
            tile.add_part(kept, lines, 1, false);
        }
        if last {
            tile.add_rest(kept);
            self.put(rows, at, kept);
        }
    }

    /// Results of these rows of the step and the weight's from `at` on, of which there may be fewer.
    #[inline(always)]
    fn put<const C: usize>(&mut self, rows: Range<usize>, at: usize, sums: &[[T::Sums; C]; SIDE]) {
        let size = self.w.count;
        for (c, row) in rows.enumerate() {
            let mut results = self.terms.fold([sums[0][c], sums[1][c], sums[2][c], sums[3][c]]);
            let out = &mut self.out[row * size + at..][..SIDE.min(size - at)];
            if let Some(biases) = self.biases {
                for (result, bias) in results.iter_mut().zip(&biases[at..]) {
                    *result += bias;
                }
            }
            match out.first_chunk_mut() {
                Some(out) => *out = results,
                None => out.copy_from_slice(&results[..out.len()]),
            }
        }
    }
}

/// Divides rows into parts of limited and nearly equal size: a single row costs nearly as much as several.
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
