//! Many rows of a step, if registers hold only one part of the sums of a tile, so that the parts are computed one after
//! the other.
//!
//! Each line has values of both parts, so a tile would read all its lines twice. Therefore lines are transposed first,
//! two at a time, so that the values of each part are contiguous. The rows of the step are arranged side by side at the
//! same time, once per worker; in memory they are often a power of two apart, where the first cache has few places for
//! them. A block of the weight is transposed once for many rows of the step.

use super::tile::rest;
use super::{Activations, Dots, FEW, Line, Rows, SIDE, Terms, evenly};
use crate::isa::{Body, Floats};
use crate::kernels::product::first;
use crate::lines::LINE;
use crate::scratch;
use std::ops::Range;

/// Parts of sums, and lines that are turned together.
const PARTS: usize = 2;
/// Rows of the step side by side: of so many, times `SIDE` of the weight, registers hold one part of the sums.
const COUNT: usize = 3;
/// So many of these, whose sums wait in memory for the next block.
const WIDE: usize = 64;
/// Lines of activations in a block. One part of `COUNT` rows and one part of a tile of F16 take 20 KB of the first
/// cache, and 64 rows of the weight take 256 KB of the second.
const BLOCK: usize = 128;

/// Activations of a step, turned: for each block, for all rows, those side by side the first part of all lines, then
/// the second.
#[derive(Default)]
pub(in crate::kernels) struct Turned {
    lines: Vec<scratch::Line>,
}

impl Turned {
    /// Turns them, if they are so many that [`Dots::run`] wants it.
    pub(in crate::kernels) fn pack<I: Floats>(&mut self, x: Activations) {
        if let Some(isa) = I::detect()
            && wants::<I>(x.count())
        {
            let lines = first(&mut self.lines, x.count() * lines_of(x));
            isa.run(Pack { x, turned: bytemuck::cast_slice_mut(lines) });
        }
    }

    pub(super) fn lines(&self) -> &[Line] {
        bytemuck::cast_slice(&self.lines)
    }
}

/// Whether so many rows are turned.
const fn wants<I: Floats>(rows: usize) -> bool {
    I::PARTS == PARTS && rows > FEW
}

/// What [`Turned::pack`] does.
struct Pack<'c> {
    x: Activations<'c>,
    turned: &'c mut [Line],
}

impl Body for Pack<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let (count, lines) = (self.x.count(), lines_of(self.x));
        for begin in (0..lines).step_by(BLOCK) {
            let size = BLOCK.min(lines - begin);
            for rows in wide(count).flat_map(|rows| evenly(rows, COUNT)) {
                let turned = &mut self.turned[at(count, begin, &rows, size)];
                match rows.len() {
                    1 => turn_rows::<1>(self.x, rows.start, begin, turned),
                    2 => turn_rows::<2>(self.x, rows.start, begin, turned),
                    3 => turn_rows::<3>(self.x, rows.start, begin, turned),
                    count => unreachable!("{count} of {COUNT} rows at most"),
                }
            }
        }
    }
}

/// Where a block from line `begin` on, of `size` lines, of these of `count` rows is.
#[inline(always)]
fn at(count: usize, begin: usize, rows: &Range<usize>, size: usize) -> Range<usize> {
    count * begin + rows.start * size..count * begin + rows.end * size
}

/// Lines of a row that is turned: with zeros, so many that they go with pairs of lines of any weight.
#[inline(always)]
fn lines_of(x: Activations) -> usize {
    x.row_bytes().div_ceil(LINE).next_multiple_of(2 * PARTS)
}

/// Lines with one of zeros, if they are odd.
#[inline(always)]
fn even(lines: usize) -> usize {
    lines.next_multiple_of(PARTS)
}

/// Rows whose sums wait at the same time.
#[inline(always)]
fn wide(count: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(COUNT * WIDE).map(move |from| from..count.min(from + COUNT * WIDE))
}

/// See [`Dots::in_parts`]; with the activations, turned, and the memory that it works in.
pub(super) struct InParts<'c, T, const W: usize, const LINES: usize>(
    pub(super) Dots<'c, T, LINES>,
    pub(super) &'c [Line],
    pub(super) &'c mut Vec<scratch::Line>,
);

impl<T: Terms<LINES>, const W: usize, const LINES: usize> Body for InParts<'_, T, W, LINES> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        self.0.in_parts::<W>(self.1, self.2);
    }
}

/// Lines of all rows of a weight, turned.
struct Block<'m> {
    /// Which of a row's.
    lines: Range<usize>,
    /// Of each `SIDE` rows together the first part of all lines, then the second.
    weights: &'m [Line],
}

impl<T: Terms<LINES>, const LINES: usize> Dots<'_, T, LINES> {
    /// Computes all products; `W` rows of the weight are stored together.
    #[inline(always)]
    fn in_parts<const W: usize>(&mut self, x: &[Line], memory: &mut Vec<scratch::Line>) {
        let (count, tiles, lines) = (self.x.count(), self.w.count.div_ceil(SIDE), self.lines());
        let most = BLOCK / LINES;
        let of_weights = tiles * even(lines.min(most)) * SIDE;
        let waiting = if lines > most { count.div_ceil(COUNT).min(WIDE) * tiles * SIDE * COUNT } else { 0 };
        let memory: &mut [Line] = bytemuck::cast_slice_mut(first(memory, of_weights + waiting));
        let (weights, waiting) = memory.split_at_mut(of_weights);
        for rows in wide(count) {
            for begin in (0..lines.max(1)).step_by(most) {
                let lines = begin..lines.min(begin + most);
                let size = even(lines.len()) * SIDE;
                for t in 0..tiles {
                    turn_weights::<W, LINES>(self.w, t * SIDE, begin, &mut weights[t * size..][..size]);
                }
                let block = Block { lines, weights };
                let mut waiting = waiting.chunks_exact_mut((tiles * SIDE * COUNT).max(1));
                for rows in evenly(rows.clone(), COUNT) {
                    let waiting = waiting.next().unwrap_or_default();
                    match rows.len() {
                        1 => self.rows::<1>(rows, &block, x, waiting),
                        2 => self.rows::<2>(rows, &block, x, waiting),
                        3 => self.rows::<3>(rows, &block, x, waiting),
                        count => unreachable!("{count} of {COUNT} rows at most"),
                    }
                }
            }
        }
    }

    /// Lines of a row of the weight.
    #[inline(always)]
    fn lines(&self) -> usize {
        self.w.row_bytes().div_ceil(LINE)
    }

    /// `C` rows of the step by all of the weight: results with the last block, until then what waits.
    #[inline(always)]
    fn rows<const C: usize>(&mut self, rows: Range<usize>, block: &Block, x: &[Line], waiting: &mut [Line]) {
        let Block { lines, weights } = block;
        let (size, tiles) = (even(lines.len()), self.w.count.div_ceil(SIDE));
        let begin = lines.start * LINES;
        let x = &x[at(self.x.count(), begin, &rows, BLOCK.min(lines_of(self.x) - begin))];
        let (first_x, second_x) = x.split_at(x.len() / PARTS);
        // The next rows come out of the second cache: some of their lines are asked for with each tile.
        let (next, each) = (x.as_ptr_range().end.cast::<u8>(), x.len().div_ceil(tiles));
        let mut waiting = waiting.chunks_exact_mut(SIDE * COUNT);
        for t in 0..tiles {
            for line in t * each..(t + 1) * each {
                self.terms.prefetch_far(next.wrapping_add(line * LINE));
            }
            let (first_w, second_w) = weights[t * size * SIDE..][..size * SIDE].split_at(size * SIDE / PARTS);
            let mut waiting = waiting.next();
            let mut sums = [[self.terms.none(); C]; SIDE];
            if let (Some(waiting), true) = (&waiting, lines.start > 0) {
                for (sum, line) in sums.as_flattened_mut().iter_mut().zip(waiting.iter()) {
                    *sum = self.terms.kept(line);
                }
            }
            // Not a loop: parts are known where their code is made.
            sums = add(self.terms, first_w, first_x, sums, 0);
            sums = add(self.terms, second_w, second_x, sums, 1);
            match &mut waiting {
                Some(waiting) if lines.end < self.lines() => {
                    for (sum, line) in sums.as_flattened().iter().zip(waiting.iter_mut()) {
                        *line = self.terms.keep(*sum);
                    }
                }
                _ => self.put(rows.clone(), t * SIDE, &sums),
            }
        }
    }
}

/// Adds products of lines that are turned to a part of the sums.
#[inline(always)]
fn add<T: Terms<LINES>, const C: usize, const LINES: usize>(
    terms: T,
    w: &[Line],
    x: &[Line],
    mut sums: [[T::Sums; C]; SIDE],
    part: usize,
) -> [[T::Sums; C]; SIDE] {
    let (w, x): (&[[Line; SIDE]], &[[[Line; C]; LINES]]) = (w.as_chunks().0, x.as_chunks().0.as_chunks().0);
    for (w, x) in w.iter().zip(x) {
        for (j, x) in x.iter().enumerate() {
            for half in 0..PARTS {
                let mut values = [terms.activations(&x[0], half); C];
                for c in 1..C {
                    values[c] = terms.activations(&x[c], half);
                }
                for r in 0..SIDE {
                    let weights = terms.weights(&w[r], j, half);
                    for c in 0..C {
                        sums[r][c] = terms.add(values[c], weights, sums[r][c], part);
                    }
                }
            }
        }
    }
    sums
}

/// Turns lines from `begin` on of `SIDE` rows of a weight from `at` on: if there are too few, the last is there again.
#[inline(always)]
fn turn_weights<const W: usize, const LINES: usize>(w: Rows, at: usize, begin: usize, turned: &mut [Line]) {
    let mut rows = [w.row::<W>(at); SIDE];
    for (r, row) in rows.iter_mut().enumerate().skip(1) {
        *row = w.row(at + r.min(w.count - 1 - at));
    }
    // The padding of the last line must have no effect: adding -0 does not change a sum of -0.
    let mut nothing = [0; LINE];
    nothing.chunks_exact_mut(4 / LINES).for_each(|value| value[4 / LINES - 1] = 0x80);
    let last = rows.map(|row| if row.rest.is_empty() { nothing } else { rest(row.rest, 0) });
    let line = |r: usize, i: usize| match rows[r].lines.get(i) {
        Some(lines) => &lines[rows[r].at],
        None if i == rows[r].lines.len() => &last[r],
        None => &nothing,
    };
    turn_side::<SIDE, LINES>(line, begin, turned);
}

/// The same of activations, of `C` rows from `row` on.
#[inline(always)]
fn turn_rows<const C: usize>(x: Activations, row: usize, begin: usize, turned: &mut [Line]) {
    let (mut rows, mut last): ([&[Line]; C], [Line; C]) = ([&[]; C], [[0; LINE]; C]);
    for c in 0..C {
        let (lines, bytes) = x.row(row + c).as_chunks();
        (rows[c], last[c]) = (lines, rest(bytes, 0));
    }
    let line = |c: usize, i: usize| match rows[c].get(i) {
        Some(line) => line,
        None if i == rows[c].len() => &last[c],
        None => &[0; LINE],
    };
    turn_side::<C, 1>(line, begin, turned);
}

/// Turns lines from `begin` on of `N` rows, which then are side by side: line `i` of row `n`.
#[inline(always)]
fn turn_side<'a, const N: usize, const LINES: usize>(
    line: impl Fn(usize, usize) -> &'a Line,
    begin: usize,
    turned: &mut [Line],
) {
    let (first, second) = turned.split_at_mut(turned.len() / PARTS);
    let turned = first.as_chunks_mut::<N>().0.iter_mut().zip(second.as_chunks_mut::<N>().0);
    for (i, (first, second)) in (begin..).step_by(PARTS).zip(turned) {
        for n in 0..N {
            turn::<LINES>([line(n, i), line(n, i + 1)], [&mut first[n], &mut second[n]]);
        }
    }
}

/// Puts what two lines have of the first part into the first, of the second part into the second. With a line of a
/// weight go `LINES` of activations; parts take turns in each of these.
#[inline(always)]
fn turn<const LINES: usize>(lines: [&Line; PARTS], turned: [&mut Line; PARTS]) {
    let size = LINE / LINES / PARTS;
    for (part, turned) in turned.into_iter().enumerate() {
        for (l, line) in lines.into_iter().enumerate() {
            for i in 0..LINES {
                let from = (i * PARTS + part) * size;
                turned[(l * LINES + i) * size..][..size].copy_from_slice(&line[from..][..size]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_two_lines_lie_together() {
        let [a, b]: [Line; 2] = std::array::from_fn(|l| std::array::from_fn(|i| (64 * l + i) as u8));
        let numbers = |ranges: [Range<u8>; 4]| -> Vec<u8> { ranges.into_iter().flatten().collect() };
        let turned = |turn: fn([&Line; PARTS], [&mut Line; PARTS])| {
            let [mut first, mut second] = [[0; LINE]; PARTS];
            turn([&a, &b], [&mut first, &mut second]);
            [first, second]
        };
        let floats = turned(turn::<1>);
        assert_eq!(floats[0].to_vec(), numbers([0..32, 64..96, 0..0, 0..0]));
        assert_eq!(floats[1].to_vec(), numbers([32..64, 96..128, 0..0, 0..0]));
        let halves = turned(turn::<2>);
        assert_eq!(halves[0].to_vec(), numbers([0..16, 32..48, 64..80, 96..112]));
        assert_eq!(halves[1].to_vec(), numbers([16..32, 48..64, 80..96, 112..128]));
    }
}
