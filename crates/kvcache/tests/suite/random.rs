//! Many random calls.

use crate::world::{Seen, Setup, World};
use std::thread;

const STEPS: usize = 100_000;
const SEQUENCES: usize = 5;

/// Prints where a run was when it failed.
struct Place(Setup, usize, &'static str);

impl Drop for Place {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{:?}, step {}: {}", self.0, self.1, self.2);
        }
    }
}

/// A random call.
fn step(world: &mut World) -> &'static str {
    let page = world.setup.page;
    let kind = world.rng.below(100);
    if world.sequences.is_empty() || kind < 12 && world.sequences.len() < SEQUENCES {
        world.start();
        return "start";
    }
    let index = world.rng.below(world.sequences.len());
    let (written, len) = (world.sequences[index].text.len(), world.sequences[index].table.len());
    match kind {
        0..20 => {
            let tokens = len + world.rng.below(2 * page);
            world.grow(index, tokens);
            "grow"
        }
        20..42 => {
            if written == len {
                let tokens = len + 1 + world.rng.below(page);
                world.evict(2);
                world.grow(index, tokens);
            }
            // At times one token more than the table covers.
            let len = world.sequences[index].table.len();
            let tokens = (len - written + usize::from(world.rng.once_in(20))).min(world.rng.below(2 * page) + 1);
            world.write(index, written, tokens);
            "write"
        }
        42..47 => {
            let start = world.rng.below(written + 1);
            if !world.setup.rewrites {
                world.shrink(index, start);
                world.grow(index, len);
            }
            let room = world.sequences[index].table.len().saturating_sub(start);
            let tokens = world.rng.below(room + 1);
            world.write(index, start, tokens);
            "rewrite"
        }
        47..67 => {
            let tokens = if world.rng.once_in(3) { world.rng.below(written + 1) } else { written };
            world.insert(index, tokens);
            "insert"
        }
        67..73 if world.sequences.len() < SEQUENCES => {
            world.fork(index);
            "fork"
        }
        73..76 if world.sequences.len() < SEQUENCES => {
            world.adopt(index);
            "adopt"
        }
        76..79 => {
            let tokens = world.rng.below(len + 2);
            world.shrink(index, tokens);
            "shrink"
        }
        79..87 => {
            world.release(index);
            "release"
        }
        87..92 => {
            let (salt, text) = (world.salt(), world.text());
            let most = world.rng.below(text.len() + 2);
            world.find(salt, &text, most);
            "find"
        }
        92..99 => {
            let wanted = world.rng.below(4);
            world.evict(wanted);
            "evict"
        }
        99 => {
            if world.rng.once_in(4) {
                world.clear();
            } else {
                let salt = world.salt();
                world.forget(salt);
            }
            "forget"
        }
        _ => "nothing",
    }
}

fn run(setup: Setup) -> Seen {
    let mut world = World::new(setup);
    let mut place = Place(setup, 0, "");
    for number in 0..STEPS {
        place.1 = number;
        place.2 = "a call of the step after this one";
        place.2 = step(&mut world);
        world.check();
    }
    while !world.sequences.is_empty() {
        world.release(0);
    }
    world.evict(usize::MAX);
    world.check();
    assert_eq!(world.pool.free(), setup.pages, "every page is free in the end");
    world.seen
}

/// Runs with several seeds; every rare case must have occurred often.
fn runs(setup: Setup, rare: impl Fn(&Seen) -> Vec<usize>) {
    for seed in 1..=2 {
        let seen = run(Setup { seed, ..setup });
        assert!(rare(&seen).into_iter().all(|count| count > 100), "too rare: {seen:?}");
    }
}

const SETUP: Setup = Setup { seed: 0, pages: 12, page: 4, alphabet: 2, salts: 3, rewrites: false };

/// The cases that every run with several tokens per page has.
fn usual(s: &Seen) -> Vec<usize> {
    vec![s.copies, s.replaced, s.refused, s.partial_hits, s.gave_way, s.stopped, s.continued, s.evicted]
}

#[test]
fn sequences_that_share_pages_keep_their_texts() {
    runs(SETUP, usual);
}

#[test]
fn sequences_may_write_into_their_texts() {
    let with_stuck = |s: &Seen| usual(s).into_iter().chain([s.stuck]).collect();
    runs(Setup { rewrites: true, ..SETUP }, with_stuck);
}

#[test]
fn pages_of_one_token_have_no_partial_nodes() {
    let setup = Setup { pages: 9, page: 1, ..SETUP };
    runs(setup, |s| vec![s.replaced, s.refused, s.gave_way, s.evicted]);
}

#[test]
fn many_salts_and_many_token_ids() {
    runs(Setup { pages: 16, page: 2, alphabet: 3, salts: 6, ..SETUP }, usual);
}

#[test]
fn large_pages_in_a_small_pool() {
    runs(Setup { pages: 8, page: 8, salts: 1, ..SETUP }, usual);
}
