//! A shared pool of pages.

use crate::Error;

/// The largest number of tokens per page.
pub const MAX_PAGE: usize = 1 << 20;

/// The pages of one layer group. A page is a number that stands for the same range of tokens in the key and value
/// buffers of every layer of the group. The engine owns these buffers; the pool only tracks which pages are in use.
#[derive(Debug)]
pub struct Pool {
    page: usize,
    capacity: usize,
    /// The free pages. The last one is allocated next.
    free: Vec<u32>,
}

/// The pages of a sequence in one layer group, in the order of positions. It belongs to the pool that allocated its
/// pages; return them with [`Pool::release`].
#[derive(Debug, Default)]
pub struct PageTable {
    pages: Vec<u32>,
}

impl PageTable {
    /// The page numbers.
    pub fn pages(&self) -> &[u32] {
        &self.pages
    }
}

impl Pool {
    /// A pool with the number of whole pages that fit in `tokens`.
    ///
    /// # Errors
    /// [`Error::PageSize`], [`Error::TooSmall`], or [`Error::NoMemory`] for the list of free pages.
    pub fn new(tokens: usize, page: usize) -> Result<Pool, Error> {
        if !page.is_power_of_two() || page > MAX_PAGE {
            return Err(Error::PageSize { tokens: page, most: MAX_PAGE });
        }
        let capacity = (tokens / page).min(u32::MAX as usize);
        if capacity == 0 {
            return Err(Error::TooSmall { tokens, page });
        }
        let mut free = Vec::new();
        free.try_reserve_exact(capacity).map_err(|_| Error::NoMemory { pages: capacity })?;
        free.extend((0..capacity as u32).rev());
        Ok(Pool { page, capacity, free })
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

    /// The number of free pages.
    pub fn available(&self) -> usize {
        self.free.len()
    }

    /// Whether the pool has enough pages for `table` to hold this many tokens.
    pub fn can_grow(&self, table: &PageTable, tokens: usize) -> bool {
        self.wanted(table, tokens) <= self.free.len()
    }

    fn wanted(&self, table: &PageTable, tokens: usize) -> usize {
        tokens.div_ceil(self.page).saturating_sub(table.pages.len())
    }

    /// Adds pages to `table` until it holds at least this many tokens. Adds none if the pool has too few.
    ///
    /// # Errors
    /// [`Error::NoPages`] with the numbers, or [`Error::NoMemory`].
    pub fn grow(&mut self, table: &mut PageTable, tokens: usize) -> Result<(), Error> {
        let wanted = self.wanted(table, tokens);
        if wanted > self.free.len() {
            return Err(Error::NoPages { wanted, free: self.free.len(), capacity: self.capacity });
        }
        table.pages.try_reserve(wanted).map_err(|_| Error::NoMemory { pages: wanted })?;
        table.pages.extend(self.free.drain(self.free.len() - wanted..).rev());
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
    pub fn shrink(&mut self, table: &mut PageTable, tokens: usize) {
        let keep = tokens.div_ceil(self.page).min(table.pages.len());
        self.free.extend(table.pages.drain(keep..).rev());
    }

    /// Returns all pages of `table` to the pool.
    pub fn release(&mut self, table: &mut PageTable) {
        self.shrink(table, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_page_has_one_owner() {
        let mut pool = Pool::new(100, 8).unwrap();
        assert_eq!((pool.capacity(), pool.slots()), (12, 96));
        let mut tables = [PageTable::default(), PageTable::default(), PageTable::default()];
        for (i, tokens) in [(0, 9), (1, 1), (2, 30), (0, 17), (1, 8), (0, 24), (2, 33)] {
            pool.grow(&mut tables[i], tokens).unwrap();
            assert!(tables[i].pages().len() * 8 >= tokens);
            let held: Vec<u32> = tables.iter().flat_map(|t| t.pages()).chain(&pool.free).copied().collect();
            assert_eq!((held.len(), held.iter().collect::<HashSet<_>>().len()), (12, 12));
        }
        pool.shrink(&mut tables[2], 16);
        assert_eq!(tables[2].pages().len(), 2);
        tables.iter_mut().for_each(|t| pool.release(t));
        assert_eq!(pool.available(), 12);
    }

    #[test]
    fn an_empty_pool_says_so_and_takes_nothing() {
        let mut pool = Pool::new(32, 16).unwrap();
        let (mut a, mut b) = (PageTable::default(), PageTable::default());
        pool.grow(&mut a, 16).unwrap();
        assert!(!pool.can_grow(&b, 17) && pool.can_grow(&b, 16));
        let error = pool.grow(&mut b, 17).unwrap_err();
        assert_eq!(error.to_string(), "no cache page left: 2 wanted, 1 of 2 free");
        assert_eq!((b.pages().len(), pool.available()), (0, 1));
    }

    #[test]
    fn g1_odd_sizes_are_refused_by_name() {
        assert_eq!(Pool::new(100, 0).unwrap_err(), Error::PageSize { tokens: 0, most: MAX_PAGE });
        assert_eq!(Pool::new(100, 17).unwrap_err(), Error::PageSize { tokens: 17, most: MAX_PAGE });
        assert_eq!(Pool::new(7, 8).unwrap_err(), Error::TooSmall { tokens: 7, page: 8 });
        let error = crate::Format::named("f8").unwrap_err().to_string();
        assert_eq!(error, "no cache format f8; there are: f16, f32");
    }
}
