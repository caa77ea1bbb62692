//! The nodes of a prefix tree, in a sorted list.

use crate::{Error, Salt};

/// The place of a text: it begins a prompt, or it continues the text of a whole page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Parent {
    /// The first page of a text with this salt.
    Root(Salt),
    /// The page behind this one.
    Page(u32),
}

/// The nodes of a tree, by page. A list of their pages is sorted by parent, then by token ids. So the children of a
/// parent are contiguous, and the ones that have the longest beginning in common with a text are next to the place that
/// the text would have. No text of a child begins with the whole text of another child of the same parent: siblings with
/// a common beginning part before either of them ends.
#[derive(Debug)]
pub(crate) struct Nodes {
    /// Tokens per page.
    page: usize,
    /// The pages of the nodes, sorted.
    order: Vec<u32>,
    /// The token ids of each page.
    ids: Vec<u32>,
    /// The number of token ids of each page; 0 without a node.
    counts: Vec<u32>,
    parents: Vec<Parent>,
    /// The number of child nodes.
    children: Vec<u32>,
    /// The clock of the last use.
    last_used: Vec<u64>,
    /// The family of each node. The nodes with the same salt are a family, which has a number.
    families: Vec<u32>,
    /// The number of nodes of each family; 0 for a number that is not in use.
    members: Vec<u32>,
}

/// A list of `len` equal values.
pub(crate) fn filled<T: Clone>(len: usize, value: T) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    list.try_reserve_exact(len).map_err(|_| Error::NoMemory { pages: len })?;
    list.resize(len, value);
    Ok(list)
}

impl Nodes {
    /// No nodes, with memory for one per page.
    pub fn new(capacity: usize, page: usize) -> Result<Nodes, Error> {
        let mut order = filled(capacity, 0)?;
        order.clear();
        Ok(Nodes {
            page,
            order,
            ids: filled(capacity * page, 0).map_err(|_| Error::NoMemory { pages: capacity })?,
            counts: filled(capacity, 0)?,
            parents: filled(capacity, Parent::Root(Salt::none()))?,
            children: filled(capacity, 0)?,
            last_used: filled(capacity, 0)?,
            families: filled(capacity, 0)?,
            members: filled(capacity, 0)?,
        })
    }

    /// Tokens per page.
    pub fn page(&self) -> usize {
        self.page
    }

    /// The pages of the nodes, sorted.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The token ids of the node of a page; none without a node.
    pub fn text(&self, page: u32) -> &[u32] {
        let first = page as usize * self.page;
        &self.ids[first..first + self.counts[page as usize] as usize]
    }

    pub fn parent(&self, page: u32) -> Parent {
        self.parents[page as usize]
    }

    pub fn is_leaf(&self, page: u32) -> bool {
        self.children[page as usize] == 0
    }

    pub fn family(&self, page: u32) -> usize {
        self.families[page as usize] as usize
    }

    pub fn last_used(&self, page: u32) -> u64 {
        self.last_used[page as usize]
    }

    pub fn touch(&mut self, page: u32, clock: u64) {
        self.last_used[page as usize] = clock;
    }

    /// The place in the list of the first child of `parent` whose text is not less than `ids`. That child begins with
    /// `ids` if any child does, and the child before it is a beginning of `ids` if any child is.
    pub fn place(&self, parent: Parent, ids: &[u32]) -> usize {
        self.order.partition_point(|&page| (self.parent(page), self.text(page)) < (parent, ids))
    }

    /// The page at this place of the list, if it is a child of `parent`.
    pub fn child_at(&self, parent: Parent, place: usize) -> Option<u32> {
        self.order.get(place).copied().filter(|&page| self.parent(page) == parent)
    }

    /// The page before this place of the list, if it is a child of `parent`.
    pub fn child_before(&self, parent: Parent, place: usize) -> Option<u32> {
        self.child_at(parent, place.checked_sub(1)?)
    }

    /// The child of `parent` that has the longest beginning in common with `ids`, and its length, which is not 0.
    pub fn longest(&self, parent: Parent, ids: &[u32]) -> Option<(u32, usize)> {
        let place = self.place(parent, ids);
        let neighbours = [self.child_before(parent, place), self.child_at(parent, place)];
        let common = |page| self.text(page).iter().zip(ids).take_while(|(a, b)| a == b).count();
        neighbours.into_iter().flatten().map(|page| (page, common(page))).filter(|n| n.1 > 0).max_by_key(|n| n.1)
    }

    /// The same; of several such children the one of the highest rank, and of several with that rank any.
    pub fn longest_of(&self, parent: Parent, ids: &[u32], rank: impl Fn(u32, usize) -> usize) -> Option<(u32, usize)> {
        let (page, common) = self.longest(parent, ids)?;
        // No rank is higher than the number of tokens, and no two nodes have the same whole page.
        if common == self.page || rank(page, common) >= common {
            return Some((page, common));
        }
        let beginning = &ids[..common];
        let children = self.order[self.place(parent, beginning)..].iter().copied();
        let alike = children.take_while(|&p| self.parent(p) == parent && self.text(p).starts_with(beginning));
        alike.chain([page]).max_by_key(|&page| rank(page, common)).map(|page| (page, common))
    }

    /// The family of the nodes with this salt, if there are any.
    pub fn family_of(&self, salt: Salt) -> Option<usize> {
        let parent = Parent::Root(salt);
        self.child_at(parent, self.place(parent, &[])).map(|page| self.family(page))
    }

    /// Makes a node of a page that has none. `place` is the place of `ids` in the list.
    pub fn add(&mut self, place: usize, page: u32, parent: Parent, ids: &[u32]) {
        let family = match parent {
            Parent::Page(above) => self.family(above),
            // There are fewer nodes than pages, so that a number is not in use.
            Parent::Root(salt) => {
                self.family_of(salt).unwrap_or_else(|| self.members.iter().take_while(|members| **members > 0).count())
            }
        };
        if let Parent::Page(above) = parent {
            self.children[above as usize] += 1;
        }
        self.members[family] += 1;
        self.families[page as usize] = family as u32;
        self.parents[page as usize] = parent;
        self.children[page as usize] = 0;
        self.extend(page, ids);
        self.order.insert(place, page);
    }

    /// Gives the node of a page a longer text that begins with its text. Its place in the list stays: no sibling can be
    /// between them, because it would begin with the shorter text.
    pub fn extend(&mut self, page: u32, ids: &[u32]) {
        let first = page as usize * self.page;
        self.ids[first..first + ids.len()].copy_from_slice(ids);
        self.counts[page as usize] = ids.len() as u32;
    }

    /// Removes the leaf at this place of the list.
    pub fn remove(&mut self, place: usize) {
        let page = self.order.remove(place);
        if let Parent::Page(above) = self.parent(page) {
            self.children[above as usize] -= 1;
        }
        self.members[self.families[page as usize] as usize] -= 1;
        self.counts[page as usize] = 0;
    }

    /// Removes all nodes for which `condition` holds, and calls `removed` with their pages. Nodes below them must be among
    /// them.
    pub fn remove_all(&mut self, condition: impl Fn(&Nodes, u32) -> bool, mut removed: impl FnMut(u32)) {
        let mut order = std::mem::take(&mut self.order);
        order.retain(|&page| {
            let gone = condition(self, page);
            if gone {
                self.members[self.families[page as usize] as usize] -= 1;
                self.counts[page as usize] = 0;
                removed(page);
            }
            !gone
        });
        self.order = order;
    }
}

#[cfg(test)]
impl Nodes {
    /// The capacities of the lists.
    pub fn capacities(&self) -> [usize; 8] {
        let words = [&self.order, &self.ids, &self.counts, &self.children, &self.families, &self.members];
        let [order, ids, counts, children, families, members] = words.map(|list| list.capacity());
        [order, ids, counts, children, families, members, self.parents.capacity(), self.last_used.capacity()]
    }
}
