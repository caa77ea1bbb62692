//! A hash table from the texts of tokens to their ids.

use crate::Error;
use crate::vocab::Texts;
use std::hash::{BuildHasher, RandomState};

/// The bits of a slot that hold the id.
const ID: u64 = u32::MAX as u64;
/// An empty slot.
const EMPTY: u64 = u64::MAX;

/// A hash table with open addressing that stores ids and a part of each hash. The texts are stored elsewhere; the
/// stored hashes avoid most comparisons with other texts. The hash is seeded, so that no file can make all its tokens
/// collide. The results do not depend on the seed.
pub(crate) struct TokenIndex {
    /// The upper half of the hash, then the id.
    slots: Vec<u64>,
    hash: Hash,
    duplicates: usize,
}

impl TokenIndex {
    /// Indexes all texts that are not empty. Of equal texts only the first is indexed.
    pub(crate) fn new(texts: &Texts) -> Result<TokenIndex, Error> {
        let wanted = texts.len().checked_mul(2).and_then(usize::checked_next_power_of_two);
        let size = wanted.ok_or(Error::OutOfMemory { what: "the tokens' index" })?.max(2);
        let mut slots = Vec::new();
        slots.try_reserve_exact(size).map_err(Error::memory("the tokens' index"))?;
        slots.resize(size, EMPTY);
        let mut index = TokenIndex { slots, hash: Hash::seeded(), duplicates: 0 };
        for (id, text) in (0..u32::MAX).zip(texts.iter()).filter(|(_, text)| !text.is_empty()) {
            match index.slot(texts, text) {
                (.., Some(_)) => index.duplicates += 1,
                (slot, tag, None) => index.slots[slot] = tag | u64::from(id),
            }
        }
        Ok(index)
    }

    /// The id of a text.
    pub(crate) fn find(&self, texts: &Texts, text: &[u8]) -> Option<u32> {
        self.slot(texts, text).2
    }

    /// Looks up several texts at once, so that their cache misses overlap.
    pub(crate) fn find_all<const N: usize>(&self, texts: &Texts, wanted: [&[u8]; N]) -> [Option<u32>; N] {
        let mask = self.slots.len() - 1;
        let hashes = wanted.map(|text| self.hash.of(text));
        let found = hashes.map(|hash| self.slots[hash as usize & mask]);
        let at = found.map(|found| texts.get((found & ID) as usize));
        std::array::from_fn(|i| match at[i] {
            Some(text) if found[i] & !ID == hashes[i] & !ID && text == wanted[i] => Some((found[i] & ID) as u32),
            _ => self.find(texts, wanted[i]),
        })
    }

    pub(crate) fn duplicates(&self) -> usize {
        self.duplicates
    }

    /// The slot of a text (or the empty slot where it would be stored), the hash bits of the slot, and the id. The
    /// search ends because at most half of the slots are in use.
    fn slot(&self, texts: &Texts, text: &[u8]) -> (usize, u64, Option<u32>) {
        let hash = self.hash.of(text);
        let (mask, tag) = (self.slots.len() - 1, hash & !ID);
        let mut slot = hash as usize & mask;
        loop {
            let found = self.slots[slot];
            let id = (found & ID) as u32;
            if found == EMPTY {
                return (slot, tag, None);
            }
            if found & !ID == tag && texts.get(id as usize) == Some(text) {
                return (slot, tag, Some(id));
            }
            slot = (slot + 1) & mask;
        }
    }
}

/// A hash function for short texts: folded 64-bit products. Opening a model with a large vocabulary computes a million
/// hashes, and the hash function of the standard library takes several times as long.
struct Hash {
    seeds: [u64; 2],
}

impl Hash {
    fn seeded() -> Hash {
        let state = RandomState::new();
        Hash { seeds: [state.hash_one(0), state.hash_one(1) | 1] }
    }

    fn of(&self, text: &[u8]) -> u64 {
        let [start, factor] = self.seeds;
        let mix = |hash: u64, word: [u8; 8]| {
            let product = u128::from(hash ^ u64::from_le_bytes(word)) * u128::from(factor);
            product as u64 ^ (product >> 64) as u64
        };
        let (words, rest) = text.as_chunks();
        let hash = words.iter().fold(start ^ text.len() as u64, |hash, word| mix(hash, *word));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        mix(mix(hash, last), start.to_le_bytes())
    }
}
