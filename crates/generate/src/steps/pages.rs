//! The order in which a pool gives out its free pages.

use crate::Result;
use inkstone_kvcache::{PageTable, Pool};

/// The order of the pages of a sequence in the cache. It changes no result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageOrder {
    /// The order in which earlier sequences left them.
    #[default]
    AsFreed,
    /// By their numbers: neighbours in a sequence are neighbours in memory.
    Ascending,
    /// A random order, which depends only on this seed.
    Random(u64),
}

impl PageOrder {
    /// Puts the free pages of a pool into this order.
    pub(super) fn arrange(self, pool: &mut Pool) -> Result<()> {
        if self == PageOrder::AsFreed {
            return Ok(());
        }
        let mut tables = Vec::with_capacity(pool.free());
        let taken = (0..pool.free()).try_for_each(|_| {
            let mut table = PageTable::default();
            pool.grow(&mut table, 1)?;
            tables.push(table);
            Ok(())
        });
        let page = |table: &PageTable| table.pages().first().copied();
        match self {
            PageOrder::Random(seed) => tables.sort_by_key(|table| mixed(seed, page(table))),
            PageOrder::AsFreed | PageOrder::Ascending => tables.sort_by_key(page),
        }
        // A pool first gives out the page that came back last.
        for table in tables.iter_mut().rev() {
            pool.release(table)?;
        }
        taken
    }
}

/// A hash of a page: the finisher of splitmix64.
fn mixed(seed: u64, page: Option<u32>) -> u64 {
    let x = seed.wrapping_add(page.map_or(0, u64::from).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pages of a sequence of 64 tokens, in a pool whose pages have come back in disorder.
    fn pages(order: PageOrder) -> Vec<u32> {
        let mut pool = Pool::new(1024, 16).unwrap();
        let mut tables: Vec<PageTable> = Vec::new();
        for tokens in [40, 100, 16, 200] {
            let mut table = PageTable::default();
            pool.grow(&mut table, tokens).unwrap();
            tables.push(table);
        }
        tables.iter_mut().for_each(|table| pool.release(table).unwrap());
        order.arrange(&mut pool).unwrap();
        assert_eq!(pool.free(), 64);
        let mut table = PageTable::default();
        pool.grow(&mut table, 1024).unwrap();
        table.pages().to_vec()
    }

    #[test]
    fn free_pages_are_given_out_in_the_order() {
        let all: Vec<u32> = (0..64).collect();
        assert_eq!(pages(PageOrder::Ascending), all);
        let [one, same, other] = [1, 1, 2].map(|seed| pages(PageOrder::Random(seed)));
        assert!(one == same && one != other && one != all && one != pages(PageOrder::AsFreed));
        let neighbours = one.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count();
        assert!(neighbours < 8, "{one:?}");
        let mut sorted = one;
        sorted.sort_unstable();
        assert_eq!(sorted, all);
    }

    #[test]
    fn held_pages_stay_where_they_are() {
        let mut pool = Pool::new(64, 16).unwrap();
        let mut held = PageTable::default();
        pool.grow(&mut held, 20).unwrap();
        let before = held.pages().to_vec();
        PageOrder::Random(3).arrange(&mut pool).unwrap();
        assert_eq!((held.pages(), pool.free()), (&before[..], 2));
        pool.release(&mut held).unwrap();
    }
}
