//! Products of a few rows of a weight with a few of a step, line by line.

use super::{Activations, Line, Rows, SIDE, Terms, rows::Row};
use crate::isa;
use crate::lines::LINE;
use std::ops::Range;

/// Bytes of rows side by side up to which the first cache has room for them, and for those that are asked for.
const ROOM: usize = 16 << 10;

/// `SIDE` rows of a weight, stored in groups of `W`, and `C` rows of a step.
pub(super) struct Tile<'a, T, const W: usize, const C: usize, const LINES: usize> {
    terms: T,
    x: [&'a [u8]; C],
    w: [Row<'a, W>; SIDE],
    /// Whole lines of activations, as many as there are lines of the weight.
    values: [&'a [[Line; LINES]]; C],
}

impl<'a, T: Terms<LINES>, const W: usize, const C: usize, const LINES: usize> Tile<'a, T, W, C, LINES> {
    /// Rows of the step from `row` on, and rows of the weight from `at` on: if there are too few, the last is there
    /// again.
    #[inline(always)]
    pub(super) fn new(terms: T, x: Activations<'a>, row: usize, rows: Rows<'a>, at: usize) -> Self {
        let mut w = [rows.row(at); SIDE];
        for (i, w) in w.iter_mut().enumerate().skip(1) {
            *w = rows.row(at + i.min(rows.count - 1 - at));
        }
        let (mut given, mut values): ([&[u8]; C], [&[[Line; LINES]]; C]) = ([&[]; C], [&[]; C]);
        for c in 0..C {
            given[c] = x.row(row + c);
            values[c] = &given[c].as_chunks().0.as_chunks().0[..rows.lines()];
        }
        Tile { terms, x: given, w, values }
    }

    /// Adds all products; `far`: the rows of the weight after these will be needed.
    ///
    /// Rows side by side are several short streams, which the processor detects too late. So while these rows are read,
    /// the next ones are prefetched in the order of memory. Rows that are stored together are one stream, for which
    /// only some machines need prefetches.
    #[inline(always)]
    pub(super) fn add(&self, sums: &mut [[T::Sums; C]; SIDE], far: bool) {
        let bytes = self.w[0].lines.len() * LINE + self.w[0].rest.len();
        let ahead = if W == 1 { SIDE * bytes } else { isa::far().floats };
        let next = self.w[0].lines.as_ptr().cast::<u8>().wrapping_add(ahead);
        let stride = if far && ahead > 0 { LINE } else { 0 };
        let long = W > 1 || SIDE * bytes > ROOM;
        let lines = self.lines(0..self.w[0].lines.len());
        let mut here = *sums;
        for i in 0..lines[0].len() {
            for r in 0..SIDE {
                let byte = next.wrapping_add((i * SIDE + r) * stride);
                if long {
                    self.terms.prefetch_far(byte);
                } else {
                    self.terms.prefetch(byte);
                }
            }
            let w = self.line(&lines, i);
            let x = line(&self.values, i);
            for part in 0..T::PARTS {
                here = add(self.terms, x, w, here, part);
            }
        }
        *sums = here;
        self.add_rest(sums);
    }

    /// Adds the products of these lines to a part of the sums in memory, or with `first` to zero.
    #[inline(always)]
    pub(super) fn add_part<const N: usize>(
        &self,
        sums: &mut [[T::Sums; N]; SIDE],
        range: Range<usize>,
        part: usize,
        first: bool,
    ) {
        let lines = self.lines(range.clone());
        let mut values = self.values;
        for values in &mut values {
            *values = &values[range.clone()];
        }
        let mut here = if first { [[self.terms.none(); C]; SIDE] } else { some(sums) };
        for i in 0..range.len() {
            here = add(self.terms, line(&values, i), self.line(&lines, i), here, part);
        }
        put(here, sums);
    }

    /// Adds what is left beyond whole lines; lanes beyond the end add zero.
    #[inline(always)]
    pub(super) fn add_rest<const N: usize>(&self, sums: &mut [[T::Sums; N]; SIDE]) {
        if self.w[0].rest.is_empty() {
            return;
        }
        let count = self.w[0].lines.len();
        // Without closures, which would become separate functions for every number of rows of every dtype.
        let (mut w, mut x) = ([[0; LINE]; SIDE], [[[0; LINE]; LINES]; C]);
        for (line, row) in w.iter_mut().zip(&self.w) {
            *line = rest(row.rest, 0);
        }
        for (lines, row) in x.iter_mut().zip(self.x) {
            for (at, line) in lines.iter_mut().enumerate() {
                *line = rest(row, count * LINES + at);
            }
        }
        let (mut lines, mut values) = ([&w[0]; SIDE], [&x[0]; C]);
        for r in 1..SIDE {
            lines[r] = &w[r];
        }
        for c in 1..C {
            values[c] = &x[c];
        }
        let mut here = some(sums);
        for part in 0..T::PARTS {
            here = add(self.terms, values, lines, here, part);
        }
        put(here, sums);
    }

    /// These lines of each row.
    #[inline(always)]
    fn lines(&self, range: Range<usize>) -> [&'a [[Line; W]]; SIDE] {
        let mut lines = [&self.w[0].lines[range.clone()]; SIDE];
        for r in 1..SIDE {
            lines[r] = &self.w[r].lines[range.clone()][..lines[0].len()];
        }
        lines
    }

    /// Line `i` of each row.
    #[inline(always)]
    fn line(&self, lines: &[&'a [[Line; W]]; SIDE], i: usize) -> [&'a Line; SIDE] {
        let mut line = [&lines[0][i][0]; SIDE];
        for r in 0..SIDE {
            // The lines of a group are stored in their order.
            line[r] = &lines[r][i][if W == SIDE { r } else { self.w[r].at }];
        }
        line
    }
}

/// The first `C` of each.
#[inline(always)]
fn some<S: Copy, const C: usize, const N: usize>(sums: &[[S; N]; SIDE]) -> [[S; C]; SIDE] {
    let mut some = [[sums[0][0]; C]; SIDE];
    for r in 0..SIDE {
        for c in 0..C {
            some[r][c] = sums[r][c];
        }
    }
    some
}

/// The same, put back.
#[inline(always)]
fn put<S: Copy, const C: usize, const N: usize>(some: [[S; C]; SIDE], sums: &mut [[S; N]; SIDE]) {
    for r in 0..SIDE {
        for c in 0..C {
            sums[r][c] = some[r][c];
        }
    }
}

/// Item `i` of each.
#[inline(always)]
fn line<'a, L, const C: usize>(lines: &[&'a [L]; C], i: usize) -> [&'a L; C] {
    let mut line = [&lines[0][i]; C];
    for c in 1..C {
        line[c] = &lines[c][i];
    }
    line
}

/// Adds the products of a line of each row to a part of the sums.
#[inline(always)]
fn add<T: Terms<LINES>, const C: usize, const LINES: usize>(
    terms: T,
    x: [&[Line; LINES]; C],
    w: [&Line; SIDE],
    mut sums: [[T::Sums; C]; SIDE],
    part: usize,
) -> [[T::Sums; C]; SIDE] {
    for (at, line) in x[0].iter().enumerate() {
        let mut values = [terms.activations(line, part); C];
        for c in 1..C {
            values[c] = terms.activations(&x[c][at], part);
        }
        for r in 0..SIDE {
            let weights = terms.weights(w[r], at, part);
            for c in 0..C {
                sums[r][c] = terms.add(values[c], weights, sums[r][c], part);
            }
        }
    }
    sums
}

/// Line `i` of some bytes, with zeros beyond their end. Compiled once, because it is needed only for the last line of a
/// row.
#[inline(never)]
pub(super) fn rest(bytes: &[u8], i: usize) -> Line {
    let mut line = [0; LINE];
    let bytes = bytes.get(i * LINE..).unwrap_or_default();
    let bytes = &bytes[..bytes.len().min(LINE)];
    line[..bytes.len()].copy_from_slice(bytes);
    line
}
