//! A pool with its tree, tables and device, and the facts that hold after every call.

use crate::list::{self, List};
use crate::memory::Memory;
use crate::rng::Rng;
use inkstone_kvcache::{PageCopy, PageTable, Pool, PrefixTree, Salt, Stats};
use std::collections::HashMap;

/// The sizes of a run.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub seed: u64,
    pub pages: usize,
    /// Tokens per page.
    pub page: usize,
    /// The number of different token ids.
    pub alphabet: usize,
    pub salts: usize,
    /// Whether sequences write into the middle of their text without shrinking their tables before.
    pub rewrites: bool,
}

/// A sequence with the text that it has written.
pub struct Sequence {
    pub table: PageTable,
    pub salt: Salt,
    pub text: Vec<u32>,
}

/// How often the rare cases occurred.
#[derive(Debug, Default)]
pub struct Seen {
    pub copies: usize,
    /// Pages that were replaced without a copy.
    pub replaced: usize,
    pub refused: usize,
    pub partial_hits: usize,
    pub gave_way: usize,
    pub stopped: usize,
    /// Partial nodes that went because a node continues their text.
    pub continued: usize,
    pub evicted: usize,
    /// Nodes that could not be evicted, because a node below them was held.
    pub stuck: usize,
}

pub struct World {
    pub setup: Setup,
    pub rng: Rng,
    pub pool: Pool,
    pub tree: PrefixTree,
    pub list: List,
    pub salts: Vec<Salt>,
    pub memory: Memory,
    pub sequences: Vec<Sequence>,
    pub copies: Vec<PageCopy>,
    pub stats: Stats,
    pub seen: Seen,
}

impl World {
    pub fn new(setup: Setup) -> World {
        let mut pool = Pool::new(setup.pages * setup.page, setup.page).unwrap();
        World {
            rng: Rng(setup.seed),
            tree: PrefixTree::new(&mut pool).unwrap(),
            pool,
            list: List::new(setup.page),
            salts: list::salts(setup.salts),
            memory: Memory::new(setup.pages, setup.page),
            sequences: Vec::new(),
            copies: Vec::new(),
            stats: Stats::default(),
            seen: Seen::default(),
            setup,
        }
    }

    /// How often tables list a page.
    pub fn holders(&self, page: u32) -> usize {
        self.sequences.iter().flat_map(|s| s.table.pages()).filter(|&&held| held == page).count()
    }

    pub fn is_free(&self, page: u32) -> bool {
        self.holders(page) == 0 && self.list.kept(page) == 0
    }

    pub fn free_pages(&self) -> Vec<u32> {
        (0..self.setup.pages as u32).filter(|&page| self.is_free(page)).collect()
    }

    /// Compares everything that can be asked with the model.
    pub fn check(&mut self) {
        let mut available = 0;
        for page in 0..self.setup.pages as u32 {
            assert_eq!(self.pool.holders(page), self.holders(page), "holders of page {page}");
            assert_eq!(self.pool.kept(page), self.list.kept(page), "places of the node of page {page}");
            available += usize::from(self.holders(page) == 0);
        }
        assert_eq!((self.pool.free(), self.pool.available()), (self.free_pages().len(), available));
        assert_eq!((self.tree.size(), self.tree.stats()), (self.list.nodes.len(), self.stats));
        for Sequence { table, text, .. } in &self.sequences {
            assert_eq!(table.pages().len(), table.len().div_ceil(self.setup.page));
            assert!(self.memory.has(table.pages(), text, 0), "the rows of {text:?} in {:?}", table.pages());
        }
        self.check_nodes();
        self.check_paths();
        let fragmentation = self.pool.fragmentation(self.sequences.iter().map(|s| &s.table));
        assert!((fragmentation - self.fragmentation()).abs() < 1e-12, "fragmentation {fragmentation}");
    }

    /// Each node is found with its page, which has the rows of its text.
    fn check_nodes(&self) {
        let mut pages = Vec::new();
        for node in &self.list.nodes {
            let hit = self.tree.peek(node.salt, &node.text, usize::MAX, &mut pages);
            let last = hit.partial.map_or(pages.last().copied(), |partial| Some(partial.page));
            assert_eq!((hit.tokens, last), (node.text.len(), Some(node.page)), "the node of {:?}", node.text);
            let start = self.list.start(node);
            assert!(self.memory.has(&[node.page], &node.text, start), "the rows of the node of {:?}", node.text);
        }
    }

    /// A table that lists a node lists the nodes above it. So a node without holders has none with holders below it.
    fn check_paths(&mut self) {
        let held = |page| self.sequences.iter().any(|s| s.table.pages().contains(&page));
        let stuck = |node: &&list::Node| !held(node.page) && self.list.below(node).any(|below| held(below.page));
        let stuck = self.list.nodes.iter().filter(stuck).count();
        assert!(self.setup.rewrites || stuck == 0, "{stuck} nodes can't be evicted");
        self.seen.stuck += stuck;
        if self.setup.rewrites {
            return;
        }
        for pages in self.sequences.iter().map(|s| s.table.pages()) {
            for node in pages.iter().filter_map(|&page| self.list.of_page(page)) {
                assert!(self.list.above(node).all(|above| pages.contains(&above.page)), "nodes of {pages:?}");
            }
        }
    }

    fn fragmentation(&self) -> f64 {
        let mut used: HashMap<u32, usize> = HashMap::new();
        for Sequence { table, .. } in &self.sequences {
            for (index, &page) in table.pages().iter().enumerate() {
                let places = (table.len() - index * self.setup.page).min(self.setup.page);
                let most = used.entry(page).or_default();
                *most = places.max(*most);
            }
        }
        let held = used.len() * self.setup.page;
        if held == 0 { 0.0 } else { (held - used.values().sum::<usize>()) as f64 / held as f64 }
    }
}
