//! Merging neighbours by rank, in linear time: the heart of BPE and of SPM.
//!
//! A word begins as its smallest symbols. As long as two neighbours can merge, those with the lowest rank do, and of
//! equal ranks the leftmost. A heap over all pairs would take `n log n` steps, each a cache miss once a word has
//! millions of symbols; here the pairs of one rank wait together in a bucket, sorted by place when its turn comes,
//! and only the ranks, of which a vocabulary has so many, are in a heap.

use crate::Error;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The token of a symbol that is none.
pub(crate) const NO_TOKEN: u32 = u32::MAX;

/// A part of a word: bytes `start..end` and the token that they are.
#[derive(Clone, Copy)]
pub(crate) struct Symbol {
    pub start: u32,
    pub end: u32,
    pub token: u32,
}

/// What decides which neighbours merge.
pub(crate) trait MergeRule {
    /// The rank of the merge, lower first, and the token that it makes.
    fn merge(&self, left: Symbol, right: Symbol) -> Option<(u32, u32)>;
}

/// Memory of the merges of one word, kept for the next.
#[derive(Default)]
pub(crate) struct Merger {
    /// By the start of a symbol: its end, or 0 if no symbol starts there (any more).
    end: Vec<u32>,
    /// By the start of a symbol: where the one before starts; of the first: its own start.
    prev: Vec<u32>,
    /// By the start of a symbol.
    token: Vec<u32>,
    queue: RankQueue,
}

impl Merger {
    /// Merges a word of symbols, given in order without gaps (byte length and token), and hands out what remains.
    pub(crate) fn run(
        &mut self,
        bytes: usize,
        symbols: impl Iterator<Item = (usize, u32)>,
        rule: &impl MergeRule,
        mut out: impl FnMut(Symbol) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.begin(bytes)?;
        let (mut start, mut last) = (0u32, 0u32);
        for (len, token) in symbols {
            let at = start as usize;
            let end = start + len as u32; // the lengths add up to `bytes`, which fits
            (self.end[at], self.prev[at], self.token[at]) = (end, last, token);
            if last != start {
                self.offer(last, start, rule)?;
            }
            (last, start) = (start, end);
        }
        while let Some((_, pair)) = self.queue.pop() {
            self.apply(pair, rule)?;
        }
        let mut start = 0;
        while (start as usize) < bytes {
            let symbol = self.symbol(start);
            out(symbol)?;
            start = symbol.end;
        }
        Ok(())
    }

    fn begin(&mut self, bytes: usize) -> Result<(), Error> {
        let max = u64::from(u32::MAX - 1);
        if bytes as u64 > max {
            return Err(Error::TextTooLong { bytes: bytes as u64, max });
        }
        for list in [&mut self.end, &mut self.prev, &mut self.token] {
            list.clear();
            list.try_reserve(bytes).map_err(Error::memory("a word's symbols"))?;
            list.resize(bytes, 0);
        }
        self.queue.clear();
        Ok(())
    }

    fn symbol(&self, start: u32) -> Symbol {
        let at = start as usize;
        Symbol { start, end: self.end[at], token: self.token[at] }
    }

    /// Queues two neighbours if they can merge.
    fn offer(&mut self, left: u32, right: u32, rule: &impl MergeRule) -> Result<(), Error> {
        let (left, right) = (self.symbol(left), self.symbol(right));
        match rule.merge(left, right) {
            Some((rank, token)) => self.queue.push(rank, Pair { start: left.start, end: right.end, token }),
            None => Ok(()),
        }
    }

    /// Merges a pair, if it is still there: its left symbol and, after it, one that ends where the pair does. (Then
    /// the border between them is the old one too, as symbols only grow.)
    fn apply(&mut self, pair: Pair, rule: &impl MergeRule) -> Result<(), Error> {
        let middle = self.end[pair.start as usize];
        if middle == 0 || middle >= pair.end || self.end[middle as usize] != pair.end {
            return Ok(());
        }
        self.end[pair.start as usize] = pair.end;
        self.token[pair.start as usize] = pair.token;
        self.end[middle as usize] = 0;
        let before = self.prev[pair.start as usize];
        if before != pair.start {
            self.offer(before, pair.start, rule)?;
        }
        if let Some(prev) = self.prev.get_mut(pair.end as usize) {
            *prev = pair.start;
            self.offer(pair.start, pair.end, rule)?;
        }
        Ok(())
    }
}

/// Two neighbours that can merge; ordered by place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    start: u32,
    end: u32,
    token: u32,
}

/// Pairs by rank, then by place.
#[derive(Default)]
struct RankQueue {
    /// The ranks that have a bucket, and its index.
    ranks: BinaryHeap<Reverse<(u32, usize)>>,
    by_rank: HashMap<u32, usize>,
    buckets: Vec<Bucket>,
    /// Buckets that are free.
    free: Vec<usize>,
}

#[derive(Default)]
struct Bucket {
    /// What came before the first pair was taken out; sorted then.
    pairs: Vec<Pair>,
    /// How many of them are out.
    taken: usize,
    begun: bool,
    /// What came after it.
    late: BinaryHeap<Reverse<Pair>>,
}

impl RankQueue {
    /// Drops what an error of an earlier word may have left.
    fn clear(&mut self) {
        while let Some(Reverse((rank, bucket))) = self.ranks.pop() {
            self.by_rank.remove(&rank);
            self.release(bucket);
        }
    }

    fn push(&mut self, rank: u32, pair: Pair) -> Result<(), Error> {
        const WHAT: &str = "the pairs of a word";
        let index = match self.by_rank.get(&rank) {
            Some(&index) => index,
            None => {
                let index = match self.free.pop() {
                    Some(index) => index,
                    None => {
                        self.buckets.try_reserve(1).map_err(Error::memory(WHAT))?;
                        self.buckets.push(Bucket::default());
                        self.buckets.len() - 1
                    }
                };
                self.by_rank.try_reserve(1).map_err(Error::memory(WHAT))?;
                self.ranks.try_reserve(1).map_err(Error::memory(WHAT))?;
                self.by_rank.insert(rank, index);
                self.ranks.push(Reverse((rank, index)));
                index
            }
        };
        let bucket = &mut self.buckets[index];
        if bucket.begun {
            bucket.late.try_reserve(1).map_err(Error::memory(WHAT))?;
            bucket.late.push(Reverse(pair));
        } else {
            bucket.pairs.try_reserve(1).map_err(Error::memory(WHAT))?;
            bucket.pairs.push(pair);
        }
        Ok(())
    }

    fn pop(&mut self) -> Option<(u32, Pair)> {
        loop {
            let &Reverse((rank, index)) = self.ranks.peek()?;
            if let Some(pair) = self.buckets[index].pop() {
                return Some((rank, pair));
            }
            self.ranks.pop();
            self.by_rank.remove(&rank);
            self.release(index);
        }
    }

    fn release(&mut self, index: usize) {
        let bucket = &mut self.buckets[index];
        bucket.pairs.clear();
        bucket.late.clear();
        (bucket.taken, bucket.begun) = (0, false);
        self.free.push(index);
    }
}

impl Bucket {
    fn pop(&mut self) -> Option<Pair> {
        if !self.begun {
            self.begun = true;
            self.pairs.sort_unstable();
        }
        let early = self.pairs.get(self.taken).copied();
        let late = self.late.peek().map(|Reverse(pair)| *pair);
        match (early, late) {
            (Some(early), Some(late)) if late < early => self.late.pop().map(|Reverse(pair)| pair),
            (Some(early), _) => {
                self.taken += 1;
                Some(early)
            }
            (None, _) => self.late.pop().map(|Reverse(pair)| pair),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks and tokens by the bytes of the pair.
    struct Table<'t> {
        text: &'t [u8],
        ranks: HashMap<Vec<u8>, (u32, u32)>,
    }

    impl MergeRule for Table<'_> {
        fn merge(&self, left: Symbol, right: Symbol) -> Option<(u32, u32)> {
            self.ranks.get(&self.text[left.start as usize..right.end as usize]).copied()
        }
    }

    fn merged(table: &Table<'_>, merger: &mut Merger) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        let symbols = table.text.iter().map(|_| (1, NO_TOKEN));
        merger
            .run(table.text.len(), symbols, table, |s| {
                out.push(table.text[s.start as usize..s.end as usize].to_vec());
                Ok(())
            })
            .unwrap();
        out
    }

    /// The definition: look at all neighbours, merge the best, begin again.
    fn by_definition(table: &Table<'_>) -> Vec<Vec<u8>> {
        let mut parts: Vec<Vec<u8>> = table.text.iter().map(|&b| vec![b]).collect();
        loop {
            let joined = |i: usize| [&parts[i][..], &parts[i + 1][..]].concat();
            let best = (0..parts.len().saturating_sub(1))
                .filter_map(|i| table.ranks.get(&joined(i)).map(|&(rank, _)| (rank, i)))
                .min();
            let Some((_, i)) = best else { return parts };
            let whole = joined(i);
            parts.splice(i..i + 2, [whole]);
        }
    }

    /// A small generator of numbers, so that the cases are the same each time (Steele et al. 2014, SplitMix64).
    fn next(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    #[test]
    fn merging_in_buckets_is_merging_by_definition() {
        let mut merger = Merger::default();
        for seed in 0..2000u64 {
            let mut state = seed;
            let letters = 1 + next(&mut state) % 3;
            let text: Vec<u8> = (0..next(&mut state) % 40).map(|_| b'a' + (next(&mut state) % letters) as u8).collect();
            let ranks = 1 + next(&mut state) % 8; // few: many pairs are of equal rank, and later ones of lower
            let mut table = Table { text: &text, ranks: HashMap::new() };
            for _ in 0..next(&mut state) % 20 {
                let entry: Vec<u8> =
                    (0..2 + next(&mut state) % 4).map(|_| b'a' + (next(&mut state) % letters) as u8).collect();
                table.ranks.insert(entry, ((next(&mut state) % ranks) as u32, 7));
            }
            assert_eq!(merged(&table, &mut merger), by_definition(&table), "seed {seed}");
        }
    }

    #[test]
    fn an_empty_word_has_no_symbols() {
        let table = Table { text: b"", ranks: HashMap::new() };
        assert!(merged(&table, &mut Merger::default()).is_empty());
    }
}
