//! Products of rows of floats: tiles of a few rows of the weight by a few of the step, whose sums stay in registers from
//! the first value to the last. What the lanes of a sum are, and how they are rounded, [`Terms`] say.
//!
//! Weights are turned into lanes each time they are read: that takes no multiplier, so prompts lose nothing by it, and
//! decoding needs no memory but the weight's own.

use super::product::Activations;
use crate::isa::{self, Body};
use crate::lines::{self, LINE, LINES4};
use crate::memory::View;
use std::ops::Range;

/// What all is read in: a cache line, and 16 lanes of floats.
type Line = [u8; LINE];

/// Bytes of rows side by side up to which the first cache has room for them, and for those that are asked for.
const ROOM: usize = 16 << 10;

/// Bytes of activations that stay in the second cache while the weights of a tile pass.
const NEAR: usize = 256 << 10;

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

/// Rows of a weight.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    bytes: &'a [u8],
    /// Bytes of each.
    row: usize,
    count: usize,
    /// Whether they lie in [`LINES4`], or one after the other.
    lines4: bool,
}

impl<'a> Rows<'a> {
    /// Some rows of a weight; of one in groups they begin with a group.
    pub(super) fn of(w: &View<'a>, rows: Range<usize>) -> Rows<'a> {
        let (row, count, lines4) = (w.stride(), rows.len(), w.layout == LINES4);
        let bytes = match lines4 {
            true => w.groups(lines::ROWS, rows.start / lines::ROWS, count.div_ceil(lines::ROWS)),
            false => w.rows_from(rows.start, count),
        };
        Rows { bytes, row, count, lines4 }
    }

    /// Rows of floats, one after the other.
    pub(super) fn decoded(values: &'a [f32], cols: usize) -> Rows<'a> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        Rows { bytes, row: 4 * cols, count: values.len() / cols.max(1), lines4: false }
    }

    /// Row `i` of rows of which `T` lie together.
    #[inline(always)]
    fn row<const T: usize>(self, i: usize) -> Row<'a, T> {
        let group = &self.bytes[i / T * T * self.row..][..T * self.row];
        let (lines, rest) = group.split_at(self.row / LINE * LINE * T);
        Row {
            lines: lines.as_chunks().0.as_chunks().0,
            rest: &rest[i % T * (rest.len() / T)..][..rest.len() / T],
            at: i % T,
        }
    }
}

/// A row of those of which `T` lie together.
#[derive(Clone, Copy)]
struct Row<'a, const T: usize> {
    /// Whole lines, of all of them.
    lines: &'a [[Line; T]],
    /// What is left of this row.
    rest: &'a [u8],
    /// Which of them it is.
    at: usize,
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
        let most = (T::SUMS / if T::SUMS < 24 { 2 } else { 4 }).max(1);
        let (count, near) = (self.x.count(), (NEAR / self.x.row(0).len().max(1) / most).max(1) * most);
        for from in (0..count).step_by(near) {
            let rows = from..count.min(from + near);
            // The weight passes once for each of these; only the first time it comes from far.
            match T::SUMS {
                24.. => self.rows::<W, 4>(rows, from == 0),
                // Few sums a row of the weight: more rows make up for it.
                _ if rows.len() == 1 => self.rows::<W, 4>(rows, from == 0),
                _ => self.rows::<W, 2>(rows, from == 0),
            }
        }
    }

    /// These rows of the step, `SIDE` rows of the weight at a time.
    #[inline(always)]
    fn rows<const W: usize, const SIDE: usize>(&mut self, rows: Range<usize>, far: bool) {
        let most = (T::SUMS / SIDE).max(1);
        for at in (0..self.w.count).step_by(SIDE) {
            let (mut row, mut far) = (rows.start, far);
            while row < rows.end {
                // As even as can be: one row alone costs nearly as much as several.
                let left = rows.end - row;
                let count = left.div_ceil(left.div_ceil(most));
                match count {
                    1 => self.block::<W, SIDE, 1>(row, at, far),
                    2 if T::SUMS >= 2 * SIDE => self.block::<W, SIDE, 2>(row, at, far),
                    3 if T::SUMS >= 3 * SIDE => self.block::<W, SIDE, 3>(row, at, far),
                    4 if T::SUMS >= 4 * SIDE => self.block::<W, SIDE, 4>(row, at, far),
                    5 if T::SUMS >= 5 * SIDE => self.block::<W, SIDE, 5>(row, at, far),
                    6 if T::SUMS >= 6 * SIDE => self.block::<W, SIDE, 6>(row, at, far),
                    _ => unreachable!("{count} rows of at most {most}"),
                }
                (row, far) = (row + count, false);
            }
        }
    }

    /// `R` rows of the weight from `at` on, or as many as there are, by `C` of the step from `row` on.
    #[inline(always)]
    fn block<const W: usize, const R: usize, const C: usize>(&mut self, row: usize, at: usize, far: bool) {
        let size = self.w.count;
        let count = R.min(size - at);
        let mut weights = [self.w.row::<W>(at); R];
        for (i, weights) in weights.iter_mut().enumerate().skip(1) {
            // A row may be there twice.
            *weights = self.w.row::<W>(at + i.min(count - 1));
        }
        let mut x: [&[u8]; C] = [&[]; C];
        for (i, x) in x.iter_mut().enumerate() {
            *x = self.x.row(row + i);
        }
        let sums = dots::<T, W, R, C, LINES>(self.terms, x, weights, far);
        for (i, sums) in sums.iter().enumerate().take(count) {
            for (c, sum) in sums.iter().enumerate() {
                let out = &mut self.out[(row + c) * size + at + i];
                *out = if let Some(biases) = self.biases { sum + biases[at + i] } else { *sum };
            }
        }
    }
}

/// Rows of a weight times rows of activations; `far`: the rows of the weight after these will be wanted.
///
/// Rows side by side are several streams, short ones, which the processor sees too late: so while these are read, the next
/// ones are asked for in the order in which they lie. Rows that lie together are one, of which only some machines want to be
/// told.
#[inline(always)]
fn dots<T: Terms<LINES>, const W: usize, const R: usize, const C: usize, const LINES: usize>(
    terms: T,
    x: [&[u8]; C],
    w: [Row<W>; R],
    far: bool,
) -> [[f32; C]; R] {
    let count = w[0].lines.len();
    let (mut lines, mut places) = ([w[0].lines; R], [w[0].at; R]);
    for r in 0..R {
        // Those of a whole group lie in their order.
        (lines[r], places[r]) = (&w[r].lines[..count], if R == W { r } else { w[r].at });
    }
    let mut values: [&[[Line; LINES]]; C] = [&[]; C];
    for c in 0..C {
        values[c] = &x[c].as_chunks().0.as_chunks().0[..count];
    }
    let bytes = count * LINE + w[0].rest.len();
    let ahead = match W {
        1 => R * bytes,
        _ if W == R => isa::far(2),
        _ => 0,
    };
    let next = w[0].lines.as_ptr().cast::<u8>().wrapping_add(ahead);
    let stride = if far && ahead > 0 { LINE } else { 0 };
    let long = W > 1 || R * bytes > ROOM;

    let mut sums = [[terms.none(); C]; R];
    for i in 0..count {
        let (mut w, mut x) = ([&lines[0][i][0]; R], [&values[0][i]; C]);
        for r in 0..R {
            let byte = next.wrapping_add((i * R + r) * stride);
            if long {
                terms.prefetch_far(byte);
            } else {
                terms.prefetch(byte);
            }
            w[r] = &lines[r][i][places[r] % W];
        }
        for c in 0..C {
            x[c] = &values[c][i];
        }
        sums = add(terms, x, w, sums);
    }
    if !w[0].rest.is_empty() {
        // Lanes beyond the end add zero.
        let w = w.map(|w| rest(w.rest, 0));
        let x = x.map(|x| std::array::from_fn(|at| rest(x, count * LINES + at)));
        sums = add(terms, x.each_ref(), w.each_ref(), sums);
    }
    let mut folded = [[0.0; C]; R];
    for r in 0..R {
        for c in 0..C {
            folded[r][c] = terms.fold(sums[r][c]);
        }
    }
    folded
}

/// Adds the products of a line of each row.
#[inline(always)]
fn add<T: Terms<LINES>, const R: usize, const C: usize, const LINES: usize>(
    terms: T,
    x: [&[Line; LINES]; C],
    w: [&Line; R],
    mut sums: [[T::Sums; C]; R],
) -> [[T::Sums; C]; R] {
    for at in 0..LINES {
        for part in 0..T::PARTS {
            let mut weights = [terms.weights(w[0], at, part); R];
            for r in 1..R {
                weights[r] = terms.weights(w[r], at, part);
            }
            for (c, lines) in x.iter().enumerate() {
                let x = terms.activations(&lines[at], part);
                for r in 0..R {
                    sums[r][c] = terms.add(x, weights[r], sums[r][c], part);
                }
            }
        }
    }
    sums
}

/// Line `i` of some bytes, with zeros beyond their end.
#[inline(always)]
fn rest(bytes: &[u8], i: usize) -> Line {
    let mut line = [0; LINE];
    let bytes = bytes.get(i * LINE..).unwrap_or_default();
    let bytes = &bytes[..bytes.len().min(LINE)];
    line[..bytes.len()].copy_from_slice(bytes);
    line
}
