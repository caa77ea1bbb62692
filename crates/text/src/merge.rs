//! Merges neighbours by rank in linear time: the core algorithm of BPE and SPM.
//!
//! A word begins as its smallest symbols. As long as any two neighbours can merge, the pair with the lowest rank does,
//! and the leftmost pair of equal ranks. A heap of all pairs would take `n log n` steps, each a cache miss once a word
//! has millions of symbols. Instead, the pairs of each rank are collected in a bucket that is sorted by position when
//! its turn comes, and the heap holds only the ranks, whose number is bounded by the vocabulary.

use crate::Error;
use crate::tokenizer::LONGEST_TEXT;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The token of a symbol that is not a token.
pub(crate) const NO_TOKEN: u32 = u32::MAX;

/// A part of a word: the bytes `start..end` and their token.
#[derive(Clone, Copy)]
pub(crate) struct Symbol {
    pub start: u32,
    pub end: u32,
    pub token: u32,
}

/// The rule that determines which neighbours merge.
pub(crate) trait MergeRule {
    /// The rank of the merge and the resulting token. Lower ranks merge first.
    fn merge(&self, left: Symbol, right: Symbol) -> Option<(u32, u32)>;
}

/// Memory for the merges of a word, reused for the next word.
#[derive(Default)]
pub(crate) struct Merger {
    /// At the first byte of a symbol its end, at the last byte of a longer symbol its start. An entry above its own
    /// index is an end, so one list links both neighbours of each symbol. Entries of other bytes are not above their
    /// index.
    links: Vec<u32>,
    /// At the first byte of a symbol its token.
    tokens: Vec<u32>,
    queue: RankQueue,
}

impl Merger {
    /// Merges a word. `symbols` are its smallest symbols in order and without gaps (byte length and token). Calls the
    /// last argument with the tokens of the merged symbols.
    pub(crate) fn run(
        &mut self,
        bytes: usize,
        symbols: impl Iterator<Item = (usize, u32)>,
        rule: &impl MergeRule,
        mut out: impl FnMut(Symbol) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.begin(bytes)?;
        let mut start = 0u32;
        for (len, token) in symbols {
            let end = start + len as u32; // the lengths add up to `bytes`, which fits
            self.place(Symbol { start, end, token });
            if let Some(before) = self.before(start) {
                self.offer(before, start, rule)?;
            }
            start = end;
        }
        while let Some((rank, left)) = self.queue.pop() {
            self.apply(rank, left, rule)?;
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
        // A text can become longer when its spaces are escaped or its characters are composed.
        if bytes as u64 > LONGEST_TEXT {
            return Err(Error::TextTooLong { bytes: bytes as u64, max: LONGEST_TEXT });
        }
        for list in [&mut self.links, &mut self.tokens] {
            list.clear();
            list.try_reserve(bytes).map_err(Error::memory("a word's symbols"))?;
            list.resize(bytes, 0);
        }
        self.queue.clear();
        Ok(())
    }

    fn symbol(&self, start: u32) -> Symbol {
        let at = start as usize;
        Symbol { start, end: self.links[at], token: self.tokens[at] }
    }

    fn place(&mut self, symbol: Symbol) {
        let last = symbol.end - 1;
        self.links[last as usize] = symbol.start;
        self.links[symbol.start as usize] = symbol.end;
        self.tokens[symbol.start as usize] = symbol.token;
    }

    /// The start of the symbol before the symbol at `start`.
    fn before(&self, start: u32) -> Option<u32> {
        let last = start.checked_sub(1)?;
        Some(self.links[last as usize].min(last))
    }

    /// Queues two neighbours if they can merge.
    fn offer(&mut self, left: u32, right: u32, rule: &impl MergeRule) -> Result<(), Error> {
        let (left, right) = (self.symbol(left), self.symbol(right));
        match rule.merge(left, right) {
            Some((rank, _)) => self.queue.push(rank, left.start),
            None => Ok(()),
        }
    }

    /// Merges the symbol at `left` with the next one if the pair still has the queued rank: either of them may have
    /// been merged with another symbol meanwhile.
    fn apply(&mut self, rank: u32, left: u32, rule: &impl MergeRule) -> Result<(), Error> {
        let left = self.symbol(left);
        if left.end <= left.start || left.end as usize >= self.links.len() {
            return Ok(());
        }
        let right = self.symbol(left.end);
        let token = match rule.merge(left, right) {
            Some((found, token)) if found == rank => token,
            _ => return Ok(()),
        };
        self.links[right.start as usize] = 0;
        self.place(Symbol { start: left.start, end: right.end, token });
        if let Some(before) = self.before(left.start) {
            self.offer(before, left.start, rule)?;
        }
        if (right.end as usize) < self.links.len() {
            self.offer(left.start, right.end, rule)?;
        }
        Ok(())
    }
}

/// The starts of the left symbols of all queued pairs, by rank, then by position. (Nothing else is stored per pair,
/// because words of millions of symbols fill the caches.)
#[derive(Default)]
struct RankQueue {
    /// The ranks with a bucket, and the indices of their buckets.
    ranks: BinaryHeap<Reverse<(u32, usize)>>,
    by_rank: HashMap<u32, usize>,
    buckets: Vec<Bucket>,
    /// Indices of free buckets.
    free: Vec<usize>,
}

#[derive(Default)]
struct Bucket {
    /// The starts queued before the first one was taken out. They are sorted at that time.
    starts: Vec<u32>,
    /// The number of starts taken out.
    taken: usize,
    begun: bool,
    /// The starts queued after that.
    late: BinaryHeap<Reverse<u32>>,
}

impl RankQueue {
    /// Removes the entries that an error in an earlier word may have left.
    fn clear(&mut self) {
        while let Some(Reverse((rank, bucket))) = self.ranks.pop() {
            self.by_rank.remove(&rank);
            self.release(bucket);
        }
    }

    fn push(&mut self, rank: u32, start: u32) -> Result<(), Error> {
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
            bucket.late.push(Reverse(start));
        } else {
            bucket.starts.try_reserve(1).map_err(Error::memory(WHAT))?;
            bucket.starts.push(start);
        }
        Ok(())
    }

    fn pop(&mut self) -> Option<(u32, u32)> {
        loop {
            let &Reverse((rank, index)) = self.ranks.peek()?;
            if let Some(start) = self.buckets[index].pop() {
                return Some((rank, start));
            }
            self.ranks.pop();
            self.by_rank.remove(&rank);
            self.release(index);
        }
    }

    fn release(&mut self, index: usize) {
        let bucket = &mut self.buckets[index];
        bucket.starts.clear();
        bucket.late.clear();
        (bucket.taken, bucket.begun) = (0, false);
        self.free.push(index);
    }
}

impl Bucket {
    fn pop(&mut self) -> Option<u32> {
        if !self.begun {
            self.begun = true;
            self.starts.sort_unstable();
        }
        let early = self.starts.get(self.taken).copied();
        let late = self.late.peek().map(|Reverse(start)| *start);
        match (early, late) {
            (Some(early), Some(late)) if late < early => self.late.pop().map(|Reverse(start)| start),
            (Some(early), _) => {
                self.taken += 1;
                Some(early)
            }
            (None, _) => self.late.pop().map(|Reverse(start)| start),
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

    /// The definition: compare all neighbours, merge the best pair, repeat.
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
