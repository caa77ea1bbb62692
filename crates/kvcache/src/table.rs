//! The pages of one sequence.

use inkstone_tensor::step::GROUPS;

/// Stands in a page table for a page that was given back, because no row that is computed from now on sees it.
pub const GONE: u32 = u32::MAX;

/// The pages of a sequence in one layer group, in the order of positions. It belongs to the pool that allocated its
/// pages; return them with [`Pool::release`](crate::Pool::release). Several tables may list the same page; before a
/// sequence writes, [`Pool::write`](crate::Pool::write) replaces the pages that it shares.
#[derive(Debug, Default)]
pub struct PageTable {
    /// As many pages as `len` tokens need.
    pub(crate) pages: Vec<u32>,
    pub(crate) len: usize,
    /// Pages before this index were given back, except for the first positions of a window.
    pub(crate) begin: usize,
}

impl PageTable {
    /// The page numbers, and [`GONE`] for pages that were given back.
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

/// The pages of a sequence in all layer groups.
#[derive(Debug, Default)]
pub struct Tables(pub(crate) [PageTable; GROUPS]);

impl Tables {
    /// The pages in a group.
    pub fn of(&self, group: usize) -> &PageTable {
        &self.0[group]
    }

    /// The page numbers of all groups.
    pub fn pages(&self) -> [&[u32]; GROUPS] {
        self.0.each_ref().map(PageTable::pages)
    }

    /// The number of tokens that they cover.
    pub fn len(&self) -> usize {
        self.0[0].len
    }

    /// Whether they cover no token.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
