//! Pages that become nodes.

use super::PrefixTree;
use super::nodes::Parent;
use crate::{Error, PageTable, Pool, Salt};

impl PrefixTree {
    /// Makes nodes of the pages of `table` that hold `ids`, the beginning of its text: of whole pages, then of the first
    /// places of the last one. Call it when the rows of these tokens have been given to the device. Returns the number of
    /// tokens that are in nodes now: all of `ids`, unless the insertion ends early.
    ///
    /// A whole page gives way to another page that is a node with the same text: the table gets that page instead. If
    /// other tables also hold the page, the insertion ends before it, because it can't change these tables. The last,
    /// partial page becomes a node only if no other node has the same text or continues it. A node whose text continues
    /// the text of a partial node takes its place; if both are the same page, its node is extended.
    ///
    /// A call compares all of `ids` with the nodes of the table, and searches the list of nodes for each page that is not
    /// a node yet. A sequence calls it once per page that it fills.
    ///
    /// # Errors
    /// [`Error::OtherPool`]; [`Error::Positions`] if the table covers fewer tokens; [`Error::NotHeld`] for a table of
    /// another pool; [`Error::OtherText`] if a page of the table has another text in the tree. The pages before it
    /// are nodes then.
    pub fn insert(&mut self, pool: &mut Pool, salt: Salt, table: &mut PageTable, ids: &[u32]) -> Result<usize, Error> {
        self.insert_with(pool, salt, table, ids, |_, _| ())
    }

    /// The same, which calls `replaced` with the page of a partial node that is no longer one, and with the page of the node
    /// in its place.
    pub(crate) fn insert_with(
        &mut self,
        pool: &mut Pool,
        salt: Salt,
        table: &mut PageTable,
        ids: &[u32],
        mut replaced: impl FnMut(u32, u32),
    ) -> Result<usize, Error> {
        if !pool.is_tree(&self.id) {
            return Err(Error::OtherPool { nodes: self.size() });
        }
        let outside = Error::Positions { start: 0, end: ids.len(), len: table.len };
        let pages = table.pages.get_mut(..ids.len().div_ceil(self.nodes.page()));
        let pages = pages.filter(|_| ids.len() <= table.len).ok_or(outside)?;
        self.clock += 1;

        let mut parent = Parent::Root(salt);
        let mut tokens = 0;
        for (page, part) in pages.iter_mut().zip(ids.chunks(self.nodes.page())) {
            if pool.holders(*page) == 0 {
                return Err(Error::NotHeld { page: *page });
            }
            let node = if self.nodes.text(*page).is_empty() {
                self.insert_page(pool, parent, page, part, &mut replaced)?
            } else if self.nodes.parent(*page) == parent && agree(self.nodes.text(*page), part) {
                self.extend(pool, *page, part);
                Some(*page)
            } else {
                return Err(Error::OtherText { page: *page, start: tokens, end: tokens + part.len() });
            };
            let Some(node) = node else { break };
            self.nodes.touch(node, self.clock);
            tokens += part.len();
            parent = Parent::Page(node);
        }
        Ok(tokens)
    }

    /// The node with the text `ids` below `parent`: another page that has it already, or else `page`, which is not a node
    /// yet. None if the table would need the other page, but several tables hold `page`.
    fn insert_page(
        &mut self,
        pool: &mut Pool,
        parent: Parent,
        page: &mut u32,
        ids: &[u32],
        replaced: &mut impl FnMut(u32, u32),
    ) -> Result<Option<u32>, Error> {
        let mut place = self.nodes.place(parent, ids);
        if let Some(equal) = self.nodes.child_at(parent, place).filter(|&node| self.nodes.text(node).starts_with(ids)) {
            if ids.len() == self.nodes.page() {
                if pool.holders(*page) > 1 {
                    return Ok(None);
                }
                pool.replace(page, equal)?;
            }
            return Ok(Some(equal));
        }
        let shorter = self.nodes.child_before(parent, place).filter(|&node| ids.starts_with(self.nodes.text(node)));
        if let Some(shorter) = shorter {
            place -= 1;
            self.nodes.remove(place);
            pool.unkeep(shorter);
        }
        self.nodes.add(place, *page, parent, ids);
        pool.keep(*page, ids.len());
        if let Some(shorter) = shorter {
            replaced(shorter, *page);
        }
        Ok(Some(*page))
    }

    /// Extends the node of `page` to the text `ids`, if that is longer.
    fn extend(&mut self, pool: &mut Pool, page: u32, ids: &[u32]) {
        if ids.len() > self.nodes.text(page).len() {
            self.nodes.extend(page, ids);
            pool.keep(page, ids.len());
        }
    }
}

/// Whether one of two texts begins with the other.
fn agree(a: &[u32], b: &[u32]) -> bool {
    a.iter().zip(b).all(|(a, b)| a == b)
}
