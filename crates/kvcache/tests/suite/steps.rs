//! The calls, each with the model's own version of its effect.

use crate::list::common;
use crate::world::{Sequence, World};
use inkstone_kvcache::{Error, PageTable, Salt};

impl World {
    pub fn salt(&mut self) -> Salt {
        self.salts[self.rng.below(self.setup.salts)]
    }

    /// A text that often begins like others, because there are few token ids.
    pub fn text(&mut self) -> Vec<u32> {
        let len = self.rng.below(4 * self.setup.page + 2);
        // Half of the texts continue a text that is there.
        let mut text = Vec::new();
        if self.rng.once_in(2) && !self.list.nodes.is_empty() {
            text.clone_from(&self.list.nodes[self.rng.below(self.list.nodes.len())].text);
        }
        text.truncate(len);
        text.extend((text.len()..len).map(|_| self.id()));
        text
    }

    /// A token id; most are 0, so that sequences often write the same text.
    fn id(&mut self) -> u32 {
        if self.rng.once_in(4) { self.rng.below(self.setup.alphabet) as u32 } else { 0 }
    }

    /// Pages that a table has got, which must have been free.
    fn get(&mut self, free: &[u32], pages: &[u32]) {
        for (index, page) in pages.iter().enumerate() {
            assert!(free.contains(page) && !pages[..index].contains(page), "page {page} was not free");
            self.memory.wipe(*page);
        }
    }

    /// The error for too few free pages, if it is due.
    fn due(&self, wanted: usize, free: &[u32]) -> Result<(), Error> {
        let (free, capacity) = (free.len(), self.setup.pages);
        if wanted > free { Err(Error::NoPages { wanted, free, capacity }) } else { Ok(()) }
    }

    pub fn find(&mut self, salt: Salt, ids: &[u32], most: usize) -> (Vec<u32>, usize) {
        let (mut pages, mut peeked) = (vec![9; 3], Vec::new());
        let peek = self.tree.peek(salt, ids, most, &mut peeked);
        let hit = self.tree.find(salt, ids, most, &mut pages);
        assert_eq!((peek, &peeked), (hit, &pages));
        assert_eq!(hit.tokens, self.list.longest(salt, &ids[..ids.len().min(most)]), "{ids:?}, at most {most}");
        assert_eq!(pages.len(), hit.tokens / self.setup.page);
        assert_eq!(hit.partial.map_or(0, |partial| partial.places), hit.tokens % self.setup.page);
        pages.extend(hit.partial.map(|partial| partial.page));
        for &page in &pages {
            let node = self.list.of_page(page).expect("a node");
            let start = self.list.start(node);
            assert_eq!(node.salt, salt);
            assert!(common(&node.text, ids) >= hit.tokens.min(start + self.setup.page), "page {page} for {ids:?}");
        }
        self.list.touch(&pages);
        self.stats.asked += ids.len() as u64;
        self.stats.hit += hit.tokens as u64;
        self.seen.partial_hits += usize::from(hit.partial.is_some());
        (pages, hit.tokens)
    }

    /// A new sequence, with the beginning of a text that is in the tree.
    pub fn start(&mut self) {
        let (salt, mut text) = (self.salt(), self.text());
        let most = text.len().saturating_sub(self.rng.below(3));
        let (pages, tokens) = self.find(salt, &text, most);
        let mut table = PageTable::default();
        // In one call, or in two.
        let first = self.rng.below(pages.len() + 1);
        if first < pages.len() {
            self.pool.adopt(&mut table, &pages[..first], first * self.setup.page).unwrap();
            self.pool.adopt(&mut table, &pages[first..], tokens).unwrap();
        } else {
            self.pool.adopt(&mut table, &pages, tokens).unwrap();
        }
        assert_eq!((table.pages(), table.len()), (pages.as_slice(), tokens));
        text.truncate(tokens);
        self.sequences.push(Sequence { table, salt, text });
    }

    /// A sequence with the same pages.
    pub fn fork(&mut self, index: usize) {
        let Sequence { table, salt, text } = &self.sequences[index];
        let fork = self.pool.fork(table).unwrap();
        assert_eq!((fork.pages(), fork.len()), (table.pages(), table.len()));
        self.sequences.push(Sequence { table: fork, salt: *salt, text: text.clone() });
    }

    /// A sequence with the first pages of another one, nodes or not.
    pub fn adopt(&mut self, index: usize) {
        let Sequence { table: from, salt, text } = &self.sequences[index];
        let len = self.rng.below(text.len() + 1);
        let pages = &from.pages()[..len.div_ceil(self.setup.page)];
        let mut table = PageTable::default();
        self.pool.adopt(&mut table, pages, len).unwrap();
        assert_eq!((table.pages(), table.len()), (pages, len));
        let (salt, text) = (*salt, text[..len].to_vec());
        // A free page can't be adopted, at any place of the list.
        if let Some(&page) = self.free_pages().first() {
            let capacity = self.setup.pages;
            let mut other = PageTable::default();
            let adopted = self.pool.adopt(&mut other, &[page], 1);
            assert_eq!((adopted, other.len()), (Err(Error::FreePage { page, capacity }), 0));
        }
        self.sequences.push(Sequence { table, salt, text });
    }

    pub fn grow(&mut self, index: usize, tokens: usize) {
        let free = self.free_pages();
        let table = &mut self.sequences[index].table;
        let (pages, len) = (table.pages().to_vec(), table.len());
        let can_grow = self.pool.can_grow(table, tokens);
        let result = self.pool.grow(table, tokens);
        let wanted = tokens.div_ceil(self.setup.page).saturating_sub(pages.len());
        let (now, now_len) = (table.pages().to_vec(), table.len());
        assert_eq!(result, self.due(wanted, &free));
        assert_eq!(now_len, if result.is_ok() { len.max(tokens) } else { len });
        assert_eq!(now.len(), pages.len() + if result.is_ok() { wanted } else { 0 });
        assert_eq!(now[..pages.len()], pages);
        self.seen.refused += usize::from(result.is_err());
        self.get(&free, &now[pages.len()..]);
        let unheld = (0..self.setup.pages as u32).filter(|&page| self.holders(page) == 0).count();
        assert_eq!(can_grow, wanted <= unheld + now.len() - pages.len());
    }

    pub fn shrink(&mut self, index: usize, tokens: usize) {
        let Sequence { table, text, .. } = &mut self.sequences[index];
        let (pages, len) = (table.pages().to_vec(), table.len());
        self.pool.shrink(table, tokens).unwrap();
        assert_eq!(table.len(), len.min(tokens));
        assert_eq!(table.pages(), &pages[..pages.len().min(tokens.div_ceil(self.setup.page))]);
        text.truncate(tokens);
    }

    pub fn release(&mut self, index: usize) {
        let mut table = self.sequences.swap_remove(index).table;
        self.pool.release(&mut table).unwrap();
        assert!(table.is_empty() && table.pages().is_empty());
    }

    /// Writes `tokens` tokens from position `start` on, as far as the table allows.
    pub fn write(&mut self, index: usize, start: usize, tokens: usize) {
        let free = self.free_pages();
        let page = self.setup.page;
        let before = self.sequences[index].table.pages().to_vec();
        let len = self.sequences[index].table.len();
        let end = start + tokens;
        // Pages that the sequence must not write.
        let written = if tokens == 0 { 0..0 } else { start / page..end.div_ceil(page) };
        let is_shared = |i: usize| {
            let place = if i == start / page { start % page } else { 0 };
            self.holders(before[i]) > 1 || self.list.kept(before[i]) > place
        };
        let due = if end > len {
            Err(Error::Positions { start, end, len })
        } else {
            self.due(written.clone().filter(|&i| is_shared(i)).count(), &free)
        };
        let expected: Vec<bool> =
            (0..before.len()).map(|i| due.is_ok() && written.contains(&i) && is_shared(i)).collect();

        self.copies.clear();
        let result = self.pool.write(&mut self.sequences[index].table, start..end, &mut self.copies);
        assert_eq!(result, due);
        let now = self.sequences[index].table.pages().to_vec();
        let replaced: Vec<bool> = before.iter().zip(&now).map(|(before, now)| before != now).collect();
        assert_eq!(replaced, expected, "the pages that are replaced for {start}..{end}");
        assert_eq!((now.len(), self.sequences[index].table.len()), (before.len(), len));
        let got: Vec<u32> = (0..now.len()).filter(|&i| replaced[i]).map(|i| now[i]).collect();
        self.get(&free, &got);

        assert!(self.copies.len() <= 1 && self.copies.iter().all(|copy| got.contains(&copy.to)));
        self.seen.copies += self.copies.len();
        self.seen.replaced += got.len() - self.copies.len();
        self.seen.refused += usize::from(result.is_err());
        self.copies.iter().for_each(|&copy| self.memory.copy(copy));
        if result.is_ok() {
            let ids: Vec<u32> = (0..tokens).map(|_| self.id()).collect();
            let text = &mut self.sequences[index].text;
            text.truncate(start);
            text.extend(ids);
            self.memory.write(&now, text, start);
        }
    }

    /// Makes nodes of the first `tokens` tokens of a sequence.
    pub fn insert(&mut self, index: usize, tokens: usize) {
        let Sequence { table, salt, text } = &self.sequences[index];
        let (before, ids, salt) = (table.pages().to_vec(), text[..tokens].to_vec(), *salt);
        let nodes: Vec<u32> = self.list.nodes.iter().map(|node| node.page).collect();
        let holders: Vec<usize> = (0..self.setup.pages as u32).map(|page| self.holders(page)).collect();
        let inserted = self.list.insert(salt, &before, &ids, |page| holders[page as usize]);
        let table = &mut self.sequences[index].table;
        assert_eq!(self.tree.insert(&mut self.pool, salt, table, &ids), Ok(inserted.tokens));
        assert_eq!(table.pages(), inserted.pages);
        self.seen.gave_way += usize::from(inserted.pages != before);
        self.seen.stopped += usize::from(inserted.tokens < tokens);
        self.seen.continued += nodes.iter().filter(|&&page| self.list.kept(page) == 0).count();
    }

    pub fn evict(&mut self, wanted: usize) {
        let holders: Vec<usize> = (0..self.setup.pages as u32).map(|page| self.holders(page)).collect();
        let mut evicted = 0;
        while evicted < wanted
            && let Some(tokens) = self.list.evict(|page| holders[page as usize])
        {
            evicted += 1;
            self.stats.evicted += tokens as u64;
        }
        assert_eq!(self.tree.evict(&mut self.pool, wanted), evicted);
        self.seen.evicted += evicted;
    }

    pub fn forget(&mut self, salt: Salt) {
        self.tree.forget(&mut self.pool, salt);
        self.list.nodes.retain(|node| node.salt != salt);
    }

    pub fn clear(&mut self) {
        self.tree.clear(&mut self.pool);
        self.list.nodes.clear();
    }
}
