use super::*;
use crate::{PageCopy, PrefixTree, Salt};
use std::collections::HashSet;

/// A pool of 8 pages of 4 tokens, and a table of so many tokens.
fn pool_and_table(tokens: usize) -> (Pool, PageTable) {
    let mut pool = Pool::new(32, 4).unwrap();
    let table = table(&mut pool, tokens);
    (pool, table)
}

fn table(pool: &mut Pool, tokens: usize) -> PageTable {
    let mut table = PageTable::default();
    pool.grow(&mut table, tokens).unwrap();
    table
}

/// The copies for a write.
fn write(pool: &mut Pool, table: &mut PageTable, positions: std::ops::Range<usize>) -> Vec<PageCopy> {
    let mut copies = Vec::new();
    pool.write(table, positions, &mut copies).unwrap();
    copies
}

#[test]
fn a_page_that_is_not_shared_has_one_owner() {
    let mut pool = Pool::new(100, 8).unwrap();
    assert_eq!((pool.capacity(), pool.slots()), (12, 96));
    let mut tables = [PageTable::default(), PageTable::default(), PageTable::default()];
    for (i, tokens) in [(0, 9), (1, 1), (2, 30), (0, 17), (1, 8), (0, 24), (2, 33)] {
        pool.grow(&mut tables[i], tokens).unwrap();
        assert!(tables[i].pages().len() * 8 >= tokens);
        let held: Vec<u32> = tables.iter().flat_map(|t| t.pages()).chain(&pool.free).copied().collect();
        assert_eq!((held.len(), held.iter().collect::<HashSet<_>>().len()), (12, 12));
    }
    pool.shrink(&mut tables[2], 16).unwrap();
    assert_eq!((tables[2].pages().len(), tables[2].len()), (2, 16));
    tables.iter_mut().for_each(|t| pool.release(t).unwrap());
    assert_eq!((pool.free(), pool.available()), (12, 12));
    assert!(tables.iter().all(|t| t.is_empty() && t.pages().is_empty()));
}

#[test]
fn an_empty_pool_says_so_and_takes_nothing() {
    let mut pool = Pool::new(32, 16).unwrap();
    let _first = table(&mut pool, 16);
    let mut second = PageTable::default();
    assert!(!pool.can_grow(&second, 17) && pool.can_grow(&second, 16));
    let error = pool.grow(&mut second, 17).unwrap_err();
    assert_eq!(error.to_string(), "no cache page left: 2 wanted, 1 of 2 free");
    assert_eq!((second.pages().len(), second.len(), pool.available()), (0, 0, 1));
}

#[test]
fn g1_odd_sizes_are_refused_by_name() {
    assert_eq!(Pool::new(100, 0).unwrap_err(), Error::PageSize { tokens: 0, most: MAX_PAGE });
    assert_eq!(Pool::new(100, 17).unwrap_err(), Error::PageSize { tokens: 17, most: MAX_PAGE });
    assert_eq!(Pool::new(7, 8).unwrap_err(), Error::TooSmall { tokens: 7, page: 8 });
    let error = crate::Format::named("f8").unwrap_err().to_string();
    assert_eq!(error, "no cache format f8; there are: f16, f32");
}

#[test]
fn a_table_that_grows_keeps_its_length_and_gets_its_pages_back_in_order() {
    let (mut pool, mut table) = pool_and_table(10);
    let pages = table.pages().to_vec();
    pool.grow(&mut table, 5).unwrap();
    assert_eq!(table.len(), 10);
    pool.shrink(&mut table, 20).unwrap();
    assert_eq!(table.len(), 10);
    pool.shrink(&mut table, 4).unwrap();
    assert_eq!((table.len(), table.pages()), (4, &pages[..1]));
    pool.grow(&mut table, 9).unwrap();
    assert_eq!((table.len(), table.pages()), (9, &pages[..]));
}

#[test]
fn a_fork_shares_its_pages_until_it_writes() {
    let (mut pool, mut first) = pool_and_table(10);
    let mut second = pool.fork(&first).unwrap();
    assert_eq!((second.len(), second.pages(), pool.free()), (10, first.pages(), 5));
    assert!(first.pages().iter().all(|&page| pool.holders(page) == 2));

    let copies = write(&mut pool, &mut second, 9..10);
    assert_eq!(copies, [PageCopy { from: first.pages()[2], to: second.pages()[2], places: 1 }]);
    assert_eq!((pool.holders(first.pages()[2]), pool.holders(second.pages()[2])), (1, 1));
    // The first sequence is the only holder now.
    assert_eq!(write(&mut pool, &mut first, 9..10), []);

    pool.release(&mut first).unwrap();
    assert_eq!(pool.free(), 5);
    pool.release(&mut second).unwrap();
    assert_eq!(pool.free(), 8);
}

#[test]
fn only_the_first_page_of_a_write_is_copied_and_only_its_places_before_the_write() {
    let (mut pool, first) = pool_and_table(12);
    let mut second = pool.fork(&first).unwrap();
    let copies = write(&mut pool, &mut second, 3..9);
    assert_eq!(copies, [PageCopy { from: first.pages()[0], to: second.pages()[0], places: 3 }]);
    assert!(first.pages().iter().zip(second.pages()).all(|(a, b)| a != b));
    let mut third = pool.fork(&first).unwrap();
    assert_eq!(write(&mut pool, &mut third, 8..12), []);
    assert_eq!(third.pages()[..2], first.pages()[..2]);
    assert_ne!(third.pages()[2], first.pages()[2]);
    assert_eq!(write(&mut pool, &mut third, 1..1), []);
}

#[test]
fn a_write_without_enough_free_pages_changes_nothing() {
    let (mut pool, first) = pool_and_table(12);
    let mut second = pool.fork(&first).unwrap();
    let _rest = table(&mut pool, 12);
    let before = format!("{pool:?} {second:?}");
    let mut copies = Vec::new();
    let error = pool.write(&mut second, 2..12, &mut copies).unwrap_err();
    assert_eq!(error, Error::NoPages { wanted: 3, free: 2, capacity: 8 });
    assert_eq!((format!("{pool:?} {second:?}"), copies.len()), (before, 0));
    assert_eq!(write(&mut pool, &mut second, 6..12).len(), 1);
}

#[test]
fn positions_outside_a_table_are_refused() {
    let (mut pool, mut table) = pool_and_table(10);
    let mut copies = Vec::new();
    let backwards = std::ops::Range { start: 5, end: 4 };
    for positions in [9..11, 11..11, backwards, 0..usize::MAX] {
        let (start, end) = (positions.start, positions.end);
        let error = pool.write(&mut table, positions, &mut copies).unwrap_err();
        assert_eq!(error, Error::Positions { start, end, len: 10 });
    }
    // A table of a pool with larger pages has fewer pages than its length needs here.
    let mut large = Pool::new(64, 32).unwrap();
    let mut foreign = PageTable::default();
    large.grow(&mut foreign, 40).unwrap();
    assert!(matches!(pool.write(&mut foreign, 39..40, &mut copies), Err(Error::Positions { .. })));
}

#[test]
fn a_write_behind_the_places_of_a_node_stays_in_its_page() {
    let (mut pool, mut table) = pool_and_table(8);
    let mut tree = PrefixTree::new(&mut pool).unwrap();
    tree.insert(&mut pool, Salt::none(), &mut table, &[1, 2, 3, 4, 5, 6]).unwrap();
    let node = table.pages()[1];
    assert_eq!(pool.kept(node), 2);
    assert_eq!((write(&mut pool, &mut table, 6..8), table.pages()[1]), (vec![], node));

    let copies = write(&mut pool, &mut table, 5..6);
    assert_eq!(copies, [PageCopy { from: node, to: table.pages()[1], places: 1 }]);
    assert_eq!((pool.holders(node), pool.kept(node), pool.kept(table.pages()[1])), (0, 2, 0));
    assert_eq!((pool.free(), pool.available()), (5, 6));
    // The whole page before it is a node, so that a write to its first place needs another page.
    assert_eq!(write(&mut pool, &mut table, 0..1), []);
    assert_eq!((pool.free(), pool.available()), (4, 6));
}

#[test]
fn a_table_of_another_pool_changes_nothing() {
    let (mut pool, mut own) = pool_and_table(4);
    let mut foreign = table(&mut Pool::new(64, 4).unwrap(), 48);
    // Page 0 has a holder, the others have none, or do not exist.
    assert_eq!(foreign.pages()[0], own.pages()[0]);
    let before = format!("{pool:?} {foreign:?}");
    assert_eq!(pool.release(&mut foreign), Err(Error::NotHeld { page: 11 }));
    assert_eq!(pool.shrink(&mut foreign, 44), Err(Error::NotHeld { page: 11 }));
    assert_eq!(pool.fork(&foreign).unwrap_err(), Error::FreePage { page: 1, capacity: 8 });
    assert_eq!(pool.write(&mut foreign, 0..8, &mut Vec::new()), Err(Error::NotHeld { page: 1 }));
    assert_eq!(format!("{pool:?} {foreign:?}"), before);
    pool.release(&mut own).unwrap();
}

#[test]
fn a_page_that_is_returned_too_often_puts_the_others_back() {
    let (mut pool, mut own) = pool_and_table(12);
    pool.shrink(&mut own, 8).unwrap();
    let mut foreign = PageTable { pages: vec![2, 0, 1, 1], len: 16, begin: 0 };
    pool.fork(&own).unwrap();
    let before = format!("{pool:?}");
    assert_eq!(pool.release(&mut foreign), Err(Error::NotHeld { page: 2 }));
    assert_eq!((format!("{pool:?}"), foreign.len()), (before, 16));
}

#[test]
fn pages_are_adopted_at_the_end_of_a_whole_page() {
    let (mut pool, source) = pool_and_table(12);
    let mut table = PageTable::default();
    pool.adopt(&mut table, &source.pages()[..1], 4).unwrap();
    pool.adopt(&mut table, &source.pages()[1..2], 6).unwrap();
    assert_eq!((table.pages(), table.len()), (&source.pages()[..2], 6));
    assert_eq!(source.pages().iter().map(|&page| pool.holders(page)).collect::<Vec<_>>(), [2, 2, 1]);

    let before = format!("{pool:?} {table:?}");
    let mut adopt = |table: &mut PageTable, pages: &[u32], len| pool.adopt(table, pages, len).unwrap_err();
    assert_eq!(adopt(&mut table, source.pages(), 18), Error::Boundary { len: 6, page: 4 });
    let mut none = PageTable::default();
    assert_eq!(adopt(&mut none, source.pages(), 8), Error::Length { len: 8, least: 9, most: 12 });
    assert_eq!(adopt(&mut none, source.pages(), 13), Error::Length { len: 13, least: 9, most: 12 });
    assert_eq!(adopt(&mut none, &[], 1), Error::Length { len: 1, least: 0, most: 0 });
    assert_eq!(adopt(&mut none, &[0, 5], 8), Error::FreePage { page: 5, capacity: 8 });
    assert_eq!(adopt(&mut none, &[0, 8], 8), Error::FreePage { page: 8, capacity: 8 });
    assert_eq!((format!("{pool:?} {table:?}"), none.is_empty()), (before, true));
    pool.adopt(&mut none, &[], 0).unwrap();
}

#[test]
fn fragmentation_counts_a_shared_page_once() {
    let (mut pool, first) = pool_and_table(10);
    assert_eq!(pool.fragmentation([]), 0.0);
    assert_eq!(pool.fragmentation([&PageTable::default()]), 0.0);
    // 10 of 12 places.
    assert!((pool.fragmentation([&first]) - 2.0 / 12.0).abs() < 1e-12);
    let mut second = pool.fork(&first).unwrap();
    assert_eq!(pool.fragmentation([&first, &second]), pool.fragmentation([&first]));
    pool.shrink(&mut second, 9).unwrap();
    assert_eq!(pool.fragmentation([&second, &first]), pool.fragmentation([&first]));
    // 9 places in 3 pages, 2 of the fourth page.
    write(&mut pool, &mut second, 8..9);
    assert!((pool.fragmentation([&first, &second]) - 5.0 / 16.0).abs() < 1e-12);
}
