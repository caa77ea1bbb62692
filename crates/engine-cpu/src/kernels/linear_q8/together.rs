//! Activations of many rows, which all workers arrange side by side together, in the first phase of products. If each
//! worker arranged them for itself, the time would not decrease with the number of workers.

use super::super::formats::{Format, with_format};
use super::super::product::Activations;
use super::WHOLE;
use super::side::{BLOCKS, Block, Blocks, Form, GROUPS, Side, WORDS, pack, put_start, widen, with_rows};
use crate::isa::{Body, Isa, Portable, Words};
use crate::phase::{FirstTile, Section, Sections};
use inkstone_compute::Grid;
use inkstone_tensor::{DType, Dim, Type};
use smallvec::SmallVec;
use std::ops::Range;

/// Rows of a tile: whole blocks of each size, the largest, which come first, above all.
const ROWS: usize = 48;

/// The forms of activations that products of many rows need, for weights of some formats.
#[derive(Clone)]
pub(in super::super) struct Forms {
    forms: SmallVec<[Form; 2]>,
    /// Whether activations have one scale for a whole block.
    pub(super) whole: bool,
    /// Groups of a row.
    count: usize,
}

impl Forms {
    /// For products of rows of this type, `Q8_A` or `Q8_B`, with weights of these types.
    pub(in super::super) fn of<I: Words>(x: Type, weights: impl Iterator<Item = DType>) -> Forms {
        let whole = x.dtype == WHOLE;
        let mut forms: SmallVec<[Form; 2]> = SmallVec::new();
        for dtype in weights {
            let form = with_format!(dtype, whole, form::<I>());
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
        Forms { forms, whole, count: x.cols / DType::Q8_A.block() }
    }

    /// Its tiles, of so many rows.
    pub(in super::super) fn grid(&self, rows: Dim) -> Grid {
        Grid { rows, row_block: ROWS, col_block: usize::MAX, col_blocks: self.count.div_ceil(GROUPS).max(1) }
    }

    /// A section for each form.
    pub(in super::super) fn sections(&self) -> Sections {
        let section = |form: &Form| Section { words: self.count * form.words(), block: GROUPS * form.words() };
        self.forms.iter().map(section).collect()
    }

    /// Makes the parts of a tile, of all rows of `x`.
    pub(in super::super) fn arrange<I: Words>(&self, x: Activations, tile: &mut FirstTile) {
        let (all, rows, group) = (x.count(), tile.rows.clone(), tile.block * GROUPS);
        assert!(rows.start.is_multiple_of(ROWS) && (rows.len() == ROWS || rows.end == all), "{rows:?} of {all}");
        let blocks = Blocks::of::<I>(all, self.count, true);
        for (form, words) in self.forms.iter().zip(&mut *tile.parts) {
            let (form, rows) = (*form, rows.clone());
            match I::detect() {
                Some(isa) => isa.run(Pack { isa, x, blocks, rows, group, form, words }),
                None => Portable.run(Pack { isa: Portable, x, blocks, rows, group, form, words }),
            }
        }
    }
}

/// The results of the first phase, for all rows of a step.
pub(in super::super) struct SharedSide<'a> {
    pub(super) forms: Forms,
    rows: usize,
    sections: &'a [&'a [u32]],
}

impl<'a> SharedSide<'a> {
    /// Of all rows of a step. `None` if there was no first phase for so many; then each worker arranges them itself.
    pub(in super::super) fn of<I: Words>(
        sections: &'a [&'a [u32]],
        rows: usize,
        forms: impl FnOnce() -> Forms,
    ) -> Option<SharedSide<'a>> {
        if sections.is_empty() || !is_for::<I>(rows) {
            return None;
        }
        let forms = forms();
        let whole = forms.sections().into_iter().map(|section| section.words * rows);
        whole.eq(sections.iter().map(|words| words.len())).then_some(SharedSide { forms, rows, sections })
    }

    /// All of it in one form, which was asked for when the plan was prepared.
    pub(super) fn form<I: Words>(&self, form: Form) -> Side<'a> {
        let Forms { forms, count, .. } = &self.forms;
        let section = forms.iter().position(|made| *made == form);
        let Some(section) = section else { unreachable!("{form:?} is made before, not {forms:?}") };
        Side { blocks: Blocks::of::<I>(self.rows, *count, true), words: self.sections[section] }
    }
}

/// Whether so many rows want a first phase; fewer are arranged by each worker for itself.
pub(in super::super) fn is_for<I: Words>(rows: usize) -> bool {
    rows > I::DIRECT
}

/// Of many rows.
fn form<I: Words, F: Format>() -> Form {
    Form::of::<I, F>(false)
}

/// The function that writes a part of one form.
struct Pack<'c, 'a, I> {
    isa: I,
    x: Activations<'a>,
    blocks: Blocks,
    rows: Range<usize>,
    group: usize,
    form: Form,
    words: &'c mut [u32],
}

impl<I: Words> Body for Pack<'_, '_, I> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Pack { isa, x, blocks, rows, group, form, mut words } = self;
        // Of a block, if they are not what is wanted.
        let mut columns = [0; BLOCKS[0] * GROUPS * WORDS];
        for Block { row, rows, group, place } in blocks.some(group, rows) {
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
