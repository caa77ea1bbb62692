//! Activations in the order in which products read them: some rows of a step side by side.

use super::super::product::{Activations, first};
use super::DIRECT;
use crate::isa::{Portable, Words};

/// Bytes of a group of 32 values in `Q8_A`: the values, their scale, their sum.
const GROUP: usize = 40;
/// Words of a group here: the values, four in each, then scale, sum, the sum as f32, and the sums of both halves.
pub(super) const WORDS: usize = 12;
/// Groups that lie together: those that are unpacked at once.
pub(super) const GROUPS: usize = 8;

/// A group of `N` rows side by side: eight times four values of each row, the scales (bits of f32), the sums, the sums as
/// bits of f32, and the sums of 16 values, as 16 bits each, the first in the low ones.
pub(super) type Columns<const N: usize> = [[u32; N]; WORDS];

/// All rows of a step: for each [`GROUPS`] groups, for each so many rows as lie side by side (the last are fewer), the
/// groups as [`Columns`].
#[derive(Clone, Copy)]
pub(in super::super) struct Side<'a> {
    pub(super) rows: usize,
    /// Rows side by side.
    side: usize,
    words: &'a [u32],
}

impl<'a> Side<'a> {
    /// What [`pack`] has made of such rows.
    pub(in super::super) fn of<I: Words>(x: Activations, words: &'a [u32]) -> Side<'a> {
        Side { rows: x.count(), side: side::<I>(x.count()), words: &words[..x.count() * groups(x) * WORDS] }
    }

    /// The groups from `from` on, which is a multiple of [`GROUPS`], of the rows from `row` on, which begins a block.
    #[inline(always)]
    pub(super) fn groups<const N: usize>(self, from: usize, count: usize, row: usize) -> &'a [Columns<N>] {
        let at = (self.rows * from + row * count) * WORDS;
        let words = &self.words[at..][..count * N * WORDS];
        words.as_chunks::<N>().0.as_chunks::<WORDS>().0
    }

    /// Groups of a row.
    pub(super) fn count(self) -> usize {
        self.words.len() / (self.rows * WORDS).max(1)
    }

    /// Rows of each block, with the row that it begins with.
    pub(super) fn blocks(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.rows).step_by(self.side.max(1)).map(move |row| (row, self.side.min(self.rows - row)))
    }
}

/// How many of so many rows lie side by side.
fn side<I: Words>(rows: usize) -> usize {
    match I::detect() {
        _ if rows <= DIRECT => rows,
        Some(_) => I::SIDE,
        None => Portable::SIDE,
    }
}

fn groups(x: Activations) -> usize {
    x.row_bytes() / GROUP
}

/// Puts rows of `Q8_A` side by side.
pub(in super::super) fn pack<I: Words>(x: Activations, words: &mut Vec<u32>) {
    let (rows, count) = (x.count(), groups(x));
    let side = side::<I>(rows);
    let mut words = &mut first(words, rows * count * WORDS)[..];
    for from in (0..count).step_by(GROUPS) {
        for row in (0..rows).step_by(side.max(1)) {
            let (n, groups) = (side.min(rows - row), GROUPS.min(count - from));
            let (block, rest) = words.split_at_mut(n * groups * WORDS);
            words = rest;
            for i in 0..n {
                let x = &x.row(row + i).as_chunks::<GROUP>().0[from..][..groups];
                for (x, to) in x.iter().zip(block.chunks_exact_mut(n * WORDS)) {
                    let [first, second] =
                        [0, 16].map(|from| x[from..from + 16].iter().map(|b| i32::from(*b as i8)).sum::<i32>());
                    let mut word = i;
                    for x in x.as_chunks::<4>().0 {
                        to[word] = u32::from_le_bytes(*x);
                        word += n;
                    }
                    to[word] = ((first + second) as f32).to_bits();
                    to[word + n] = (first as u32 & 0xffff) | (second as u32) << 16;
                }
            }
        }
    }
}
