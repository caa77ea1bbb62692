//! Eviction of nodes.

use super::PrefixTree;
use super::nodes::Nodes;
use crate::{Pool, Salt};
use std::cmp::Reverse;

impl PrefixTree {
    /// Frees pages of nodes that no table holds, and returns their number: `wanted`, or fewer if there are no more. Each
    /// time the salt with the most pages without holders loses one of them, so that a user with many prompts does not push
    /// out the prompts of the others; of these pages, the least recently used one without child nodes. Each page takes
    /// time for a scan of all nodes.
    ///
    /// It frees nothing in the pool of another tree.
    pub fn evict(&mut self, pool: &mut Pool, wanted: usize) -> usize {
        self.evict_with(pool, wanted, |_, _| ())
    }

    /// The same, which calls `leaving` with the page of each node before it is removed.
    pub(crate) fn evict_with(&mut self, pool: &mut Pool, wanted: usize, mut leaving: impl FnMut(&Nodes, u32)) -> usize {
        if !pool.is_tree(&self.id) {
            return 0;
        }
        let PrefixTree { nodes, unheld, stats, .. } = self;
        unheld.fill(0);
        for &page in nodes.order().iter().filter(|&&page| pool.holders(page) == 0) {
            unheld[nodes.family(page)] += 1;
        }
        for evicted in 0..wanted {
            let all = nodes.order().iter().copied().enumerate();
            let leaves = all.filter(|&(_, page)| nodes.is_leaf(page) && pool.holders(page) == 0);
            let first = leaves.min_by_key(|&(_, page)| (Reverse(unheld[nodes.family(page)]), nodes.last_used(page)));
            let Some((place, page)) = first else { return evicted };
            unheld[nodes.family(page)] -= 1;
            stats.evicted += nodes.text(page).len() as u64;
            leaving(nodes, page);
            nodes.remove(place);
            pool.unkeep(page);
        }
        wanted
    }

    /// Removes all nodes with this salt. Their pages are free, or belong only to the tables that hold them. It changes
    /// nothing with the pool of another tree.
    pub fn forget(&mut self, pool: &mut Pool, salt: Salt) {
        if let Some(family) = self.nodes.family_of(salt).filter(|_| pool.is_tree(&self.id)) {
            self.nodes.remove_all(|nodes, page| nodes.family(page) == family, |page| pool.unkeep(page));
        }
    }

    /// Removes all nodes, like [`forget`](PrefixTree::forget) for every salt.
    pub fn clear(&mut self, pool: &mut Pool) {
        if pool.is_tree(&self.id) {
            self.nodes.remove_all(|_, _| true, |page| pool.unkeep(page));
        }
    }
}
