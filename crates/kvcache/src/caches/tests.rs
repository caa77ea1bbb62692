use super::*;
use inkstone_tensor::RESERVE;
use inkstone_tensor::ops::Window;
use std::collections::HashMap;

fn window(size: usize, first: usize) -> Group {
    Group::Window(Window { size, first })
}

/// Random numbers: the finisher of splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % end as u64) as usize
    }
}

/// A sequence: its text, its pages, and the rows that it has computed.
struct Sequence {
    salt: Salt,
    text: Vec<u32>,
    tables: Tables,
    fed: usize,
}

/// Caches, and the row that a device would have in each place of each page: the text up to it.
struct World {
    caches: Caches,
    places: HashMap<(usize, u32, usize), (Salt, Vec<u32>)>,
}

impl World {
    fn new(groups: &[(Group, usize)], page: usize) -> World {
        World { caches: Caches::new(groups, page).unwrap(), places: HashMap::new() }
    }

    /// Begins a sequence with the rows that are there, and checks all that it sees.
    fn begin(&mut self, salt: Salt, text: &[u32]) -> (Sequence, Found) {
        let mut tables = Tables::default();
        let found = self.caches.find(salt, text, text.len() - 1, &mut tables).unwrap();
        assert!(found.floor <= found.hit && tables.len() == found.floor);
        let s = Sequence { salt, text: text.to_vec(), tables, fed: found.floor };
        self.check(&s, s.fed);
        assert_eq!(self.caches.floor(&s.tables, s.fed), s.fed);
        (s, found)
    }

    /// A row at `position` sees its own text in all groups.
    fn check(&self, s: &Sequence, position: usize) {
        let page = self.caches.page();
        for (g, group) in self.caches.groups().iter().enumerate() {
            for row in group.sees(position).ranges().into_iter().flatten() {
                let at = s.tables.of(g).pages()[row / page];
                let there = self.places.get(&(g, at, row % page));
                let wanted = (s.salt, s.text[..=row].to_vec());
                assert_eq!(there, Some(&wanted), "group {g}, row {row} of {position}");
            }
        }
    }

    /// Computes up to `rows` rows, as a scheduler does. Returns false if pages are missing.
    fn step(&mut self, s: &mut Sequence, rows: usize) -> bool {
        let to = (s.fed + rows).min(s.text.len());
        let (page, mut copies) = (self.caches.page(), Copies::new());
        self.caches.keep(&mut s.tables, s.fed).unwrap();
        match self
            .caches
            .grow(&mut s.tables, s.text.len(), to)
            .and_then(|()| self.caches.write(&mut s.tables, s.fed..to, &mut copies))
        {
            Ok(()) => {}
            Err(Error::NoPages { .. }) => {
                self.caches.shrink(&mut s.tables, s.fed).unwrap();
                return false;
            }
            Err(error) => panic!("{error}"),
        }
        for (g, copy) in copies {
            for place in 0..copy.places as usize {
                match self.places.get(&(g, copy.from, place)).cloned() {
                    Some(row) => self.places.insert((g, copy.to, place), row),
                    None => self.places.remove(&(g, copy.to, place)),
                };
            }
        }
        for row in s.fed..to {
            for g in 0..self.caches.groups().len() {
                let at = s.tables.of(g).pages()[row / page];
                self.places.insert((g, at, row % page), (s.salt, s.text[..=row].to_vec()));
            }
            self.check(s, row);
        }
        for (g, group) in self.caches.groups().iter().enumerate().skip(1) {
            let held = s.tables.of(g).pages().iter().filter(|page| **page != GONE).count();
            let most = self.caches.pages_of(g, s.text.len(), to - s.fed);
            assert!(held <= most, "{held} of {most} pages of {group:?}, {} rows", to - s.fed);
        }
        s.fed = to;
        // A page of a fork does not give way to an equal one.
        assert!(self.caches.insert(s.salt, &mut s.tables, &s.text[..to]).unwrap() <= to);
        self.check(s, to);
        true
    }

    fn run(&mut self, s: &mut Sequence, rows: usize) {
        while s.fed < s.text.len() {
            assert!(self.step(s, rows));
        }
    }

    /// All pages are free when nothing needs them.
    fn end(mut self) {
        self.caches.clear();
        assert_eq!((self.caches.checkpoints(), self.caches.tree().size()), (0, 0));
        for pool in self.caches.pools_mut() {
            assert_eq!(pool.free(), pool.capacity());
        }
    }
}

fn text(len: usize, seed: u32) -> Vec<u32> {
    (0..len as u32).map(|i| i * 7 + seed).collect()
}

#[test]
fn groups_that_are_not_allowed_are_refused() {
    let full = (Group::Full, 64);
    for groups in [&[][..], &[(window(4, 0), 64)], &[full; GROUPS + 1]] {
        assert!(matches!(Caches::new(groups, 4), Err(Error::Groups { .. })), "{groups:?}");
    }
    assert!(matches!(Caches::new(&[full, (window(4, 0), 3)], 4), Err(Error::TooSmall { .. })));
    Caches::new(&[full; GROUPS], 4).unwrap();
}

#[test]
fn pages_go_back_as_soon_as_no_row_sees_them() {
    let mut world = World::new(&[(Group::Full, 400), (window(8, 5), 200)], 4);
    let (mut s, _) = world.begin(Salt::none(), &text(300, 0));
    while s.fed < 300 {
        assert!(world.step(&mut s, 3));
        let pages = s.tables.of(1).pages();
        let there: Vec<usize> = (0..pages.len()).filter(|i| pages[*i] != GONE).collect();
        // The first 5 positions, then those from 23 before the step on.
        let before = s.fed - 3;
        let wanted = |i: &usize| *i < 2 || (i + 1) * 4 > before.saturating_sub(8 + RESERVE - 1);
        assert_eq!(there, (0..pages.len()).filter(wanted).collect::<Vec<_>>(), "{}", s.fed);
        assert_eq!(s.tables.of(0).pages().len(), 75);
    }
    world.caches.release(&mut s.tables).unwrap();
    world.end();
}

#[test]
fn a_long_text_holds_no_more_than_a_short_one() {
    let (size, first, page, end) = (512, 4, 32, 100_000);
    let mut caches = Caches::new(&[(Group::Full, end + page), (window(size, first), 2048)], page).unwrap();
    let (mut tables, mut copies) = (Tables::default(), Copies::new());
    caches.reserve(&mut tables, end).unwrap();
    let (mut fed, mut random) = (0, Random(1));
    while fed < end {
        // Prompts, then single tokens, then prompts again.
        let rows = if (40_000..60_000).contains(&fed) { 1 } else { 1 + random.below(512) };
        let to = (fed + rows).min(end);
        caches.keep(&mut tables, fed).unwrap();
        caches.grow(&mut tables, to, to).unwrap();
        caches.write(&mut tables, fed..to, &mut copies).unwrap();
        let most = (size + RESERVE + rows).div_ceil(page) + 1 + first.div_ceil(page);
        assert!(caches.held(1) <= most, "{} of {most} pages, {rows} rows at {fed}", caches.held(1));
        assert_eq!(caches.floor(&tables, to), to);
        fed = to;
    }
    assert!(copies.is_empty());
    caches.release(&mut tables).unwrap();
    assert_eq!((caches.held(0), caches.held(1)), (0, 0));
}

#[test]
fn a_text_goes_on_from_its_checkpoints_and_in_their_reserve() {
    let mut world = World::new(&[(Group::Full, 400), (window(10, 3), 200)], 4);
    let all = text(200, 0);
    let (mut s, _) = world.begin(Salt::none(), &all);
    while s.fed < 200 {
        assert!(world.step(&mut s, 10));
        if [60, 130].contains(&s.fed) {
            assert!(world.caches.checkpoint(&mut s.tables, s.fed));
        }
    }
    // Rows that are gone can't be kept.
    assert!(!world.caches.checkpoint(&mut s.tables, 100));
    world.caches.release(&mut s.tables).unwrap();
    assert_eq!(world.caches.checkpoints(), 2);
    for len in 1..=200 {
        let (mut s, found) = world.begin(Salt::none(), &[&all[..len], &[9]].concat());
        assert_eq!(found.hit, len);
        // Rows from 35 and from 105 on are kept, in pages from 32 and from 104 on, and the first page.
        let floor = match len {
            0..41 => len.min(4),
            41..61 => len,
            61..113 => 60,
            113..131 => len,
            _ => 130,
        };
        assert_eq!(found.floor, floor, "{len}");
        world.caches.release(&mut s.tables).unwrap();
    }
    world.end();
}

#[test]
fn the_least_recently_used_checkpoint_of_the_salt_with_most_goes_first_and_as_a_whole() {
    // Room for the window of one sequence and three to four checkpoints.
    let mut world = World::new(&[(Group::Full, 4000), (window(8, 0), 120)], 4);
    let salts = crate::Salts::default();
    let (a, b) = (salts.named("a"), salts.named("b"));
    let leave = |world: &mut World, salt, seed| {
        let text = text(40, seed);
        let (mut s, _) = world.begin(salt, &text);
        world.run(&mut s, 8);
        assert!(world.caches.checkpoint(&mut s.tables, 40));
        world.caches.release(&mut s.tables).unwrap();
    };
    let floor = |world: &mut World, salt, seed| {
        let (mut s, found) = world.begin(salt, &[text(40, seed), vec![1]].concat());
        world.caches.release(&mut s.tables).unwrap();
        found.floor
    };
    leave(&mut world, b, 1);
    leave(&mut world, a, 1);
    leave(&mut world, a, 2);
    leave(&mut world, a, 3);
    assert_eq!(floor(&mut world, a, 1), 40);
    leave(&mut world, a, 4);
    let floors = [1, 2, 3, 4].map(|seed| floor(&mut world, a, seed));
    assert_eq!((floor(&mut world, b, 1), floors), (40, [40, 0, 40, 40]));
    world.caches.forget(a);
    assert_eq!((world.caches.checkpoints(), floor(&mut world, b, 1)), (1, 40));
    world.end();
}

#[test]
fn texts_that_share_rows_keep_them_once() {
    let mut world = World::new(&[(Group::Full, 400), (window(8, 4), 200)], 4);
    let begin = text(40, 0);
    let free = |world: &World| world.caches.pool(1).free();
    let before = free(&world);
    for seed in 0..5 {
        let (mut s, _) = world.begin(Salt::none(), &[&begin[..], &text(1, 1000 + seed)].concat());
        world.run(&mut s, 7);
        assert!(world.caches.checkpoint(&mut s.tables, 40));
        world.caches.release(&mut s.tables).unwrap();
        assert_eq!((world.caches.checkpoints(), before - free(&world)), (1, 1 + 6));
    }
    // A leaf of group 0 takes its checkpoint along.
    assert_eq!(world.caches.evict(0, 400), 15);
    assert_eq!((world.caches.checkpoints(), free(&world)), (0, before));
    world.end();
}

#[test]
fn a_text_that_parts_from_several_within_a_page_finds_the_rows_that_are_there() {
    let mut world = World::new(&[(Group::Full, 800), (window(8, 0), 400)], 4);
    let prompt = |seed| [text(30, 0), text(40, seed)].concat();
    let (mut first, _) = world.begin(Salt::none(), &prompt(1000));
    world.run(&mut first, 10);
    assert!(world.caches.checkpoint(&mut first.tables, 70));
    world.caches.release(&mut first.tables).unwrap();
    // The second one computes all rows, and keeps those below the place where it parts. Its step ends behind it.
    let (mut second, found) = world.begin(Salt::none(), &prompt(2000));
    assert_eq!((found.hit, found.floor), (30, 0));
    while second.fed < 33 {
        assert!(world.step(&mut second, 11));
    }
    assert!(world.caches.checkpoint(&mut second.tables, 30));
    world.caches.release(&mut second.tables).unwrap();
    // Texts before, between and behind the two in the order of the tree.
    for seed in [500, 1500, 2500] {
        let (mut third, found) = world.begin(Salt::none(), &prompt(seed));
        assert_eq!((found.hit, found.floor), (30, 30), "{seed}");
        world.caches.release(&mut third.tables).unwrap();
    }
    world.end();
}

/// Sequences that begin, go on, fork, stop and compete for pages, with rows that are checked at every step.
#[test]
fn rows_are_always_those_of_the_text() {
    for (page, windows) in
        [(4, &[window(6, 0)][..]), (2, &[window(9, 3), window(3, 0)]), (8, &[window(1, 0), window(20, 9)])]
    {
        for seed in 0..12 {
            let mut random = Random(seed * 1000 + page as u64);
            let salts = crate::Salts::default();
            let salts = [Salt::none(), salts.named("other")];
            let room = |tokens: usize| tokens.next_multiple_of(page);
            let groups = windows.iter().map(|group| (*group, room(3 * (20 + 9 + RESERVE + 16 + page))));
            let groups: Vec<_> = [(Group::Full, room(420))].into_iter().chain(groups).collect();
            let mut world = World::new(&groups, page);
            let mut running: Vec<Sequence> = Vec::new();
            let (mut texts, mut places): (Vec<Vec<u32>>, Vec<usize>) = (vec![text(50, 0)], vec![7]);
            for _ in 0..600 {
                match random.below(12) {
                    0 | 1 if running.len() < 3 => {
                        // A text that parts from an earlier one somewhere.
                        let old = &texts[random.below(texts.len())];
                        // Often where a checkpoint is.
                        let parts = match random.below(2) {
                            0 => random.below(old.len()),
                            _ => places[random.below(places.len())].min(old.len()),
                        };
                        let more = 1 + random.below(40);
                        let new = [&old[..parts], &text(more, 10_000 + random.below(3) as u32)].concat();
                        texts.push(new.clone());
                        let (s, _) = world.begin(salts[random.below(2)], &new[..new.len().min(90)]);
                        running.push(s);
                    }
                    2 if !running.is_empty() => {
                        let mut s = running.swap_remove(random.below(running.len()));
                        world.caches.release(&mut s.tables).unwrap();
                    }
                    3 if !running.is_empty() && running.len() < 3 => {
                        let s = &running[random.below(running.len())];
                        let tables = world.caches.fork(&s.tables).unwrap();
                        let text = [&s.text[..s.fed], &text(9, 20_000 + random.below(3) as u32)].concat();
                        let mut fork = Sequence { salt: s.salt, fed: s.fed, text, tables };
                        world.caches.shrink(&mut fork.tables, fork.fed).unwrap();
                        running.push(fork);
                    }
                    4 | 10 | 11 if !running.is_empty() => {
                        let at = random.below(running.len());
                        let s = &mut running[at];
                        if world.caches.checkpoint(&mut s.tables, s.fed) {
                            places.push(s.fed);
                        }
                    }
                    5 => {
                        world.caches.evict(random.below(groups.len()), 1 + random.below(3));
                    }
                    6 if random.below(10) == 0 => world.caches.forget(salts[random.below(2)]),
                    _ if !running.is_empty() => {
                        let at = random.below(running.len());
                        if running[at].fed < running[at].text.len()
                            && !world.step(&mut running[at], 1 + random.below(16))
                        {
                            let mut s = running.swap_remove(at);
                            world.caches.release(&mut s.tables).unwrap();
                        }
                    }
                    _ => {}
                }
            }
            for mut s in running {
                world.caches.release(&mut s.tables).unwrap();
            }
            world.end();
        }
    }
}
