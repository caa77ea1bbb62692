//! The pages of one sequence.

/// The pages of a sequence in one layer group, in the order of positions. It belongs to the pool that allocated its
/// pages; return them with [`Pool::release`](crate::Pool::release). Several tables may list the same page; before a
/// sequence writes, [`Pool::write`](crate::Pool::write) replaces the pages that it shares.
#[derive(Debug, Default)]
pub struct PageTable {
    /// As many pages as `len` tokens need.
    pub(crate) pages: Vec<u32>,
    pub(crate) len: usize,
}

impl PageTable {
    /// The page numbers.
    pub fn pages(&self) -> &[u32] {
        &self.pages
    }

    /// The number of tokens that it covers: the positions that are written, or may be.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it covers no token.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A copy of the first places of a page, in the key and value buffers of every layer of the group. The engine makes
/// copies in the order in which they were requested, and before it writes the rows that need them: an earlier copy may
/// read the page that a later copy writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageCopy {
    /// The page that is read.
    pub from: u32,
    /// The page that is written.
    pub to: u32,
    /// The number of places, from the first one of both pages; less than a page.
    pub places: u32,
}
