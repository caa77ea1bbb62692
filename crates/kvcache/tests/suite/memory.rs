//! The buffers of a device, as the pages would see them.

use inkstone_kvcache::PageCopy;

/// The keys and values of a token, which depend on it and on all tokens before it.
pub type Row = u64;

/// The rows of a text.
pub fn rows(text: &[u32]) -> impl Iterator<Item = Row> {
    text.iter().scan(0u64, |row, id| {
        *row = (*row + u64::from(*id) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) >> 1;
        Some(*row)
    })
}

/// A row for each place of each page, or none if it was not written since its page was free.
pub struct Memory {
    page: usize,
    places: Vec<Option<Row>>,
}

impl Memory {
    pub fn new(pages: usize, page: usize) -> Memory {
        Memory { page, places: vec![None; pages * page] }
    }

    /// A free page that a table gets has no rows that the table may rely on.
    pub fn wipe(&mut self, page: u32) {
        let first = page as usize * self.page;
        self.places[first..first + self.page].fill(None);
    }

    pub fn copy(&mut self, copy: PageCopy) {
        let (from, to) = (copy.from as usize * self.page, copy.to as usize * self.page);
        self.places.copy_within(from..from + copy.places as usize, to);
    }

    /// Writes the rows of `text` from position `start` on.
    pub fn write(&mut self, pages: &[u32], text: &[u32], start: usize) {
        for (position, row) in rows(text).enumerate().skip(start) {
            let place = pages[position / self.page] as usize * self.page + position % self.page;
            self.places[place] = Some(row);
        }
    }

    /// Whether `pages` have the rows of `text` from position `start` on, at the beginning of the first page.
    pub fn has(&self, pages: &[u32], text: &[u32], start: usize) -> bool {
        rows(text).enumerate().skip(start).all(|(position, row)| {
            let place = pages[(position - start) / self.page] as usize * self.page + position % self.page;
            self.places[place] == Some(row)
        })
    }
}
