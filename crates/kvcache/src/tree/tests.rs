use super::*;
use crate::PageTable;

/// A pool of 8 pages of 4 tokens with its tree.
fn pool_and_tree() -> (Pool, PrefixTree) {
    let mut pool = Pool::new(32, 4).unwrap();
    let tree = PrefixTree::new(&mut pool).unwrap();
    (pool, tree)
}

/// A table that covers a text.
fn table(pool: &mut Pool, text: &[u32]) -> PageTable {
    let mut table = PageTable::default();
    pool.grow(&mut table, text.len()).unwrap();
    table
}

/// A table with a text that is in the tree.
fn insert(pool: &mut Pool, tree: &mut PrefixTree, salt: Salt, text: &[u32]) -> PageTable {
    let mut table = table(pool, text);
    assert_eq!(tree.insert(pool, salt, &mut table, text), Ok(text.len()));
    table
}

/// Adds a text, and leaves its pages to the tree.
fn leave(pool: &mut Pool, tree: &mut PrefixTree, salt: Salt, text: &[u32]) {
    let mut table = insert(pool, tree, salt, text);
    pool.release(&mut table).unwrap();
}

/// The number of tokens of a text in the tree.
fn peek(tree: &PrefixTree, salt: Salt, text: &[u32]) -> usize {
    tree.peek(salt, text, usize::MAX, &mut Vec::new()).tokens
}

const NONE: fn() -> Salt = Salt::none;

#[test]
fn a_text_is_found_up_to_the_token_where_it_parts() {
    let (mut pool, mut tree) = pool_and_tree();
    let text = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    let table = insert(&mut pool, &mut tree, NONE(), &text);
    let mut pages = vec![77];
    for parts in 0..=text.len() {
        let mut other = text;
        other.iter_mut().skip(parts).for_each(|id| *id += 10);
        let hit = tree.find(NONE(), &other, usize::MAX, &mut pages);
        assert_eq!((hit.tokens, pages.as_slice()), (parts, &table.pages()[..parts / 4]));
        let page = (parts % 4 > 0).then(|| Partial { page: table.pages()[parts / 4], places: parts % 4 });
        assert_eq!(hit.partial, page);
    }
    assert_eq!(tree.stats(), Stats { asked: 90, hit: 45, evicted: 0 });
}

/// A tree with hashes would need texts with equal ones. Here all texts of five tokens are compared with each other.
#[test]
fn g6_a_text_never_has_the_pages_of_another() {
    let texts: Vec<[u32; 5]> = (0..243u32).map(|n| [n / 81, n / 27, n / 9, n / 3, n].map(|digit| digit % 3)).collect();
    let mut pool = Pool::new(2 * 486, 2).unwrap();
    let mut tree = PrefixTree::new(&mut pool).unwrap();
    for (i, text) in texts.iter().enumerate() {
        let common = |other: &[u32; 5]| text.iter().zip(other).take_while(|(a, b)| a == b).count();
        let longest = texts[..i].iter().map(common).max().unwrap_or(0);
        let mut pages = Vec::new();
        let hit = tree.peek(NONE(), text, usize::MAX, &mut pages);
        assert_eq!((hit.tokens, pages.len()), (longest, longest / 2), "{text:?}");
        leave(&mut pool, &mut tree, NONE(), text);
    }
}

#[test]
fn a_hit_has_at_most_the_tokens_that_are_wanted() {
    let (mut pool, mut tree) = pool_and_tree();
    let text = [1, 2, 3, 4, 5, 6, 7, 8];
    let table = insert(&mut pool, &mut tree, NONE(), &text);
    let mut pages = Vec::new();
    for most in 0..=9 {
        let hit = tree.find(NONE(), &text, most, &mut pages);
        assert_eq!((hit.tokens, pages.as_slice()), (most.min(8), &table.pages()[..most.min(8) / 4]));
        assert_eq!(hit.partial.map_or(0, |partial| partial.places), most.min(8) % 4);
    }
}

#[test]
fn a_longer_text_takes_the_place_of_a_partial_node() {
    let (mut pool, mut tree) = pool_and_tree();
    leave(&mut pool, &mut tree, NONE(), &[1, 2]);
    leave(&mut pool, &mut tree, NONE(), &[1, 3]);
    assert_eq!((tree.size(), pool.free()), (2, 6));
    let held = insert(&mut pool, &mut tree, NONE(), &[1, 2, 5]);
    assert_eq!((tree.size(), pool.free(), pool.kept(held.pages()[0])), (2, 6, 3));
    // The page of a partial node that a table holds stays in the table.
    let whole = insert(&mut pool, &mut tree, NONE(), &[1, 2, 5, 6]);
    assert_eq!((tree.size(), pool.free(), pool.kept(held.pages()[0])), (2, 5, 0));
    assert_eq!((pool.holders(held.pages()[0]), pool.kept(whole.pages()[0])), (1, 4));
    // The same text, and a beginning of it, need no nodes.
    let (same, shorter) = ([1, 2, 5, 6], [1, 2]);
    let second = insert(&mut pool, &mut tree, NONE(), &same);
    assert_eq!(second.pages(), whole.pages());
    let third = insert(&mut pool, &mut tree, NONE(), &shorter);
    assert_eq!((tree.size(), pool.kept(third.pages()[0])), (2, 0));
}

#[test]
fn the_node_of_a_page_grows_with_its_text() {
    let (mut pool, mut tree) = pool_and_tree();
    let text = [1, 2, 3, 4, 5, 6, 7, 8];
    let mut table = table(&mut pool, &text);
    let pages = table.pages().to_vec();
    for len in 1..=8 {
        assert_eq!(tree.insert(&mut pool, NONE(), &mut table, &text[..len]), Ok(len));
        assert_eq!((tree.size(), table.pages()), (len.div_ceil(4), pages.as_slice()));
        assert_eq!(peek(&tree, NONE(), &text), len);
    }
    // A shorter text than before changes nothing.
    assert_eq!(tree.insert(&mut pool, NONE(), &mut table, &text[..6]), Ok(6));
    assert_eq!((tree.size(), peek(&tree, NONE(), &text)), (2, 8));
}

#[test]
fn a_whole_page_gives_way_to_a_page_with_the_same_text() {
    let (mut pool, mut tree) = pool_and_tree();
    let first = insert(&mut pool, &mut tree, NONE(), &[1, 2, 3, 4, 5]);
    let mut second = table(&mut pool, &[1, 2, 3, 4, 6, 7]);
    let own = second.pages().to_vec();
    assert_eq!(tree.insert(&mut pool, NONE(), &mut second, &[1, 2, 3, 4, 6, 7]), Ok(6));
    assert_eq!(second.pages(), [first.pages()[0], own[1]]);
    assert_eq!((pool.holders(first.pages()[0]), pool.holders(own[0]), pool.free()), (2, 0, 5));
    assert_eq!(tree.size(), 3);
}

#[test]
fn a_page_of_several_tables_does_not_give_way() {
    let (mut pool, mut tree) = pool_and_tree();
    let text = [1, 2, 3, 4, 5, 6, 7, 8];
    leave(&mut pool, &mut tree, NONE(), &text[..4]);
    let mut first = table(&mut pool, &text);
    let mut second = pool.fork(&first).unwrap();
    assert_eq!(tree.insert(&mut pool, NONE(), &mut first, &text), Ok(0));
    assert_eq!((first.pages(), tree.size()), (second.pages(), 1));
    pool.release(&mut second).unwrap();
    assert_eq!(tree.insert(&mut pool, NONE(), &mut first, &text), Ok(8));
    // Without the rule, the second table would hold the second page and not the node above it.
    assert_eq!(tree.size(), 2);
    pool.release(&mut first).unwrap();
    assert_eq!(tree.evict(&mut pool, 8), 2);
}

#[test]
fn texts_with_different_salts_share_nothing() {
    let (mut pool, mut tree) = pool_and_tree();
    let salts = crate::Salts::default();
    let (a, b) = (salts.named("a"), salts.named("b"));
    leave(&mut pool, &mut tree, a, &[1, 2, 3, 4, 5]);
    for salt in [NONE(), b, salts.private()] {
        assert_eq!(peek(&tree, salt, &[1, 2, 3, 4, 5]), 0);
    }
    leave(&mut pool, &mut tree, b, &[1, 2, 3, 4, 6]);
    assert_eq!((tree.size(), peek(&tree, a, &[1, 2, 3, 4, 6])), (4, 4));
    tree.forget(&mut pool, NONE());
    assert_eq!(tree.size(), 4);
    tree.forget(&mut pool, a);
    assert_eq!((tree.size(), pool.free()), (2, 6));
    assert_eq!((peek(&tree, a, &[1, 2]), peek(&tree, b, &[1, 2])), (0, 2));
}

#[test]
fn pages_are_evicted_from_the_end_of_the_text_that_was_used_longest_ago() {
    let (mut pool, mut tree) = pool_and_tree();
    leave(&mut pool, &mut tree, NONE(), &[1, 1, 1, 1, 2, 2]);
    leave(&mut pool, &mut tree, NONE(), &[1, 1, 1, 1, 3, 3, 3, 3]);
    leave(&mut pool, &mut tree, NONE(), &[4]);
    tree.find(NONE(), &[1, 1, 1, 1, 2, 0], usize::MAX, &mut Vec::new());
    peek(&tree, NONE(), &[1, 1, 1, 1, 3, 3, 3, 3]);
    let mut left = Vec::new();
    while tree.evict(&mut pool, 1) == 1 {
        left.push([&[1, 1, 1, 1, 3, 3][..], &[4], &[1, 1, 1, 1, 2, 2]].map(|text| peek(&tree, NONE(), text)));
    }
    assert_eq!(left, [[4, 1, 6], [4, 0, 6], [4, 0, 4], [0, 0, 0]]);
    assert_eq!((pool.free(), tree.stats().evicted), (8, 11));
}

#[test]
fn pages_are_evicted_from_the_salt_with_the_most_pages_without_holders() {
    let (mut pool, mut tree) = pool_and_tree();
    let salts = crate::Salts::default();
    let (a, b) = (salts.named("a"), salts.named("b"));
    let one_of_a = [9];
    leave(&mut pool, &mut tree, a, &one_of_a);
    leave(&mut pool, &mut tree, b, &[1]);
    leave(&mut pool, &mut tree, b, &[2]);
    leave(&mut pool, &mut tree, b, &[3]);
    // Held pages of the first salt do not count.
    let _held = insert(&mut pool, &mut tree, a, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    assert_eq!(tree.evict(&mut pool, 2), 2);
    assert_eq!([1, 2, 3].map(|id| peek(&tree, b, &[id])), [0, 0, 1]);
    assert_eq!(peek(&tree, a, &one_of_a), 1);
    // Both have one: the one that was used longest ago.
    assert_eq!(tree.evict(&mut pool, 1), 1);
    assert_eq!((peek(&tree, a, &one_of_a), peek(&tree, b, &[3])), (0, 1));
}

#[test]
fn held_pages_are_not_evicted() {
    let (mut pool, mut tree) = pool_and_tree();
    let mut table = insert(&mut pool, &mut tree, NONE(), &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    pool.shrink(&mut table, 4).unwrap();
    assert_eq!((pool.free(), pool.available(), pool.can_grow(&table, 32)), (5, 7, true));
    assert_eq!(pool.grow(&mut table, 32), Err(Error::NoPages { wanted: 7, free: 5, capacity: 8 }));
    assert_eq!(tree.evict(&mut pool, 3), 2);
    assert_eq!((pool.free(), tree.size(), peek(&tree, NONE(), &[1, 2, 3, 4, 5])), (7, 1, 4));
    pool.grow(&mut table, 32).unwrap();
}

#[test]
fn a_cleared_tree_leaves_held_pages_to_their_tables() {
    let (mut pool, mut tree) = pool_and_tree();
    let text = [1, 2, 3, 4, 5];
    let mut table = insert(&mut pool, &mut tree, NONE(), &text);
    leave(&mut pool, &mut tree, NONE(), &[2]);
    tree.clear(&mut pool);
    assert_eq!((tree.size(), pool.free(), pool.available()), (0, 6, 6));
    // The table can go back to the tree.
    assert_eq!(tree.insert(&mut pool, NONE(), &mut table, &text), Ok(5));
    assert_eq!(tree.size(), 2);
    pool.release(&mut table).unwrap();
    assert_eq!((pool.free(), pool.available()), (6, 8));
}

#[test]
fn a_page_with_another_text_in_the_tree_is_refused() {
    let (mut pool, mut tree) = pool_and_tree();
    let text = [1, 2, 3, 4, 5, 6];
    let mut table = insert(&mut pool, &mut tree, NONE(), &text);
    let other_text = |page, start, end| Err(Error::OtherText { page, start, end });
    let [first, second] = [table.pages()[0], table.pages()[1]];
    let private = crate::Salts::default().private();
    assert_eq!(tree.insert(&mut pool, private, &mut table, &text), other_text(first, 0, 4));
    assert_eq!(tree.insert(&mut pool, NONE(), &mut table, &[1, 2, 0]), other_text(first, 0, 3));
    assert_eq!(tree.insert(&mut pool, NONE(), &mut table, &[1, 2, 3, 4, 5, 0]), other_text(second, 4, 6));
    let too_long = Error::Positions { start: 0, end: 7, len: 6 };
    assert_eq!(tree.insert(&mut pool, NONE(), &mut table, &[0; 7]), Err(too_long));
    assert_eq!((tree.size(), tree.insert(&mut pool, NONE(), &mut table, &[])), (2, Ok(0)));
}

#[test]
fn a_tree_has_one_pool_and_a_pool_one_tree() {
    let (mut pool, mut tree) = pool_and_tree();
    let (mut other, mut others) = pool_and_tree();
    leave(&mut pool, &mut tree, NONE(), &[1]);
    leave(&mut other, &mut others, NONE(), &[1]);
    let mut held = table(&mut other, &[2]);
    let error = tree.insert(&mut other, NONE(), &mut held, &[2]).unwrap_err();
    assert_eq!(error.to_string(), "a prefix tree of 1 cache pages, with a pool that is not its own");
    assert_eq!(tree.evict(&mut other, 1), 0);
    tree.forget(&mut other, NONE());
    tree.clear(&mut other);
    assert_eq!((tree.size(), others.size(), other.free(), other.available()), (1, 1, 6, 7));

    assert_eq!(PrefixTree::new(&mut pool).unwrap_err(), Error::SecondTree { pages: 8 });
    drop(tree);
    let tree = PrefixTree::new(&mut pool).unwrap();
    assert_eq!((tree.size(), pool.free(), peek(&tree, NONE(), &[1])), (0, 8, 0));
    // The table of another pool, with a page that no table of this one holds.
    let (mut pool, mut tree) = pool_and_tree();
    assert_eq!(tree.insert(&mut pool, NONE(), &mut held, &[2]), Err(Error::NotHeld { page: 1 }));
}

#[test]
fn a_full_tree_has_the_memory_of_an_empty_one() {
    let (mut pool, mut tree) = pool_and_tree();
    let salts = crate::Salts::default();
    let before = tree.nodes.capacities();
    for id in 0..8 {
        leave(&mut pool, &mut tree, salts.private(), &[id]);
    }
    assert_eq!((tree.size(), tree.nodes.capacities()), (8, before));
    assert_eq!(tree.evict(&mut pool, 9), 8);
    leave(&mut pool, &mut tree, NONE(), &(0..32).collect::<Vec<_>>());
    assert_eq!((tree.size(), tree.nodes.capacities()), (8, before));
}
