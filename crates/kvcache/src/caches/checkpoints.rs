//! Checkpoints: lengths of texts below which the tree keeps the rows of window groups.

use super::floor::Rows;
use crate::tree::{Nodes, Parent, filled};
use crate::{Error, GONE, Pool, Tables};
use inkstone_tensor::Group;
use std::cmp::Reverse;

/// A checkpoint: the node that holds its last row, and its tokens.
#[derive(Clone, Copy, Debug)]
struct Checkpoint {
    node: u32,
    len: usize,
    /// The clock of the last use.
    used: u64,
}

/// The checkpoints, and the pages of window groups that they keep. Nodes are named by their pages of group 0.
#[derive(Debug)]
pub(super) struct Checkpoints {
    list: Vec<Checkpoint>,
    /// Of each window group the page of each node, or [`GONE`].
    pages: Vec<Vec<u32>>,
    /// The checkpoints that need it.
    needs: Vec<Vec<u32>>,
    /// The number of checkpoints of each family of nodes, while one is chosen.
    members: Vec<u32>,
    clock: u64,
}

/// The indices of the pages that a checkpoint keeps in a group.
fn indices(group: Group, page: usize, len: usize) -> impl Iterator<Item = usize> {
    let [first, last] = group.keeps(len).ranges();
    let first = 0..first.end.min(len).div_ceil(page);
    let last = (last.start / page).max(first.end)..len.div_ceil(page);
    first.chain(last)
}

/// The nodes of a text from the one that holds row `len - 1` up, with the indices of their pages.
fn upward(nodes: &Nodes, page: usize, node: u32, len: usize) -> impl Iterator<Item = (usize, u32)> {
    let above = move |(index, node): &(usize, u32)| match nodes.parent(*node) {
        Parent::Page(above) => Some((index.checked_sub(1)?, above)),
        Parent::Root(_) => None,
    };
    std::iter::successors(len.checked_sub(1).map(|last| (last / page, node)), above)
}

impl Checkpoints {
    /// None, of so many window groups and nodes.
    pub fn new(windows: usize, nodes: usize) -> Result<Checkpoints, Error> {
        let lists = |value: u32| (0..windows).map(move |_| filled(nodes, value)).collect::<Result<Vec<_>, Error>>();
        let mut list = filled(nodes, Checkpoint { node: GONE, len: 0, used: 0 })?;
        list.clear();
        Ok(Checkpoints { list, pages: lists(GONE)?, needs: lists(0)?, members: filled(nodes, 0)?, clock: 0 })
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The page of a node in a window group, if a checkpoint keeps it.
    pub fn page(&self, group: usize, node: u32) -> Option<u32> {
        let page = *self.pages[group - 1].get(node as usize)?;
        (page != GONE).then_some(page)
    }

    /// The first places of a node that checkpoints keep in all window groups, at most `most`.
    pub fn places(&self, groups: &[Group], pools: &[Pool], node: u32, most: usize) -> usize {
        let kept = |group: usize| self.page(group, node).map_or(0, |own| pools[group].kept(own));
        (1..groups.len()).map(kept).fold(most, usize::min)
    }

    /// Sets a checkpoint for the text of `tables`, whose first pages are nodes.
    pub fn set(
        &mut self,
        groups: &[Group],
        pools: &mut [Pool],
        nodes: &Nodes,
        tables: &mut Tables,
        page: usize,
        len: usize,
    ) -> bool {
        let path = tables.of(0).pages();
        let Some(&node) = len.checked_sub(1).and_then(|last| path.get(last / page)) else { return false };
        let held = len - (len - 1) / page * page;
        if groups.len() < 2 || nodes.text(node).len() < held {
            return false;
        }
        self.clock += 1;
        if let Some(known) = self.list.iter_mut().find(|known| known.node == node && known.len == len) {
            known.used = self.clock;
            return true;
        }
        let places = |index: usize| page.min(len - index * page);
        let windows = || groups.iter().copied().enumerate().skip(1);
        // A page of the table, or of the node.
        let there = windows().all(|(g, group)| {
            let valid = |index: usize| match tables.of(g).pages().get(index) {
                None | Some(&GONE) => self.page(g, path[index]).map_or(0, |own| pools[g].kept(own)),
                Some(_) => page,
            };
            Rows { page, places: valid }.incomplete(group, len).is_none()
        });
        if !there || self.list.len() == self.list.capacity() {
            return false;
        }
        for (g, group) in windows() {
            for index in indices(group, page, len) {
                let node = tables.0[0].pages[index] as usize;
                let (own, pool) = (&mut self.pages[g - 1][node], &mut pools[g]);
                let held = tables.0[g].pages.get_mut(index).filter(|held| **held != GONE);
                let kept = if *own == GONE { 0 } else { pool.kept(*own) };
                match held {
                    // Both have the whole page: the table's gives way.
                    Some(held) if kept == page && *held != *own && pool.holders(*held) == 1 => {
                        let given = pool.replace(held, *own);
                        debug_assert!(given.is_ok(), "{given:?}");
                    }
                    Some(held) if kept < places(index) => {
                        if *own != GONE && *own != *held {
                            pool.unkeep(*own);
                        }
                        *own = *held;
                        pool.keep(*own, places(index));
                    }
                    _ => {}
                }
                self.needs[g - 1][node] += 1;
            }
        }
        self.list.push(Checkpoint { node, len, used: self.clock });
        true
    }

    /// Notes the use of the checkpoint that serves a text that goes on after `floor` tokens: the first one behind it.
    pub fn used(&mut self, path: &[u32], page: usize, floor: usize) {
        self.clock += 1;
        let on_path = |c: &&mut Checkpoint| path.get((c.len - 1) / page) == Some(&c.node);
        let serving = self.list.iter_mut().filter(on_path).filter(|c| c.len >= floor && floor > 0);
        if let Some(serving) = serving.min_by_key(|c| c.len) {
            serving.used = self.clock;
        }
    }

    /// A node has taken the place of a partial one.
    pub fn moved(&mut self, old: u32, new: u32) {
        self.list.iter_mut().filter(|c| c.node == old).for_each(|c| c.node = new);
        for (pages, needs) in self.pages.iter_mut().zip(&mut self.needs) {
            pages[new as usize] = std::mem::replace(&mut pages[old as usize], GONE);
            needs[new as usize] = std::mem::take(&mut needs[old as usize]);
        }
    }

    /// Removes the checkpoint at a place of the list. `windows` are the pools of window groups.
    fn remove(&mut self, groups: &[Group], windows: &mut [Pool], nodes: &Nodes, page: usize, at: usize) {
        let Checkpoint { node, len, .. } = self.list.swap_remove(at);
        for (index, node) in upward(nodes, page, node, len) {
            for (g, group) in groups.iter().copied().skip(1).enumerate() {
                let [first, last] = group.keeps(len).ranges();
                let (start, end) = (index * page, (index + 1) * page);
                if start >= first.end && end <= last.start {
                    continue;
                }
                let needs = &mut self.needs[g][node as usize];
                *needs = needs.saturating_sub(1);
                if *needs == 0 {
                    let own = std::mem::replace(&mut self.pages[g][node as usize], GONE);
                    if own != GONE {
                        windows[g].unkeep(own);
                    }
                }
            }
        }
    }

    /// Removes the checkpoints that end in a node.
    pub fn leave(&mut self, groups: &[Group], windows: &mut [Pool], nodes: &Nodes, page: usize, node: u32) {
        while let Some(at) = self.list.iter().position(|c| c.node == node) {
            self.remove(groups, windows, nodes, page, at);
        }
    }

    /// Removes the checkpoints whose nodes satisfy a condition. `pools`: of all groups.
    pub fn forget(
        &mut self,
        groups: &[Group],
        pools: &mut [Pool],
        nodes: &Nodes,
        page: usize,
        condition: impl Fn(&Nodes, u32) -> bool,
    ) {
        while let Some(at) = self.list.iter().position(|c| condition(nodes, c.node)) {
            self.remove(groups, &mut pools[1..], nodes, page, at);
        }
    }

    /// Removes the least recently used checkpoint of the family with most. Returns false if there is none.
    pub fn evict(&mut self, groups: &[Group], pools: &mut [Pool], nodes: &Nodes, page: usize) -> bool {
        let Checkpoints { list, members, .. } = self;
        members.fill(0);
        list.iter().for_each(|c| members[nodes.family(c.node)] += 1);
        let order = |(_, c): &(usize, &Checkpoint)| (Reverse(members[nodes.family(c.node)]), c.used);
        let Some((at, _)) = list.iter().enumerate().min_by_key(order) else { return false };
        self.remove(groups, &mut pools[1..], nodes, page, at);
        true
    }
}
