//! A prefix tree as a list.

use inkstone_kvcache::Salt;
use std::collections::HashMap;

/// A node with the whole text from the beginning of the prompt to its last token.
pub struct Node {
    pub page: u32,
    pub salt: Salt,
    pub text: Vec<u32>,
    pub last_used: u64,
}

/// All nodes, in any order.
pub struct List {
    /// Tokens per page.
    page: usize,
    pub nodes: Vec<Node>,
    clock: u64,
}

/// The result of an insertion.
pub struct Inserted {
    /// The pages of the table afterwards.
    pub pages: Vec<u32>,
    pub tokens: usize,
}

/// The number of tokens that two texts have in common.
pub fn common(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

impl List {
    pub fn new(page: usize) -> List {
        List { page, nodes: Vec::new(), clock: 0 }
    }

    pub fn of_page(&self, page: u32) -> Option<&Node> {
        self.nodes.iter().find(|node| node.page == page)
    }

    /// The position of the first token of a node's page.
    pub fn start(&self, node: &Node) -> usize {
        (node.text.len() - 1) / self.page * self.page
    }

    /// The number of places of a page that a node has.
    pub fn kept(&self, page: u32) -> usize {
        self.of_page(page).map_or(0, |node| node.text.len() - self.start(node))
    }

    /// The nodes above a node, and the ones below it.
    pub fn above<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = &'a Node> {
        self.nodes.iter().filter(|other| is_below(node, other))
    }

    pub fn below<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = &'a Node> {
        self.nodes.iter().filter(|other| is_below(other, node))
    }

    /// The number of tokens of `ids` in the tree.
    pub fn longest(&self, salt: Salt, ids: &[u32]) -> usize {
        let family = self.nodes.iter().filter(|node| node.salt == salt);
        family.map(|node| common(&node.text, ids)).max().unwrap_or(0)
    }

    pub fn touch(&mut self, pages: &[u32]) {
        self.clock += 1;
        for node in self.nodes.iter_mut().filter(|node| pages.contains(&node.page)) {
            node.last_used = self.clock;
        }
    }

    /// Inserts the pages of a table, with the number of holders of each page.
    pub fn insert(&mut self, salt: Salt, table: &[u32], ids: &[u32], holders: impl Fn(u32) -> usize) -> Inserted {
        let (mut pages, mut tokens, mut used) = (table.to_vec(), 0, Vec::new());
        for (index, page) in pages.iter_mut().enumerate().take(ids.len().div_ceil(self.page)) {
            let start = index * self.page;
            let text = &ids[..ids.len().min(start + self.page)];
            let is_level = |node: &Node| node.salt == salt && (node.text.len() - 1) / self.page == index;
            if let Some(own) = self.nodes.iter_mut().find(|node| node.page == *page) {
                if text.len() > own.text.len() {
                    own.text = text.to_vec();
                }
                used.push(own.page);
            } else if let Some(other) = self.first(is_level, text) {
                if text.len() - start == self.page {
                    if holders(*page) > 1 {
                        break;
                    }
                    *page = other.page;
                }
                used.push(other.page);
            } else {
                self.nodes.retain(|node| !(is_level(node) && text.starts_with(&node.text)));
                self.nodes.push(Node { page: *page, salt, text: text.to_vec(), last_used: 0 });
                used.push(*page);
            }
            tokens = text.len();
        }
        self.touch(&used);
        Inserted { pages, tokens }
    }

    /// The node at a level whose text begins with `text`; of several, the first one in the order of texts.
    fn first(&self, is_level: impl Fn(&Node) -> bool, text: &[u32]) -> Option<&Node> {
        self.nodes.iter().filter(|node| is_level(node) && node.text.starts_with(text)).min_by_key(|node| &node.text)
    }

    /// Evicts one page, and returns its number of tokens.
    pub fn evict(&mut self, holders: impl Fn(u32) -> usize) -> Option<usize> {
        let mut unheld: HashMap<Salt, usize> = HashMap::new();
        for node in self.nodes.iter().filter(|node| holders(node.page) == 0) {
            *unheld.entry(node.salt).or_default() += 1;
        }
        let leaves = self.nodes.iter().filter(|node| holders(node.page) == 0 && self.below(node).next().is_none());
        let mut leaves: Vec<&Node> = leaves.collect();
        leaves.sort_by_key(|node| (usize::MAX - unheld[&node.salt], node.last_used));
        let page = leaves.first()?.page;
        let tokens = self.kept(page);
        self.nodes.retain(|node| node.page != page);
        Some(tokens)
    }
}

fn is_below(node: &Node, above: &Node) -> bool {
    node.salt == above.salt && node.text.len() > above.text.len() && node.text.starts_with(&above.text)
}

/// Salts of all kinds.
pub fn salts(count: usize) -> Vec<Salt> {
    let salts = inkstone_kvcache::Salts::default();
    let more = (1..count).map(|i| if i % 2 == 0 { salts.named(&i.to_string()) } else { salts.private() });
    [Salt::none()].into_iter().chain(more).collect()
}
