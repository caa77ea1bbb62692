//! How a kernel is written: a function of one tile, which gets views that reach only what the tile owns.

use crate::memory::{View, ViewMut};
use crate::scratch::Scratch;
use inkstone_tensor::cache::RUN;
use inkstone_tensor::step::{Row, StepError, StepView, page, rows};
use inkstone_tensor::{Op, Sizes, Type};
use std::ops::Range;

/// The type of the entry in [`Kernel::entry`](inkstone_compute::Kernel) for kernels of this engine, including custom
/// kernels.
pub type Entry = fn(&mut Tile) -> Result<(), StepError>;

/// A tile under way.
pub struct Tile<'a, 'm> {
    /// The op of the step, which defines its meaning.
    pub op: &'a Op,
    /// The step of the model.
    pub step: &'a StepView<'a>,
    /// Its true sizes.
    pub sizes: Sizes,
    /// The rows of the tile, in the dimension that the grid cuts.
    pub rows: Range<usize>,
    /// Whether this is the first tile of this step for this worker in this run. Data that a kernel then stores in
    /// `scratch` stay there until the first tile of another step, so a prologue that all tiles share can be computed
    /// once.
    pub first: bool,
    /// The operands. Operands that the step consumes have no rows here, because they are among the results.
    pub ins: &'a [View<'a>],
    /// The results.
    pub outs: &'a mut [ViewMut<'m>],
    /// The sections of the step's scratch, as its first phase has filled them; none if the step has no first phase.
    /// See [`Phased`](crate::Phased).
    pub shared: &'a [&'a [u32]],
    /// Memory of the worker.
    pub scratch: &'a mut Scratch,
}

/// Tokens, positions and sequences of the step's rows, from the operand that has them.
pub(crate) fn step_rows<'a>(view: &View<'a>) -> impl ExactSizeIterator<Item = Row> + use<'a> {
    rows(view.all::<u32>())
}

/// That `value` is below `limit`.
pub(crate) fn below(what: &'static str, value: usize, limit: usize) -> Result<(), StepError> {
    if value < limit { Ok(()) } else { Err(StepError { what, value, allowed: limit.checked_sub(1) }) }
}

/// The places of a sequence in caches of `slots` places; rows may come from a port, so they are not trusted.
pub(crate) struct Places<'a> {
    table: &'a [u32],
    page: usize,
    slots: usize,
}

impl<'a> Places<'a> {
    /// Of sequence `seq` in caches of type `cache`.
    pub(crate) fn of(step: &StepView<'a>, seq: u32, cache: &Type, sizes: &Sizes) -> Result<Places<'a>, StepError> {
        below("sequence of a row", seq as usize, step.seqs.len())?;
        let group = cache.rows.group();
        let (table, page) = (step.table(seq as usize, group), step.header.page as usize);
        Ok(Places { table, page, slots: sizes.slots.of(group) })
    }

    /// The places of a position and of the following positions that are contiguous with it, on consecutive pages and
    /// within a [`RUN`] of a cache, at most `count`.
    pub(crate) fn run(&self, position: usize, count: usize) -> Result<Range<usize>, StepError> {
        let first = self.at(position)?;
        let most = count.min(RUN - first % RUN);
        let mut found = self.page - position % self.page;
        while found < most && self.at(position + found)? == first + found {
            found += self.page;
        }
        Ok(first..first + found.min(most))
    }

    /// Checks that the positions have pages.
    pub(crate) fn check(&self, positions: Range<usize>) -> Result<(), StepError> {
        let pages = positions.start / self.page..positions.end.div_ceil(self.page);
        pages.filter(|_| !positions.is_empty()).try_for_each(|index| self.at(index * self.page).map(drop))
    }

    /// Of a position.
    pub(crate) fn at(&self, position: usize) -> Result<usize, StepError> {
        let page = page(self.table, position / self.page, self.slots / self.page)?;
        Ok(page * self.page + position % self.page)
    }
}
