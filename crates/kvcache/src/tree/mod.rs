//! The texts whose keys and values are in pages, as a tree.

mod evict;
mod insert;
mod nodes;
#[cfg(test)]
mod tests;

use crate::{Error, Pool, Salt};
pub(crate) use nodes::{Nodes, Parent, filled};
use std::sync::Arc;

/// Finds pages that hold the beginning of a text. A node is a page with the token ids of its first places; its children
/// continue the text of a whole page. Texts with different salts have no nodes in common.
///
/// The tree belongs to one pool, and the pool has no other tree. A page of the tree keeps its contents when the last table
/// returns it, until the tree evicts it. Nodes are compared by their token ids, so a page is never found for another text.
/// Only [`PrefixTree::new`] allocates, apart from the list of pages that a caller passes.
///
/// A table that lists a node must list all nodes above it, as it does after [`insert`](PrefixTree::insert), and after
/// [`Pool::adopt`] of the pages that [`find`](PrefixTree::find) returned. So [`Pool::shrink`] a table before its text is
/// written anew. Otherwise a node without holders can stay above a node with holders, and can't be evicted although
/// [`Pool::available`] counts it.
///
/// ```
/// use inkstone_kvcache::{PageTable, Pool, PrefixTree, Salt};
///
/// let mut pool = Pool::new(64, 4)?;
/// let mut tree = PrefixTree::new(&mut pool)?;
/// let (salt, text) = (Salt::none(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
///
/// // A first sequence computes its prompt, and leaves its pages to the tree.
/// let mut first = PageTable::default();
/// pool.grow(&mut first, text.len())?;
/// tree.insert(&mut pool, salt, &mut first, &text)?;
/// pool.release(&mut first)?;
/// assert_eq!((pool.free(), pool.available()), (13, 16));
///
/// // A second prompt begins with a whole page and two more tokens of the same text. Its last token must be computed.
/// let (prompt, mut pages) = ([1, 2, 3, 4, 5, 6, 0, 0], Vec::new());
/// let hit = tree.find(salt, &prompt, prompt.len() - 1, &mut pages);
/// let partial = hit.partial.expect("the second page of the text");
/// assert_eq!((hit.tokens, pages.len(), partial.places), (6, 1, 2));
///
/// pages.push(partial.page);
/// let (mut second, mut copies) = (PageTable::default(), Vec::new());
/// pool.adopt(&mut second, &pages, hit.tokens)?;
/// pool.grow(&mut second, prompt.len())?;
/// pool.write(&mut second, hit.tokens..prompt.len(), &mut copies)?; // a page of its own, with a copy of two places
/// assert_eq!((copies[0].from, copies[0].places), (partial.page, 2));
/// # Ok::<(), inkstone_kvcache::Error>(())
/// ```
#[derive(Debug)]
pub struct PrefixTree {
    nodes: Nodes,
    /// Its pool has a weak reference to the same value.
    id: Arc<()>,
    /// The number of pages without holders of each family, while pages are evicted.
    unheld: Vec<u32>,
    /// Counts the calls that use nodes.
    clock: u64,
    stats: Stats,
}

/// A page of which a text has the first places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partial {
    /// The page.
    pub page: u32,
    /// The number of its first places, less than a page.
    pub places: usize,
}

/// The part of a text that is in the tree, except for the whole pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hit {
    /// The number of tokens, in whole pages and in the partial one.
    pub tokens: usize,
    /// The page in which the text ends, or parts from all others.
    pub partial: Option<Partial>,
}

/// The effect of a tree, in tokens since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Tokens of the texts that were searched for.
    pub asked: u64,
    /// Tokens of these texts that were found.
    pub hit: u64,
    /// Tokens of the nodes that were evicted.
    pub evicted: u64,
}

impl PrefixTree {
    /// An empty tree for the pages of `pool`, which must have no other tree.
    ///
    /// # Errors
    /// [`Error::SecondTree`], or [`Error::NoMemory`] for its lists, which have a word for each place of the pool.
    pub fn new(pool: &mut Pool) -> Result<PrefixTree, Error> {
        let nodes = Nodes::new(pool.capacity(), pool.page())?;
        let unheld = filled(pool.capacity(), 0)?;
        let id = Arc::new(());
        pool.set_tree(&id)?;
        Ok(PrefixTree { nodes, id, unheld, clock: 0, stats: Stats::default() })
    }

    pub(crate) fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// The number of nodes, which is the number of pages in the tree.
    pub fn size(&self) -> usize {
        self.nodes.order().len()
    }

    /// The tokens that were searched for, found and evicted.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Finds the longest beginning of `ids` in the tree, of at most `most` tokens, and notes the use of its nodes.
    /// `pages` gets the whole pages in place of its contents; it needs a capacity of `ids.len()` divided by the tokens per
    /// page. Adopt the pages before the next eviction, which may free them.
    pub fn find(&mut self, salt: Salt, ids: &[u32], most: usize, pages: &mut Vec<u32>) -> Hit {
        let hit = self.peek(salt, ids, most, pages);
        self.found(&hit, pages, ids.len());
        hit
    }

    /// Notes the use of the nodes of a hit: `pages` are its whole pages. `asked` tokens were searched for.
    pub(crate) fn found(&mut self, hit: &Hit, pages: &[u32], asked: usize) {
        self.clock += 1;
        for &page in pages.iter().chain(hit.partial.as_ref().map(|partial| &partial.page)) {
            self.nodes.touch(page, self.clock);
        }
        self.stats.asked += asked as u64;
        self.stats.hit += hit.tokens as u64;
    }

    /// Like [`find`](PrefixTree::find), but changes neither the order of eviction nor the statistics.
    pub fn peek(&self, salt: Salt, ids: &[u32], most: usize, pages: &mut Vec<u32>) -> Hit {
        // All nodes are alike.
        self.peek_of(salt, ids, most, pages, |_, tokens| tokens)
    }

    /// The same; where a text parts from several nodes within a page, the node of the highest rank is found. The rank of a node
    /// that has so many tokens of the page in common with the text is at most their number.
    pub(crate) fn peek_of(
        &self,
        salt: Salt,
        ids: &[u32],
        most: usize,
        pages: &mut Vec<u32>,
        rank: impl Fn(u32, usize) -> usize,
    ) -> Hit {
        pages.clear();
        let mut hit = Hit::default();
        let mut parent = Parent::Root(salt);
        for part in ids[..ids.len().min(most)].chunks(self.nodes.page()) {
            let Some((page, places)) = self.nodes.longest_of(parent, part, &rank) else { break };
            hit.tokens += places;
            if places < self.nodes.page() {
                hit.partial = Some(Partial { page, places });
                break;
            }
            pages.push(page);
            parent = Parent::Page(page);
        }
        hit
    }
}
