//! A shared pool of pages.

mod holders;
#[cfg(test)]
mod tests;
mod write;

use crate::{Error, GONE, PageTable};
use inkstone_tensor::Visible;
use std::sync::Weak;

/// The largest number of tokens per page.
pub const MAX_PAGE: usize = 1 << 20;

/// The pages of one layer group. A page is a number that stands for the same range of tokens in the key and value
/// buffers of every layer of the group. The engine owns these buffers; the pool only tracks which pages are in use.
///
/// A page is held by the tables that list it, and a [`PrefixTree`](crate::PrefixTree) may keep its first places. A page
/// with neither is free. A kept page without holders stays as it is until the tree evicts it.
///
/// ```
/// use inkstone_kvcache::{PageCopy, PageTable, Pool};
///
/// let mut pool = Pool::new(1024, 32)?;
/// let mut first = PageTable::default();
/// pool.grow(&mut first, 100)?; // 4 pages of 32 tokens
/// let mut second = pool.fork(&first)?; // the same 4 pages
/// assert_eq!(pool.available(), 28);
///
/// // The second sequence gets a page of its own before it writes position 99, the fourth place of the last page.
/// let mut copies = Vec::new();
/// pool.write(&mut second, 99..100, &mut copies)?;
/// assert_eq!(copies, [PageCopy { from: first.pages()[3], to: second.pages()[3], places: 3 }]);
/// assert_eq!(first.pages()[..3], second.pages()[..3]);
///
/// pool.release(&mut first)?;
/// pool.release(&mut second)?;
/// assert_eq!(pool.available(), 32);
/// # Ok::<(), inkstone_kvcache::Error>(())
/// ```
#[derive(Debug)]
pub struct Pool {
    page: usize,
    capacity: usize,
    /// The free pages. The last one is allocated next.
    free: Vec<u32>,
    /// How often page tables list each page.
    holders: Vec<usize>,
    /// The number of first places of each page that a node of the prefix tree has; 0 without a node.
    kept: Vec<u32>,
    /// The number of kept pages without holders.
    idle: usize,
    /// The prefix tree, which has the only strong reference.
    tree: Weak<()>,
}

impl Pool {
    /// A pool with the number of whole pages that fit in `tokens`.
    ///
    /// # Errors
    /// [`Error::PageSize`], [`Error::TooSmall`], or [`Error::NoMemory`] for the lists of pages.
    pub fn new(tokens: usize, page: usize) -> Result<Pool, Error> {
        if !page.is_power_of_two() || page > MAX_PAGE {
            return Err(Error::PageSize { tokens: page, most: MAX_PAGE });
        }
        let capacity = (tokens / page).min(u32::MAX as usize);
        if capacity == 0 {
            return Err(Error::TooSmall { tokens, page });
        }
        let (mut free, mut holders, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        free.try_reserve_exact(capacity)
            .and_then(|()| holders.try_reserve_exact(capacity))
            .and_then(|()| kept.try_reserve_exact(capacity))
            .map_err(|_| Error::NoMemory { pages: capacity })?;
        free.extend((0..capacity as u32).rev());
        holders.resize(capacity, 0);
        kept.resize(capacity, 0);
        Ok(Pool { page, capacity, free, holders, kept, idle: 0, tree: Weak::new() })
    }

    /// Tokens per page.
    pub fn page(&self) -> usize {
        self.page
    }

    /// The number of pages.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The number of tokens in all pages, which is the number of rows of a cache buffer.
    pub fn slots(&self) -> usize {
        self.capacity * self.page
    }

    /// The number of pages that no table holds and no node keeps.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// The number of pages that no table holds: the free ones, and the ones that the prefix tree can evict.
    pub fn available(&self) -> usize {
        self.free.len() + self.idle
    }

    /// Whether `table` can hold this many tokens, after the eviction of pages that no table holds.
    pub fn can_grow(&self, table: &PageTable, tokens: usize) -> bool {
        self.wanted(table, tokens) <= self.available()
    }

    fn wanted(&self, table: &PageTable, tokens: usize) -> usize {
        tokens.div_ceil(self.page).saturating_sub(table.pages.len())
    }

    /// Adds free pages to `table` until it holds at least this many tokens. Adds none if too few are free:
    /// [`PrefixTree::evict`](crate::PrefixTree::evict) frees more.
    ///
    /// # Errors
    /// [`Error::NoPages`] with the numbers, or [`Error::NoMemory`].
    pub fn grow(&mut self, table: &mut PageTable, tokens: usize) -> Result<(), Error> {
        let wanted = self.wanted(table, tokens);
        self.require(wanted)?;
        table.pages.try_reserve(wanted).map_err(|_| Error::NoMemory { pages: wanted })?;
        table.pages.extend((0..wanted).map_while(|_| self.take()));
        table.len = table.len.max(tokens);
        Ok(())
    }

    /// Makes an empty `table` cover `len` tokens, with free pages only at some indices, and [`GONE`] at the others.
    ///
    /// # Errors
    /// [`Error::NoPages`] or [`Error::NoMemory`]. Nothing has changed then.
    pub fn place(&mut self, table: &mut PageTable, len: usize, there: impl Fn(usize) -> bool) -> Result<(), Error> {
        let pages = len.div_ceil(self.page);
        self.require((0..pages).filter(|index| there(*index)).count())?;
        table.pages.try_reserve(pages).map_err(|_| Error::NoMemory { pages })?;
        for index in 0..pages {
            let page = if there(index) { self.take() } else { None };
            table.pages.push(page.unwrap_or(GONE));
        }
        table.len = len;
        Ok(())
    }

    /// Reserves memory for the pages of this many tokens, so that `table` grows to them without an allocation.
    ///
    /// # Errors
    /// [`Error::NoMemory`].
    pub fn reserve(&self, table: &mut PageTable, tokens: usize) -> Result<(), Error> {
        let wanted = self.wanted(table, tokens);
        table.pages.try_reserve_exact(wanted).map_err(|_| Error::NoMemory { pages: wanted })
    }

    /// Returns the pages of `table` beyond this many tokens to the pool.
    ///
    /// # Errors
    /// [`Error::NotHeld`] for a table of another pool. Nothing has changed then.
    pub fn shrink(&mut self, table: &mut PageTable, tokens: usize) -> Result<(), Error> {
        let keep = tokens.div_ceil(self.page).min(table.pages.len());
        // The last page first, so that a table that grows again gets them in the same order.
        let beyond = &table.pages[keep..];
        for (done, &page) in beyond.iter().rev().enumerate().filter(|(_, page)| **page != GONE) {
            if let Err(error) = self.give_back(page) {
                let given = beyond[beyond.len() - done..].iter().filter(|page| **page != GONE);
                given.for_each(|&page| self.hold(page));
                return Err(error);
            }
        }
        table.pages.truncate(keep);
        table.len = table.len.min(tokens);
        table.begin = table.begin.min(keep);
        Ok(())
    }

    /// Returns the pages of `table` that have none of the positions `kept` to the pool; [`GONE`] stands in their place. The
    /// positions after the first ones never go back from one call to the next, except by [`Pool::shrink`].
    ///
    /// # Errors
    /// [`Error::NotHeld`] for a table of another pool. The pages before that one are gone then.
    pub fn retain(&mut self, table: &mut PageTable, kept: Visible) -> Result<(), Error> {
        let (first, from) = (kept.first.div_ceil(self.page), kept.from / self.page);
        let gone = table.begin.max(first)..from.min(table.pages.len());
        for index in gone {
            let page = std::mem::replace(&mut table.pages[index], GONE);
            if page != GONE {
                self.give_back(page)?;
            }
        }
        table.begin = table.begin.max(from);
        Ok(())
    }

    /// Returns all pages of `table` to the pool.
    ///
    /// # Errors
    /// [`Error::NotHeld`] for a table of another pool. Nothing has changed then.
    pub fn release(&mut self, table: &mut PageTable) -> Result<(), Error> {
        self.shrink(table, 0)
    }

    /// A second table with the same pages and length. It copies nothing.
    ///
    /// # Errors
    /// [`Error::FreePage`] for a table of another pool, or [`Error::NoMemory`].
    pub fn fork(&mut self, table: &PageTable) -> Result<PageTable, Error> {
        let mut fork = PageTable::default();
        self.adopt(&mut fork, &table.pages, table.len)?;
        Ok(fork)
    }

    /// Appends pages that nodes keep or other tables hold, and [`GONE`] where the sequence needs none. `len` is the new length in tokens, with its last position in
    /// the last page; `table` must end at a page boundary.
    ///
    /// # Errors
    /// [`Error::Boundary`], [`Error::Length`], [`Error::FreePage`], or [`Error::NoMemory`]. Nothing has changed then.
    pub fn adopt(&mut self, table: &mut PageTable, pages: &[u32], len: usize) -> Result<(), Error> {
        if !table.len.is_multiple_of(self.page) {
            return Err(Error::Boundary { len: table.len, page: self.page });
        }
        let most = (table.pages.len() + pages.len()).saturating_mul(self.page);
        let least = if pages.is_empty() { most } else { most - self.page + 1 };
        if len < least || len > most {
            return Err(Error::Length { len, least, most });
        }
        let there = || pages.iter().copied().filter(|page| *page != GONE);
        if let Some(page) = there().find(|&page| self.holders(page) == 0 && self.kept(page) == 0) {
            return Err(Error::FreePage { page, capacity: self.capacity });
        }
        table.pages.try_reserve(pages.len()).map_err(|_| Error::NoMemory { pages: pages.len() })?;
        there().for_each(|page| self.hold(page));
        table.pages.extend_from_slice(pages);
        table.len = len;
        Ok(())
    }

    /// The part of the places in held pages that no position uses, from 0 to 1. `tables` are the tables of this pool. A
    /// page in several of them counts once, with the most places that one of them uses. 0 without pages.
    pub fn fragmentation<'t>(&self, tables: impl IntoIterator<Item = &'t PageTable>) -> f64 {
        let mut used = vec![0; self.capacity];
        for table in tables {
            for (index, &page) in table.pages.iter().enumerate() {
                let places = table.len.saturating_sub(index * self.page).min(self.page);
                if let Some(used) = used.get_mut(page as usize) {
                    *used = places.max(*used);
                }
            }
        }
        let held = used.iter().filter(|&&places| places > 0).count() * self.page;
        if held == 0 { 0.0 } else { 1.0 - used.iter().sum::<usize>() as f64 / held as f64 }
    }
}
