//! A hash table from names to their numbers. It stores only the numbers; the caller stores the names.

use std::collections::TryReserveError;
use std::hash::{BuildHasher, RandomState};

/// An empty slot.
const FREE: u32 = u32::MAX;

/// The number of each name, in a table with open addressing and linear probing that is at most half full. The hash is
/// keyed, so that crafted names can't make it slow. A failed allocation is an error value, because the file determines
/// the number of names.
#[derive(Clone, Default)]
pub(crate) struct NameIndex {
    slots: Vec<u32>,
    used: usize,
    hasher: RandomState,
}

impl NameIndex {
    /// The largest number of names: no name may have the number that marks a free slot.
    pub(crate) const MAX: usize = FREE as usize;

    /// Looks up the number of a name. `name_at` returns the name of a number.
    pub(crate) fn find<'a>(&self, name: &str, name_at: impl Fn(u32) -> &'a str) -> Option<u32> {
        let (mask, mut slot) = (self.slots.len().checked_sub(1)?, self.home(name));
        loop {
            match self.slots[slot & mask] {
                FREE => return None,
                number if name_at(number) == name => return Some(number),
                _ => slot = slot.wrapping_add(1),
            }
        }
    }

    /// Makes room for one more name. `name_at` returns the name of each number in the table.
    pub(crate) fn reserve<'a>(&mut self, name_at: impl Fn(u32) -> &'a str) -> Result<(), TryReserveError> {
        if (self.used + 1) * 2 <= self.slots.len() {
            return Ok(());
        }
        let size = (self.slots.len() * 2).max(16);
        let mut slots = Vec::new();
        slots.try_reserve_exact(size)?;
        slots.resize(size, FREE);
        for number in std::mem::replace(&mut self.slots, slots) {
            if number != FREE {
                self.place(name_at(number), number);
            }
        }
        Ok(())
    }

    /// Adds a name that is not in the table. Call [`reserve`](Self::reserve) first.
    pub(crate) fn insert(&mut self, name: &str, number: u32) {
        self.place(name, number);
        self.used += 1;
    }

    fn place(&mut self, name: &str, number: u32) {
        let (mask, mut slot) = (self.slots.len() - 1, self.home(name));
        while self.slots[slot & mask] != FREE {
            slot = slot.wrapping_add(1);
        }
        self.slots[slot & mask] = number;
    }

    fn home(&self, name: &str) -> usize {
        self.hasher.hash_one(name) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_is_in_is_found_and_no_other() {
        let names: Vec<String> = (0..1000).map(|i| format!("blk.{i}")).collect();
        let mut index = NameIndex::default();
        for (i, name) in names.iter().enumerate() {
            assert_eq!(index.find(name, |n| &names[n as usize]), None);
            index.reserve(|n| &names[n as usize]).unwrap();
            index.insert(name, i as u32);
        }
        for (i, name) in names.iter().enumerate() {
            assert_eq!(index.find(name, |n| &names[n as usize]), Some(i as u32));
        }
        assert_eq!(index.find("blk.1000", |n| &names[n as usize]), None);
    }

    #[test]
    fn a20_a_lookup_looks_at_few_names_however_many_there_are() {
        const NAMES: u32 = 50_000;
        let names: Vec<String> = (0..NAMES).map(|i| format!("blk.{i:06}.weight")).collect();
        let looks = std::cell::Cell::new(0u32);
        let name_at = |n: u32| {
            looks.set(looks.get() + 1);
            names[n as usize].as_str()
        };
        let mut index = NameIndex::default();
        for (i, name) in names.iter().enumerate() {
            assert_eq!(index.find(name, name_at), None);
            index.reserve(name_at).unwrap();
            index.insert(name, i as u32);
            // Expected lookups per name: at most 1.5 for the search, and 2 for moves to larger tables.
            assert!(looks.get() < 10 * (i as u32 + 20), "{} looks for {i} names", looks.get());
        }
    }
}
