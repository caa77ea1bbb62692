//! Activations in the order in which products read them: some rows of a step side by side.

use super::super::formats::Format;
use super::super::product::Activations;
use super::unpacked::is_wide;
use crate::isa::{LANES, Portable, Words};
use bytemuck::Pod;
use std::ops::Range;

/// Bytes of a group of 32 values in `Q8_A`: the values, their scale, their sum.
pub(super) const GROUP: usize = 40;
/// Words of a group as it is there: four values in each, then the scale, then the sum.
const GIVEN: usize = GROUP / 4;
/// Where [`Columns`] have the scales, the sums, and the first word of [`Start`].
pub(super) const SCALES: usize = 8;
const SUMS: usize = 9;
pub(super) const FIRST: usize = 10;
/// Words of a group in this form, including the words of [`Start`].
pub(super) const WORDS: usize = GIVEN + 3;
/// The number of groups that are stored together, because they are unpacked together.
pub(super) const GROUPS: usize = 8;
/// The numbers of rows that are stored side by side. Other numbers are composed of them, so that there is less code.
/// For few rows there are fewer numbers, because their code is larger.
pub(super) const BLOCKS: [usize; 5] = [6, 4, 3, 2, 1];
pub(super) const FEW: [usize; 4] = [8, 4, 2, 1];

/// Whether a block of this many of [`FEW`] rows has code for a format.
pub(super) const fn has_code<I: Words, F: Format>(rows: usize) -> bool {
    rows <= I::DIRECT && (F::COMMON || is_for_all(rows))
}

/// Whether it has code for every format.
const fn is_for_all(rows: usize) -> bool {
    matches!(rows, 1 | 8)
}

/// Calls the macro with the number of rows that a block has, as a constant: one of these, and no more than so many.
macro_rules! with_rows {
    ($rows:expr, $most:expr, $call:ident: $($n:literal)*) => {
        match $rows {
            $($n if const { $n <= $most } => $call!($n),)*
            other => unreachable!("{other} rows are in no list of blocks"),
        }
    };
}
pub(super) use with_rows;

/// A group of `N` rows side by side: eight times four values of each row, the scales (bits of f32), the sums, and the
/// words of [`Start`].
pub(super) type Columns<const N: usize> = [[u32; N]; WORDS];

/// The same with values as numbers of 16 bits, two in a word, as [`Words::wide`] gives them; then the scales.
pub(super) type Wide<const N: usize> = [[u32; N]; WIDE];
pub(super) const WIDE: usize = 17;

/// The form in which a format needs the sums of activations: three words.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Start {
    /// Nothing yet.
    #[default]
    None,
    /// The sum of the group as the bits of an f32, which is multiplied by a minimum.
    Minimum,
    /// In the last word the sums of both halves, the first in the low 16 bits: the same for minima of halves.
    Minima,
    /// The initial value of sums of products without the offset: the negative product of the offset and the sum of the
    /// group, or of its halves in two words. In two parts for sums of 16 bits, see [`Words::SHORT`].
    Offset { offset: u32, halves: bool, short: bool },
    /// In the first word of every other group, its sum in the low 16 bits and the sum of the next group in the high
    /// bits. Minima are multiplied by them if activations have one scale for a whole block.
    Pairs,
}

impl Start {
    pub(super) const fn of<I: Words, F: Format>() -> Start {
        assert!(!(F::WHOLE && F::HALVES && F::MINIMUM), "minima of halves have no sums of pairs");
        match (F::HALVES, F::MINIMUM) {
            (false, true) if F::WHOLE => Start::Pairs,
            (false, true) => Start::Minimum,
            (true, true) => Start::Minima,
            (halves, false) => Start::Offset { offset: F::OFFSET, halves, short: I::SHORT && F::PRODUCTS.wrap() },
        }
    }

    /// Of a group with these values and this sum.
    #[inline(always)]
    fn words(self, group: [u32; 8], total: u32) -> [u32; 3] {
        let both = |low: u32, high: u32| low & 0xffff | high << 16;
        let less = |sum: u32, offset: u32| sum.wrapping_mul(offset).wrapping_neg();
        match self {
            // Pairs are not of one group: see `put_start`.
            Start::None | Start::Pairs => [0; 3],
            Start::Minimum => [(total as i32 as f32).to_bits(), 0, 0],
            Start::Minima => {
                let [[a, b], [c, d]] = parts(group);
                [0, 0, both(a.wrapping_add(b), c.wrapping_add(d))]
            }
            Start::Offset { offset, halves: false, short: false } => [less(total, offset), 0, 0],
            Start::Offset { offset, halves, short } => {
                let [first @ [a, b], second @ [c, d]] = parts(group);
                let sums = if halves { [first, second] } else { [[a.wrapping_add(c), b.wrapping_add(d)], [0; 2]] };
                let begin = |[low, high]: [u32; 2]| match short {
                    true => both(less(low, offset), less(high, offset)),
                    false => less(low.wrapping_add(high), offset),
                };
                [begin(sums[0]), begin(sums[1]), 0]
            }
        }
    }
}

/// The sums of bytes 0 and 1, and of 2 and 3, of the words of each half.
#[inline(always)]
fn parts(group: [u32; 8]) -> [[u32; 2]; 2] {
    let mut parts = [[0u32; 2]; 2];
    for (k, word) in group.into_iter().enumerate() {
        let [a, b, c, d] = word.to_le_bytes().map(|b| i32::from(b as i8) as u32);
        let [low, high] = &mut parts[k / 4];
        *low = low.wrapping_add(a).wrapping_add(b);
        *high = high.wrapping_add(c).wrapping_add(d);
    }
    parts
}

/// The sums in the form that the format needs, for some groups. The number of rows is a constant, so that the compiler
/// vectorises the code.
#[inline(always)]
pub(super) fn put_start<const N: usize>(start: Start, groups: &mut [Columns<N>]) {
    if start == Start::Pairs {
        for [first, second] in groups.as_chunks_mut().0 {
            for n in 0..N {
                first[FIRST][n] = first[SUMS][n] & 0xffff | second[SUMS][n] << 16;
            }
        }
        return;
    }
    for [values @ .., _, total, a, b, c] in groups {
        for n in 0..N {
            let mut group = [0; 8];
            for k in 0..8 {
                group[k] = values[k][n];
            }
            [a[n], b[n], c[n]] = start.words(group, total[n]);
        }
    }
}

/// The form of groups: one of two forms for each property.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// [`Columns`].
    Columns(Start),
    /// [`Wide`].
    Wide,
}

impl Form {
    /// The form for products with weights of a format. Few rows, which use a group as soon as it is unpacked, have no
    /// other sums.
    pub(super) const fn of<I: Words, F: Format>(direct: bool) -> Form {
        if !direct && is_wide::<I, F>() { Form::Wide } else { Form::Columns(Start::of::<I, F>()) }
    }

    /// Of a row.
    pub(super) const fn words(self) -> usize {
        match self {
            Form::Columns(_) => WORDS,
            Form::Wide => WIDE,
        }
    }
}

/// The arrangement of rows side by side: for each [`GROUPS`] groups (with few rows, for all groups), one block after
/// the other. Up to [`Words::DIRECT`] rows are few. With weights that are not [`Format::COMMON`], only one or eight
/// rows are few, because the code for each number of few rows takes long to compile: other numbers use the code of many
/// rows.
#[derive(Clone, Copy, Default)]
pub(super) struct Blocks {
    /// Rows of the step.
    pub(super) rows: usize,
    /// The numbers of rows that may be side by side, the largest first.
    sizes: &'static [usize],
    /// The number of groups of a row, and the number that are stored together.
    pub(super) count: usize,
    together: usize,
    /// Whether rows are few.
    pub(super) direct: bool,
}

/// Some groups of some rows that are side by side.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) row: usize,
    pub(super) rows: usize,
    /// The first of them.
    pub(super) group: usize,
    /// Its place, in units of a group of a row.
    pub(super) place: Range<usize>,
}

impl Blocks {
    /// Of so many rows with so many groups each, on a set, for weights of common formats or of any.
    pub(super) fn of<I: Words>(rows: usize, count: usize, common: bool) -> Blocks {
        // As many as the set does that will be run on.
        let (direct, side) = match I::detect() {
            Some(_) => (I::DIRECT, I::SIDE),
            None => (Portable::DIRECT, Portable::SIDE),
        };
        let few = rows <= direct && (common || is_for_all(rows));
        let (sizes, most, together) = if few { (&FEW[..], direct, count.max(1)) } else { (&BLOCKS[..], side, GROUPS) };
        Blocks { rows, sizes: &sizes[sizes.partition_point(|n| *n > most)..], count, together, direct: few }
    }

    /// All blocks in the order of memory.
    pub(super) fn all(self) -> impl Iterator<Item = Block> {
        (0..self.count).step_by(self.together.max(1)).flat_map(move |group| self.some(group, 0..self.rows))
    }

    /// The blocks of some rows, for the groups that are stored together from `group` on. The rows begin and end at the
    /// boundaries of blocks.
    pub(super) fn some(self, group: usize, rows: Range<usize>) -> impl Iterator<Item = Block> {
        let groups = self.together.min(self.count - group);
        let first = rows.start;
        blocks(rows.len(), self.sizes).map(move |(row, rows)| {
            let at = self.rows * group + (first + row) * groups;
            Block { row: first + row, rows, group, place: at..at + rows * groups }
        })
    }
}

/// Encoded activations of a step as products read them.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    pub(super) blocks: Blocks,
    /// Of one form.
    pub(super) words: &'a [u32],
}

impl<'a> Side<'a> {
    /// Rows of the step.
    pub(super) fn rows(self) -> usize {
        self.blocks.rows
    }

    /// Groups of a row.
    pub(super) fn count(self) -> usize {
        self.blocks.count
    }

    /// So many groups from `from` on, which is a multiple of [`GROUPS`], of so many blocks, the first of which begins
    /// with `row`: [`Columns`] or [`Wide`], as the form is.
    #[inline(always)]
    pub(super) fn groups<const N: usize, G: Pod>(
        self,
        from: usize,
        count: usize,
        row: usize,
        blocks: usize,
    ) -> &'a [G] {
        let words = size_of::<G>() / size_of::<u32>();
        let at = (self.rows() * from + row * count) * (words / N);
        bytemuck::cast_slice(&self.words[at..][..blocks * count * words])
    }

    /// The row that the first block of each size begins with, how many rows such a block has, and how many blocks there
    /// are.
    pub(super) fn runs(self) -> impl Iterator<Item = (usize, usize, usize)> {
        runs(self.rows(), self.blocks.sizes)
    }

    /// The row that each block begins with, and how many it has.
    pub(super) fn blocks(self) -> impl Iterator<Item = (usize, usize)> {
        blocks(self.rows(), self.blocks.sizes)
    }
}

/// Puts groups from `group` on of the rows from `row` on side by side.
#[inline(always)]
pub(super) fn pack<I: Words, const N: usize>(isa: I, x: Activations, row: usize, group: usize, out: &mut [Columns<N>]) {
    let (rows, stride) = (x.rows_from(row), x.row_bytes());
    for (i, out) in out.iter_mut().enumerate() {
        let rows = &rows[(group + i) * GROUP..];
        if x.count() - row < LANES {
            for (k, out) in out[..GIVEN].iter_mut().enumerate() {
                for (n, out) in out.iter_mut().enumerate() {
                    *out = word(&rows[n * stride + 4 * k..]);
                }
            }
            continue;
        }
        // More rows are turned than there is room for, and two words twice.
        for from in [0, 4, GIVEN - 4] {
            for (words, out) in isa.turn(&rows[4 * from..], stride).into_iter().zip(&mut out[from..]) {
                let words = isa.bytes(words);
                for (n, out) in out.iter_mut().enumerate() {
                    *out = word(&words[4 * n..]);
                }
            }
        }
    }
}

/// Groups with values as numbers of 16 bits. Of so many rows, for the compiler: it makes vectors of them.
pub(super) fn widen<const N: usize>(groups: &[Columns<N>], wide: &mut [Wide<N>]) {
    for (group, wide) in groups.iter().zip(wide) {
        for (bytes, wide) in group.iter().zip(wide.as_chunks_mut().0) {
            let [even, odd] = wide;
            for n in 0..N {
                [even[n], odd[n]] = [halves(bytes[n] << 8), halves(bytes[n])];
            }
        }
        wide[WIDE - 1] = group[SCALES];
    }
}

/// Bytes 1 and 3, which have a sign, as halves of 16 bits.
#[inline(always)]
fn halves(bytes: u32) -> u32 {
    let [low, high] = [(bytes << 16) as i32 >> 24, bytes as i32 >> 24];
    (low as u32 & 0xffff) | (high as u32) << 16
}

/// The one that these bytes begin with.
#[inline(always)]
fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(*bytes.first_chunk().expect("words are whole"))
}

/// The blocks of this number of rows, the largest first: for each size the first row, the rows of a block, and the
/// number of blocks.
fn runs(rows: usize, sizes: &'static [usize]) -> impl Iterator<Item = (usize, usize, usize)> {
    let mut next = 0;
    sizes.iter().map(move |size| {
        let (row, count) = (next, (rows - next) / size);
        next += count * size;
        (row, *size, count)
    })
}

/// One after the other: where each begins, and how many rows it has.
fn blocks(rows: usize, sizes: &'static [usize]) -> impl Iterator<Item = (usize, usize)> {
    runs(rows, sizes).flat_map(|(row, size, count)| (0..count).map(move |i| (row + i * size, size)))
}
