//! The caches of all layer groups.

mod checkpoints;
mod floor;
#[cfg(test)]
mod tests;

use crate::tree::filled;
use crate::{Error, GONE, Hit, PageCopy, Pool, PrefixTree, Salt, Tables};
use checkpoints::Checkpoints;
use floor::Rows;
use inkstone_tensor::Group;
use inkstone_tensor::step::GROUPS;
use std::ops::Range;

/// The copies before a write: a layer group, and the places that the engine must copy there; at most one per group.
pub type Copies = Vec<(usize, PageCopy)>;

/// The pages of all layer groups: a pool for each of them, and one tree of texts.
///
/// A group with a window keeps only the rows that later rows see, and a few more ([`Caches::keep`]). So a sequence can't go back
/// to every length: the *floor* of a length is the largest one up to it from which rows can be computed ([`Caches::floor`]).
/// The tree keeps all rows of group 0, and rows of a window only below *checkpoints* ([`Caches::checkpoint`]).
///
/// ```
/// use inkstone_kvcache::{Caches, Salt, Tables};
/// use inkstone_tensor::{Group, ops::Window};
///
/// // All positions in one group; in another one the last 8, in pages of 4 tokens.
/// let window = Group::Window(Window { size: 8, first: 0 });
/// let mut caches = Caches::new(&[(Group::Full, 256), (window, 128)], 4)?;
/// let (text, salt): (Vec<u32>, _) = ((0..100).collect(), Salt::none());
///
/// // A prompt is computed. At its end the tree gets its rows, and a checkpoint below them.
/// let mut tables = Tables::default();
/// for (from, to) in [(0, 50), (50, 100)] {
///     caches.keep(&mut tables, from)?;
///     caches.grow(&mut tables, text.len(), to)?;
///     caches.write(&mut tables, from..to, &mut Vec::new())?;
///     caches.insert(salt, &mut tables, &text[..to])?;
/// }
/// assert!(caches.checkpoint(&mut tables, 100));
/// caches.release(&mut tables)?;
///
/// // The same text again, but for its last token; and another one that goes on after 60 tokens.
/// let found = caches.find(salt, &text, 99, &mut tables)?;
/// assert_eq!((found.hit, found.floor), (99, 99));
/// caches.release(&mut tables)?;
/// let found = caches.find(salt, &text[..60], 60, &mut tables)?;
/// assert_eq!((found.hit, found.floor), (60, 0));
/// # Ok::<(), inkstone_kvcache::Error>(())
/// ```
#[derive(Debug)]
pub struct Caches {
    page: usize,
    groups: Vec<Group>,
    /// By group.
    pools: Vec<Pool>,
    tree: PrefixTree,
    checkpoints: Checkpoints,
    /// The nodes of a text, kept to reuse the memory.
    path: Vec<u32>,
    /// Pages to adopt, kept to reuse the memory.
    adopted: Vec<u32>,
    copies: Vec<PageCopy>,
    sets_checkpoints: bool,
}

/// The part of a text that is in the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Tokens in group 0.
    pub hit: usize,
    /// Tokens after which rows can be computed in all groups: as many as the tables cover now.
    pub floor: usize,
}

impl Caches {
    /// Caches for these groups, each with room for so many tokens, in pages of `page` tokens.
    ///
    /// # Errors
    /// [`Error::Groups`], or a pool or its tree can't be made.
    pub fn new(groups: &[(Group, usize)], page: usize) -> Result<Caches, Error> {
        match groups.first() {
            Some((Group::Full, _)) if groups.len() <= GROUPS => {}
            first => {
                let first =
                    if first.is_some_and(|(group, _)| *group == Group::Full) { "all positions" } else { "less" };
                return Err(Error::Groups { groups: groups.len(), first, most: GROUPS });
            }
        }
        let pools = groups.iter().map(|(_, tokens)| Pool::new(*tokens, page));
        let mut pools = pools.collect::<Result<Vec<Pool>, Error>>()?;
        let tree = PrefixTree::new(&mut pools[0])?;
        let nodes = pools[0].capacity();
        let checkpoints = Checkpoints::new(groups.len() - 1, nodes)?;
        let list = |capacity: usize| {
            filled(capacity, 0).map(|mut list| {
                list.clear();
                list
            })
        };
        let (path, adopted, copies) = (list(nodes + 1)?, list(nodes + 1)?, Vec::with_capacity(1));
        let groups = groups.iter().map(|(group, _)| *group).collect();
        Ok(Caches { page, groups, pools, tree, checkpoints, path, adopted, copies, sets_checkpoints: true })
    }

    /// Whether checkpoints are set; by default they are.
    pub fn set_checkpoints(&mut self, set: bool) {
        self.sets_checkpoints = set;
    }

    /// Tokens per page.
    pub fn page(&self) -> usize {
        self.page
    }

    /// The groups.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The pages of a group.
    pub fn pool(&self, group: usize) -> &Pool {
        &self.pools[group]
    }

    /// The pages of a group that tables hold.
    pub fn held(&self, group: usize) -> usize {
        self.pools[group].capacity() - self.pools[group].available()
    }

    /// The pages of each group.
    pub fn pools_mut(&mut self) -> &mut [Pool] {
        &mut self.pools
    }

    /// The texts.
    pub fn tree(&self) -> &PrefixTree {
        &self.tree
    }

    /// The pages of a group that a sequence of `tokens` tokens needs while steps compute up to `rows` rows of it.
    pub fn pages_of(&self, group: usize, tokens: usize, rows: usize) -> usize {
        let all = tokens.div_ceil(self.page);
        match self.groups[group] {
            Group::Full => all,
            Group::Window(window) => {
                let seen = self.groups[group].most(rows) - window.first;
                all.min(seen.div_ceil(self.page) + 1 + window.first.div_ceil(self.page))
            }
        }
    }

    /// Reserves memory for the page numbers of `tokens` tokens, so that `tables` grow to them without an allocation.
    ///
    /// # Errors
    /// [`Error::NoMemory`].
    pub fn reserve(&self, tables: &mut Tables, tokens: usize) -> Result<(), Error> {
        self.pools.iter().zip(&mut tables.0).try_for_each(|(pool, table)| pool.reserve(table, tokens))
    }

    /// Adds pages until `tables` cover `tokens` tokens; in group 0 until they cover `all`, so that a sequence is not stuck
    /// within its prompt. Checkpoints and texts that no sequence holds are evicted if pages are missing.
    ///
    /// # Errors
    /// [`Error::NoPages`] of a group, or [`Error::NoMemory`]. Groups before it have grown then.
    pub fn grow(&mut self, tables: &mut Tables, all: usize, tokens: usize) -> Result<(), Error> {
        for group in 0..self.pools.len() {
            let tokens = if group == 0 { all.max(tokens) } else { tokens };
            self.with_room(group, |pool, _| pool.grow(&mut tables.0[group], tokens))?;
        }
        Ok(())
    }

    /// Prepares `tables` for a write to these positions, like [`Pool::write`] in each group.
    ///
    /// # Errors
    /// Like [`Pool::write`]. Groups before it are prepared then.
    pub fn write(&mut self, tables: &mut Tables, positions: Range<usize>, copies: &mut Copies) -> Result<(), Error> {
        for group in 0..self.pools.len() {
            let mut own = std::mem::take(&mut self.copies);
            let done = self.write_group(tables, group, positions.clone(), &mut own);
            let copied = own.drain(..).map(|copy| (group, copy));
            copies.extend(copied);
            self.copies = own;
            done?;
        }
        Ok(())
    }

    /// Prepares a write in a group. A page that a checkpoint keeps is only written by a sequence that goes on in the node of that
    /// page: otherwise two texts would have one page.
    fn write_group(
        &mut self,
        tables: &mut Tables,
        group: usize,
        positions: Range<usize>,
        copies: &mut Vec<PageCopy>,
    ) -> Result<(), Error> {
        let [nodes, windows @ ..] = &mut tables.0;
        let Some(window) = group.checked_sub(1) else {
            return self.with_room(group, |pool, _| pool.write(nodes, positions.clone(), copies));
        };
        self.with_room(group, |pool, checkpoints| {
            let grows = |index: usize, page: u32| {
                nodes.pages.get(index).and_then(|node| checkpoints.page(group, *node)) == Some(page)
            };
            pool.write_with(&mut windows[window], positions.clone(), copies, grows)
        })
    }

    /// Does something that needs pages of a group, after an eviction if they are missing.
    fn with_room(
        &mut self,
        group: usize,
        mut act: impl FnMut(&mut Pool, &Checkpoints) -> Result<(), Error>,
    ) -> Result<(), Error> {
        loop {
            let done = act(&mut self.pools[group], &self.checkpoints);
            let Err(Error::NoPages { wanted, free, .. }) = done else { return done };
            let missing = wanted.saturating_sub(free);
            if self.evict(group, missing) < missing {
                return done;
            }
        }
    }

    /// Holds the source of a copy until the engine has made it.
    ///
    /// # Errors
    /// [`Error::FreePage`] or [`Error::NoMemory`].
    pub fn hold(&mut self, sources: &mut Tables, group: usize, copy: PageCopy) -> Result<(), Error> {
        let table = &mut sources.0[group];
        let len = table.len + self.page;
        self.pools[group].adopt(table, &[copy.from], len)
    }

    /// Gives back the pages of window groups that a sequence no longer needs, if from now on it never has fewer than `len`
    /// tokens. Steps that were launched may still read them: the queue runs these first.
    ///
    /// # Errors
    /// [`Error::NotHeld`] for tables of other caches.
    pub fn keep(&mut self, tables: &mut Tables, len: usize) -> Result<(), Error> {
        let windows = self.pools.iter_mut().zip(&mut tables.0).zip(&self.groups).skip(1);
        windows.into_iter().try_for_each(|((pool, table), group)| pool.retain(table, group.keeps(len)))
    }

    /// Gives back the pages beyond so many tokens.
    ///
    /// # Errors
    /// [`Error::NotHeld`] for tables of other caches.
    pub fn shrink(&mut self, tables: &mut Tables, tokens: usize) -> Result<(), Error> {
        self.pools.iter_mut().zip(&mut tables.0).try_for_each(|(pool, table)| pool.shrink(table, tokens))
    }

    /// Gives back all pages.
    ///
    /// # Errors
    /// [`Error::NotHeld`] for tables of other caches.
    pub fn release(&mut self, tables: &mut Tables) -> Result<(), Error> {
        self.shrink(tables, 0)
    }

    /// Second tables with the same pages.
    ///
    /// # Errors
    /// [`Error::FreePage`] for tables of other caches, or [`Error::NoMemory`].
    pub fn fork(&mut self, tables: &Tables) -> Result<Tables, Error> {
        let mut fork = Tables::default();
        for (pool, (from, to)) in self.pools.iter_mut().zip(tables.0.iter().zip(&mut fork.0)) {
            *to = pool.fork(from)?;
        }
        Ok(fork)
    }

    /// The pages of window groups, to which [`Caches::back`] returns.
    ///
    /// # Errors
    /// Like [`Caches::fork`].
    pub fn mark(&mut self, tables: &Tables) -> Result<Tables, Error> {
        let mut mark = Tables::default();
        for group in 1..self.groups.len() {
            mark.0[group] = self.pools[group].fork(tables.of(group))?;
        }
        Ok(mark)
    }

    /// Lets a sequence with these tables go back to the length that it had at a mark.
    ///
    /// # Errors
    /// Like [`Caches::fork`] and [`Caches::release`].
    pub fn back(&mut self, tables: &mut Tables, mark: &Tables) -> Result<(), Error> {
        for group in 1..self.groups.len() {
            let fork = self.pools[group].fork(mark.of(group))?;
            self.pools[group].release(&mut tables.0[group])?;
            tables.0[group] = fork;
        }
        Ok(())
    }

    /// The largest length up to `len` from which a sequence with these tables can go on.
    pub fn floor(&self, tables: &Tables, len: usize) -> usize {
        floor::common(&self.groups, len.min(tables.len()), |group| {
            let pages = tables.of(group).pages();
            Rows {
                page: self.page,
                places: move |index: usize| match pages.get(index) {
                    None | Some(&GONE) => 0,
                    Some(_) => self.page,
                },
            }
        })
    }

    /// The positions of `tables` whose rows are there in a group: the first ones, and the last ones.
    pub fn rows(&self, tables: &Tables, group: usize) -> [Range<usize>; 2] {
        let (table, page) = (tables.of(group), self.page);
        let gone = |index: &usize| table.pages()[*index] == GONE;
        let first = (0..table.pages().len()).take_while(|index| !gone(index)).count() * page;
        let last = (0..table.pages().len()).rev().take_while(|index| !gone(index)).last().unwrap_or(0) * page;
        match first >= table.len() {
            true => [0..0, 0..table.len()],
            false => [0..first, last..table.len()],
        }
    }

    /// Makes empty tables cover `len` tokens, with free pages only where `rows` has all rows of a page in a group. Returns
    /// whether rows can be computed from there on; if not, the tables are empty.
    ///
    /// # Errors
    /// [`Error::NoPages`] after an eviction of what no sequence holds, or [`Error::NoMemory`].
    pub fn place(
        &mut self,
        tables: &mut Tables,
        len: usize,
        rows: impl Fn(usize) -> [Range<usize>; 2],
    ) -> Result<bool, Error> {
        let page = self.page;
        for group in 0..self.groups.len() {
            let rows = rows(group);
            let there = |index: usize| {
                let (start, end) = (index * page, len.min((index + 1) * page));
                group == 0 || rows.iter().any(|range| range.start <= start && end <= range.end)
            };
            let placed = self.with_room(group, |pool, _| pool.place(&mut tables.0[group], len, there));
            if let Err(error) = placed {
                self.release(tables)?;
                return Err(error);
            }
        }
        let whole = self.floor(tables, len) == len;
        if !whole {
            self.release(tables)?;
        }
        Ok(whole)
    }

    /// Like [`Caches::find`], for a caller that only looks: no use is noted.
    ///
    /// # Errors
    /// Like [`Caches::find`].
    pub fn peek(&mut self, salt: Salt, ids: &[u32], tables: &mut Tables) -> Result<Found, Error> {
        let hit = self.search(salt, ids, ids.len());
        self.adopt(hit, tables)
    }

    /// Finds the longest beginning of `ids`, of at most `most` tokens. `tables`, which must be empty, get the pages up to its
    /// floor.
    ///
    /// # Errors
    /// [`Error::NoMemory`], or [`Error::Boundary`] for tables with pages.
    pub fn find(&mut self, salt: Salt, ids: &[u32], most: usize, tables: &mut Tables) -> Result<Found, Error> {
        let hit = self.search(salt, ids, most);
        self.tree.found(&hit, &self.path, ids.len());
        let found = self.adopt(hit, tables)?;
        self.checkpoints.used(&self.path, self.page, found.floor);
        Ok(found)
    }

    /// The longest beginning in the tree, and its whole pages in the path. Of nodes that have equally many tokens of the last page
    /// it is the one with most rows of windows.
    fn search(&mut self, salt: Salt, ids: &[u32], most: usize) -> Hit {
        let Caches { groups, pools, tree, checkpoints, path, .. } = self;
        tree.peek_of(salt, ids, most, path, |node, tokens| checkpoints.places(groups, pools, node, tokens))
    }

    /// Adopts the pages of the nodes of the path, up to their floor.
    fn adopt(&mut self, hit: Hit, tables: &mut Tables) -> Result<Found, Error> {
        let Caches { page, groups, pools, checkpoints, path, adopted, .. } = self;
        path.extend(hit.partial.map(|partial| partial.page));
        // First places that are valid in the pages of the nodes, by group.
        let places = |pools: &[Pool], group: usize, index: usize| match group {
            0 => *page,
            _ => {
                path.get(index).and_then(|&node| checkpoints.page(group, node)).map_or(0, |own| pools[group].kept(own))
            }
        };
        let there: &[Pool] = pools;
        let floor = floor::common(groups, hit.tokens, |group| Rows {
            page: *page,
            places: move |index| places(there, group, index),
        });
        for (group, table) in tables.0.iter_mut().enumerate().take(groups.len()) {
            let [first, last] = groups[group].keeps(floor).ranges();
            let own = |index: usize| {
                let (start, end) = (index * *page, (index + 1) * *page);
                let kept = start < first.end || end > last.start;
                match group {
                    0 => path[index],
                    _ if kept && places(pools, group, index) >= (*page).min(floor - start) => {
                        checkpoints.page(group, path[index]).unwrap_or(GONE)
                    }
                    _ => GONE,
                }
            };
            adopted.clear();
            adopted.extend((0..floor.div_ceil(*page)).map(own));
            pools[group].adopt(table, adopted, floor)?;
        }
        Ok(Found { hit: hit.tokens, floor })
    }

    /// Makes nodes of the pages that hold `ids`, like [`PrefixTree::insert`] in group 0.
    ///
    /// # Errors
    /// Like [`PrefixTree::insert`].
    pub fn insert(&mut self, salt: Salt, tables: &mut Tables, ids: &[u32]) -> Result<usize, Error> {
        let Caches { pools, tree, checkpoints, .. } = self;
        tree.insert_with(&mut pools[0], salt, &mut tables.0[0], ids, |old, new| checkpoints.moved(old, new))
    }

    /// Sets a checkpoint: the tree keeps the rows of window groups that a sequence of `len` tokens keeps, as far as they are
    /// there. Call it behind [`Caches::insert`], before rows are given back. Returns whether it is set: not if rows are gone
    /// that the next one sees, or if the tokens are not in the tree.
    pub fn checkpoint(&mut self, tables: &mut Tables, len: usize) -> bool {
        let Caches { page, groups, pools, tree, checkpoints, sets_checkpoints, .. } = self;
        *sets_checkpoints && checkpoints.set(groups, pools, tree.nodes(), tables, *page, len)
    }

    /// The number of checkpoints.
    pub fn checkpoints(&self) -> usize {
        self.checkpoints.len()
    }

    /// Frees pages of a group that no sequence holds, and returns their number: in group 0 pages of texts, in the others
    /// checkpoints, which go as a whole. The least recently used of the salt with most goes first.
    pub fn evict(&mut self, group: usize, wanted: usize) -> usize {
        let Caches { groups, pools, tree, checkpoints, page, .. } = self;
        if group > 0 {
            let before = pools[group].free();
            while pools[group].free() < before + wanted && checkpoints.evict(groups, pools, tree.nodes(), *page) {}
            return (pools[group].free() - before).min(wanted);
        }
        let Some((first, windows)) = pools.split_first_mut() else { return 0 };
        tree.evict_with(first, wanted, |nodes, node| checkpoints.leave(groups, windows, nodes, *page, node))
    }

    /// Removes the texts and checkpoints with this salt.
    pub fn forget(&mut self, salt: Salt) {
        let Caches { groups, pools, tree, checkpoints, page, .. } = self;
        if let Some(family) = tree.nodes().family_of(salt) {
            checkpoints.forget(groups, pools, tree.nodes(), *page, |nodes, node| nodes.family(node) == family);
        }
        tree.forget(&mut pools[0], salt);
    }

    /// Removes all texts and checkpoints.
    pub fn clear(&mut self) {
        let Caches { groups, pools, tree, checkpoints, page, .. } = self;
        checkpoints.forget(groups, pools, tree.nodes(), *page, |_, _| true);
        tree.clear(&mut pools[0]);
    }
}
