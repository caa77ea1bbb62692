//! Activations of many rows, which all workers arrange side by side together, in tiles before the tiles of the
//! products. If each worker arranged them for itself, the time would not decrease with the number of workers.

use super::super::formats::{Format, with_format};
use super::super::product::Activations;
use super::WHOLE;
use super::side::{BLOCKS, Block, Blocks, Form, GROUPS, Side, WORDS, pack, put_start, widen, with_rows};
use crate::isa::{Body, Isa, Portable, Words};
use crate::memory::{View, ViewMut};
use inkstone_compute::{Grid, Tiling};
use inkstone_tensor::{DType, Dim, Type};
use smallvec::SmallVec;
use std::ops::Range;

/// Rows of a tile: whole blocks of each size, the largest, which come first, above all.
const ROWS: usize = 48;

/// The forms of activations that products of many rows need, for weights of some formats.
#[derive(Clone)]
pub(crate) struct Before {
    forms: SmallVec<[Form; 2]>,
    /// Whether activations have one scale for a whole block.
    pub(super) whole: bool,
    /// Groups of a row.
    count: usize,
    run: fn(&Before, Activations, Cell, &mut [ViewMut]),
    /// Rows up to which each worker does it for itself.
    direct: usize,
}

/// The work of a tile: some groups of some of the rows.
struct Cell {
    all: usize,
    rows: Range<usize>,
    group: usize,
}

impl Before {
    /// For products of rows of this type, `Q8_A` or `Q8_B`, with weights of these types.
    pub(crate) fn of<I: Words>(x: Type, weights: impl Iterator<Item = DType>) -> Before {
        let whole = x.dtype == WHOLE;
        let mut forms: SmallVec<[Form; 2]> = SmallVec::new();
        for dtype in weights {
            let form = with_format!(dtype, whole, form::<I>());
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
        Before { forms, whole, count: x.cols / DType::Q8_A.block(), run: run::<I>, direct: I::DIRECT }
    }

    /// Words that so many rows take.
    pub(crate) fn words(&self, rows: usize) -> usize {
        rows * self.count * self.forms.iter().map(|form| form.words()).sum::<usize>()
    }

    /// Its tiles, of so many rows.
    pub(crate) fn grid(&self, rows: Dim) -> Grid {
        let uncut = Grid::new(Tiling { row_block: ROWS, ..Tiling::WHOLE }, &[], &[]);
        Grid { rows, col_blocks: self.count.div_ceil(GROUPS).max(1), ..uncut }
    }

    /// Whether so many rows want it.
    pub(crate) fn is_for(&self, rows: usize) -> bool {
        rows > self.direct
    }

    /// Where each form begins and ends.
    fn places(&self, rows: usize) -> impl Iterator<Item = (Form, Range<usize>)> {
        let mut end = 0;
        self.forms.iter().map(move |form| {
            let begin = end;
            end += rows * self.count * form.words();
            (*form, begin..end)
        })
    }

    /// The words of each form that a tile writes: some of the rows, block `block` of groups.
    pub(crate) fn parts(&self, all: usize, rows: Range<usize>, block: usize) -> SmallVec<[Range<usize>; 2]> {
        let group = block * GROUPS;
        let groups = GROUPS.min(self.count - group);
        let at = |form: Form, begin: usize, row: usize| begin + (all * group + row * groups) * form.words();
        self.places(all)
            .map(|(form, place)| at(form, place.start, rows.start)..at(form, place.start, rows.end))
            .collect()
    }

    /// Makes these words, of a row each, of all rows.
    pub(crate) fn run(&self, x: &View, rows: Range<usize>, block: usize, parts: &mut [ViewMut]) {
        let cell = Cell { all: x.rows(), rows, group: block * GROUPS };
        (self.run)(self, Activations::of(x, 0..x.rows()), cell, parts);
    }
}

/// The results of the tiles before a step, for all its rows.
#[derive(Clone, Copy)]
pub(crate) struct SharedSide<'a> {
    pub(crate) before: &'a Before,
    pub(crate) rows: usize,
    pub(crate) words: &'a [u32],
}

impl<'a> SharedSide<'a> {
    /// All of it in one form, which was asked for when the plan was prepared.
    pub(super) fn form<I: Words>(self, form: Form) -> Side<'a> {
        let place = self.before.places(self.rows).find(|(made, _)| *made == form);
        let Some((_, place)) = place else { unreachable!("{form:?} is made before, not {:?}", self.before.forms) };
        Side { blocks: Blocks::of::<I>(self.rows, self.before.count, true), words: &self.words[place] }
    }
}

/// Of many rows.
fn form<I: Words, F: Format>() -> Form {
    Form::of::<I, F>(false)
}

fn run<I: Words>(before: &Before, x: Activations, cell: Cell, parts: &mut [ViewMut]) {
    for (form, part) in before.forms.iter().zip(parts) {
        let (form, words) = (*form, part.row::<u32>(0));
        let blocks = Blocks::of::<I>(cell.all, before.count, true);
        match I::detect() {
            Some(isa) => isa.run(Pack { isa, x, blocks, cell: &cell, form, words }),
            None => Portable.run(Pack { isa: Portable, x, blocks, cell: &cell, form, words }),
        }
    }
}

/// The function that writes a part of one form.
struct Pack<'c, 'a, I> {
    isa: I,
    x: Activations<'a>,
    blocks: Blocks,
    cell: &'c Cell,
    form: Form,
    words: &'c mut [u32],
}

impl<I: Words> Body for Pack<'_, '_, I> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Pack { isa, x, blocks, cell, form, mut words } = self;
        // Of a block, if they are not what is wanted.
        let mut columns = [0; BLOCKS[0] * GROUPS * WORDS];
        for Block { row, rows, group, place } in blocks.some(cell.group, cell.rows.clone()) {
            let (block, rest) = words.split_at_mut(place.len() * form.words());
            words = rest;
            macro_rules! pack {
                ($n:literal) => {
                    match form {
                        Form::Columns(start) => {
                            let columns = block.as_chunks_mut().0.as_chunks_mut().0;
                            pack::<I, $n>(isa, x, row, group, columns);
                            put_start(start, columns);
                        }
                        Form::Wide => {
                            let columns = &mut columns[..place.len() * WORDS];
                            pack::<I, $n>(isa, x, row, group, columns.as_chunks_mut().0.as_chunks_mut().0);
                            let columns = columns.as_chunks().0.as_chunks().0;
                            widen::<$n>(columns, block.as_chunks_mut().0.as_chunks_mut().0);
                        }
                    }
                };
            }
            with_rows!(rows, BLOCKS[0], pack: 1 2 3 4 6);
        }
    }
}
