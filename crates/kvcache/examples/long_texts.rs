//! The time that the prefix tree takes for long texts: `cargo run --release -p inkstone-kvcache --example long_texts`.
//!
//! An insertion compares the whole text with its nodes, once per page that a sequence fills, and an eviction scans all
//! nodes. Both must be short compared with the steps of a model.

use inkstone_kvcache::{Error, PageTable, Pool, PrefixTree, Salt};
use std::time::{Duration, Instant};

const PAGE: usize = 32;

fn main() -> Result<(), Error> {
    println!(
        "tokens   find, us   insert a page, us   prompt in steps of 64, ms   text by pages, ms   evict a page, us"
    );
    for tokens in [1_000, 10_000, 100_000] {
        let times = Times::of(tokens)?;
        let [find, insert, evict] = [times.find, times.insert, times.evict].map(|time| time.as_secs_f64() * 1e6);
        let [prompt, text] = [times.prompt, times.text].map(|time| time.as_secs_f64() * 1e3);
        println!("{tokens:6}   {find:8.1}   {insert:17.1}   {prompt:25.2}   {text:17.2}   {evict:16.1}");
    }
    Ok(())
}

/// The times of calls with a text of this length, in a tree with as many other pages.
struct Times {
    find: Duration,
    /// The last page of the text.
    insert: Duration,
    /// All insertions of a prompt that is computed in steps of 64 tokens.
    prompt: Duration,
    /// All insertions of a text that fills its pages one by one.
    text: Duration,
    evict: Duration,
}

impl Times {
    fn of(tokens: usize) -> Result<Times, Error> {
        let mut pool = Pool::new(2 * tokens.next_multiple_of(PAGE), PAGE)?;
        let mut tree = PrefixTree::new(&mut pool)?;
        let other: Vec<u32> = random(1).take(tokens).collect();
        let text: Vec<u32> = random(2).take(tokens).collect();
        insert(&mut pool, &mut tree, &other, PAGE)?;
        let (prompt, _) = insert(&mut pool, &mut tree, &text, 64)?;
        tree.clear(&mut pool);
        insert(&mut pool, &mut tree, &other, PAGE)?;
        let (by_pages, last) = insert(&mut pool, &mut tree, &text, PAGE)?;
        let mut pages = Vec::with_capacity(tokens.div_ceil(PAGE));
        let start = Instant::now();
        let hit = tree.find(Salt::none(), &text, text.len() - 1, &mut pages);
        let find = start.elapsed();
        assert_eq!(hit.tokens, tokens - 1);
        let start = Instant::now();
        tree.evict(&mut pool, 1);
        Ok(Times { find, insert: last, prompt, text: by_pages, evict: start.elapsed() })
    }
}

/// Inserts a text in parts, and returns the times of all insertions and of the last one.
fn insert(pool: &mut Pool, tree: &mut PrefixTree, text: &[u32], part: usize) -> Result<(Duration, Duration), Error> {
    let mut table = PageTable::default();
    pool.grow(&mut table, text.len())?;
    let (mut all, mut last) = (Duration::ZERO, Duration::ZERO);
    let mut end = 0;
    while end < text.len() {
        end = (end + part).min(text.len());
        let start = Instant::now();
        tree.insert(pool, Salt::none(), &mut table, &text[..end])?;
        last = start.elapsed();
        all += last;
    }
    pool.release(&mut table)?;
    Ok((all, last))
}

/// Token ids of a vocabulary of 128,000.
fn random(seed: u64) -> impl Iterator<Item = u32> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % 128_000
    })
}
