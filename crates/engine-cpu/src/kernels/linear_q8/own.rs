//! Activations of a few rows, which each worker puts side by side for itself: that is less than to wait for others.

use super::super::product::{Activations, first};
use super::side::{
    BLOCKS, Block, Blocks, FEW, Form, GROUP, Side, Start, WIDE, WORDS, pack, put_start, widen, with_rows,
};
use super::{WHOLE, are_common};
use crate::isa::{Body, Isa, Portable, Words};
use crate::scratch::room;
use inkstone_tensor::{DType, NoMemory};

/// Encoded activations of a step, made once a worker.
#[derive(Default)]
pub(in super::super) struct OwnSide {
    /// Whether they have one scale for a whole block.
    pub(super) whole: bool,
    pub(super) blocks: Blocks,
    start: Start,
    columns: Vec<u32>,
    /// The same in the other form, if a format wanted it.
    wide: Vec<u32>,
    is_wide: bool,
}

impl OwnSide {
    /// Room for rows of no more than so many values together.
    pub(in super::super) fn reserve(&mut self, values: usize) -> Result<(), NoMemory> {
        room(&mut self.columns, values.saturating_mul(2))?;
        room(&mut self.wide, values)
    }

    /// Puts rows of `Q8_A` or `Q8_B` side by side, for products with weights of these types.
    pub(in super::super) fn pack<I: Words>(&mut self, x: Activations, weights: impl Iterator<Item = DType>) {
        self.whole = x.dtype() == WHOLE;
        self.blocks = Blocks::of::<I>(x.count(), x.row_bytes() / GROUP, are_common::<I>(self.whole, weights));
        (self.start, self.is_wide) = (Start::None, false);
        let columns = first(&mut self.columns, self.blocks.rows * self.blocks.count * WORDS);
        match I::detect() {
            Some(isa) => isa.run(Pack { isa, x, blocks: self.blocks, columns }),
            None => Portable.run(Pack { isa: Portable, x, blocks: self.blocks, columns }),
        }
    }

    /// All of it in one form.
    pub(super) fn form(&mut self, form: Form) -> Side<'_> {
        match form {
            Form::Columns(start) => self.start(start),
            Form::Wide => self.widen(),
        }
        let words = if form == Form::Wide { &self.wide } else { &self.columns };
        Side { blocks: self.blocks, words }
    }

    fn start(&mut self, start: Start) {
        if self.start == start {
            return;
        }
        self.start = start;
        for Block { rows, place, .. } in self.blocks.all() {
            let columns = &mut self.columns[place.start * WORDS..place.end * WORDS];
            macro_rules! start {
                ($n:literal) => {
                    put_start::<$n>(start, columns.as_chunks_mut().0.as_chunks_mut().0)
                };
            }
            with_rows!(rows, FEW[0], start: 1 2 3 4 6 8);
        }
    }

    fn widen(&mut self) {
        if self.is_wide {
            return;
        }
        self.is_wide = true;
        first(&mut self.wide, self.blocks.rows * self.blocks.count * WIDE);
        for Block { rows, place, .. } in self.blocks.all() {
            let columns = &self.columns[place.start * WORDS..place.end * WORDS];
            let wide = &mut self.wide[place.start * WIDE..place.end * WIDE];
            macro_rules! widen {
                ($n:literal) => {
                    widen::<$n>(columns.as_chunks().0.as_chunks().0, wide.as_chunks_mut().0.as_chunks_mut().0)
                };
            }
            with_rows!(rows, BLOCKS[0], widen: 1 2 3 4 6);
        }
    }
}

/// What [`OwnSide::pack`] does.
struct Pack<'c, 'a, I> {
    isa: I,
    x: Activations<'a>,
    blocks: Blocks,
    columns: &'c mut [u32],
}

impl<I: Words> Body for Pack<'_, '_, I> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Pack { isa, x, blocks, columns } = self;
        for Block { row, rows, group, place } in blocks.all() {
            let columns = &mut columns[place.start * WORDS..place.end * WORDS];
            macro_rules! pack {
                ($n:literal) => {
                    pack::<I, $n>(isa, x, row, group, columns.as_chunks_mut().0.as_chunks_mut().0)
                };
            }
            with_rows!(rows, FEW[0], pack: 1 2 3 4 6 8);
        }
    }
}
