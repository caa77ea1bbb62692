//! From a token's text to its id.

use crate::Error;
use crate::vocab::Texts;
use std::hash::{BuildHasher, RandomState};

const EMPTY: u32 = u32::MAX;

/// A hash table with open addressing that keeps ids only: the texts are where they are anyway. The hash is seeded, so
/// that no file can make all its tokens collide; what is found does not depend on the seed.
pub(crate) struct TokenIndex {
    slots: Vec<u32>,
    state: RandomState,
    duplicates: usize,
}

impl TokenIndex {
    /// All texts but empty ones; of equal ones the first.
    pub(crate) fn new(texts: &Texts) -> Result<TokenIndex, Error> {
        let wanted = texts.len().checked_mul(2).and_then(usize::checked_next_power_of_two);
        let size = wanted.ok_or(Error::OutOfMemory { what: "the tokens' index" })?.max(2);
        let mut slots = Vec::new();
        slots.try_reserve_exact(size).map_err(Error::memory("the tokens' index"))?;
        slots.resize(size, EMPTY);
        let mut index = TokenIndex { slots, state: RandomState::new(), duplicates: 0 };
        for (id, text) in (0..EMPTY).zip(texts.iter()).filter(|(_, text)| !text.is_empty()) {
            match index.slot(texts, text) {
                (_, Some(_)) => index.duplicates += 1,
                (slot, None) => index.slots[slot] = id,
            }
        }
        Ok(index)
    }

    /// The id of a text.
    pub(crate) fn find(&self, texts: &Texts, text: &[u8]) -> Option<u32> {
        self.slot(texts, text).1
    }

    pub(crate) fn duplicates(&self) -> usize {
        self.duplicates
    }

    /// Where the text is or would be. At most half of the slots are taken, so the walk ends.
    fn slot(&self, texts: &Texts, text: &[u8]) -> (usize, Option<u32>) {
        let mask = self.slots.len() - 1;
        let mut slot = self.state.hash_one(text) as usize & mask;
        loop {
            match self.slots[slot] {
                EMPTY => return (slot, None),
                id if texts.get(id as usize) == Some(text) => return (slot, Some(id)),
                _ => slot = (slot + 1) & mask,
            }
        }
    }
}
