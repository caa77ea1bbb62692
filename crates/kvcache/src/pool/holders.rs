//! The holders of a page, and the node that keeps it.

use super::Pool;
use crate::Error;
use std::sync::{Arc, Weak};

impl Pool {
    /// How often page tables list this page; 0 for a number that is not a page.
    pub fn holders(&self, page: u32) -> usize {
        self.holders.get(page as usize).copied().unwrap_or(0)
    }

    /// The number of first places of this page that a node of the prefix tree has: 0 without a node, or for a number that
    /// is not a page.
    pub fn kept(&self, page: u32) -> usize {
        self.kept.get(page as usize).map_or(0, |&places| places as usize)
    }

    /// Checks that this many pages are free.
    pub(super) fn require(&self, wanted: usize) -> Result<(), Error> {
        if wanted > self.free.len() {
            return Err(Error::NoPages { wanted, free: self.free.len(), capacity: self.capacity });
        }
        Ok(())
    }

    /// Takes a free page for a table.
    pub(super) fn take(&mut self) -> Option<u32> {
        let page = *self.free.last()?;
        self.hold(page);
        Some(page)
    }

    /// Adds a holder to a page that is held or kept, or that is the last one of the free list.
    pub(super) fn hold(&mut self, page: u32) {
        if self.holders(page) == 0 {
            if self.kept(page) == 0 {
                self.free.pop();
            } else {
                self.idle -= 1;
            }
        }
        self.holders[page as usize] += 1;
    }

    /// Takes a holder from a page. After the last one it stays with its node, or is the last one of the free list.
    pub(super) fn give_back(&mut self, page: u32) -> Result<(), Error> {
        let holders = self.holders.get_mut(page as usize).filter(|holders| **holders > 0);
        let holders = holders.ok_or(Error::NotHeld { page })?;
        *holders -= 1;
        if *holders == 0 {
            if self.kept(page) == 0 {
                self.free.push(page);
            } else {
                self.idle += 1;
            }
        }
        Ok(())
    }

    /// Makes a tree the tree of this pool, which must have none. Pages that a dropped tree has left are free, unless a
    /// table holds them.
    pub(crate) fn set_tree(&mut self, tree: &Arc<()>) -> Result<(), Error> {
        if self.tree.strong_count() > 0 {
            return Err(Error::SecondTree { pages: self.capacity });
        }
        (0..self.capacity as u32).for_each(|page| self.unkeep(page));
        self.tree = Arc::downgrade(tree);
        Ok(())
    }

    /// Whether this is the tree of this pool.
    pub(crate) fn is_tree(&self, tree: &Arc<()>) -> bool {
        Weak::as_ptr(&self.tree) == Arc::as_ptr(tree)
    }

    /// Notes that a node has the first places of a page, which a table holds.
    pub(crate) fn keep(&mut self, page: u32, places: usize) {
        self.kept[page as usize] = places as u32;
    }

    /// Notes that a page has no node. It is free if no table holds it.
    pub(crate) fn unkeep(&mut self, page: u32) {
        if std::mem::take(&mut self.kept[page as usize]) > 0 && self.holders(page) == 0 {
            self.idle -= 1;
            self.free.push(page);
        }
    }

    /// Puts a page that a node keeps in the place of a page that a table holds.
    pub(crate) fn replace(&mut self, held: &mut u32, kept: u32) -> Result<(), Error> {
        self.give_back(*held)?;
        self.hold(kept);
        *held = kept;
        Ok(())
    }
}
