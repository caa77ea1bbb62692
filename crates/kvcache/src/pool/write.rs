//! Copy on write: pages of its own for a sequence that writes.

use super::Pool;
use crate::{Error, PageCopy, PageTable};
use std::ops::Range;

impl Pool {
    /// Prepares `table` for a write to these positions: call it before each write, and make the copies first. A free page
    /// replaces each page of the range that another table holds, or in which a node has a place that is written; the
    /// other table and the node keep the old page. The places of the first page before `positions.start` must be copied:
    /// `copies` gets at most one entry. Pages outside the range stay. Positions behind the range in a page that was
    /// replaced have no contents.
    ///
    /// It allocates only in `copies`.
    ///
    /// # Errors
    /// [`Error::Positions`], [`Error::NoPages`], [`Error::NotHeld`] for a table of another pool, or [`Error::NoMemory`]
    /// for `copies`. Nothing has changed then.
    pub fn write(
        &mut self,
        table: &mut PageTable,
        positions: Range<usize>,
        copies: &mut Vec<PageCopy>,
    ) -> Result<(), Error> {
        self.write_with(table, positions, copies, |_, _| true)
    }

    /// The same, which never writes to a kept page unless `grows` says so: of an index and a page, whether the sequence goes on
    /// with the text of the page's node.
    pub(crate) fn write_with(
        &mut self,
        table: &mut PageTable,
        positions: Range<usize>,
        copies: &mut Vec<PageCopy>,
        grows: impl Fn(usize, u32) -> bool,
    ) -> Result<(), Error> {
        let Range { start, end } = positions;
        let outside = Error::Positions { start, end, len: table.len };
        if start > end || end > table.len {
            return Err(outside);
        }
        if start == end {
            return Ok(());
        }
        let pages = table.pages.get_mut(start / self.page..end.div_ceil(self.page)).ok_or(outside)?;
        // The first place that is written, in each of the pages.
        let first = start / self.page;
        let places = || (first..).zip(std::iter::once(start % self.page).chain(std::iter::repeat(0)));
        let shared = |pool: &Pool, index: usize, page: u32, place: usize| -> Result<bool, Error> {
            Ok(pool.is_shared(page, place)? || pool.kept(page) > 0 && !grows(index, page))
        };
        let mut wanted = 0;
        for (&page, (index, place)) in pages.iter().zip(places()) {
            wanted += usize::from(shared(self, index, page, place)?);
        }
        self.require(wanted)?;
        copies.try_reserve(1).map_err(|_| Error::NoMemory { pages: 1 })?;

        for (page, (index, place)) in pages.iter_mut().zip(places()) {
            // There are as many free pages as were counted.
            if shared(self, index, *page, place)?
                && let Some(to) = self.take()
            {
                let from = std::mem::replace(page, to);
                self.give_back(from)?;
                if place > 0 {
                    copies.push(PageCopy { from, to, places: place as u32 });
                }
            }
        }
        Ok(())
    }

    /// Whether a page of a table has another holder, or a node with places from `place` on.
    fn is_shared(&self, page: u32, place: usize) -> Result<bool, Error> {
        match self.holders(page) {
            0 => Err(Error::NotHeld { page }),
            1 => Ok(self.kept(page) > place),
            _ => Ok(true),
        }
    }
}
