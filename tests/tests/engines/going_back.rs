//! A text goes back to an earlier length and on with other tokens: it has the bits of a cold run, and as many tokens are found as
//! plain lists of nodes and of the rows that they keep say.

use crate::shared_pages::{bits, draws};
use inkstone::arch::{KvFormats, ModelGraph};
use inkstone::generate::Generator;
use inkstone::gguf::{Gguf, OpenOptions};
use inkstone::tensor::ops::Window;
use inkstone::tensor::{Group, Visible};
use inkstone::{ModelOptions, Options, Session};
use inkstone_tests::{Subject, ahead_by, is_full, on_engines, tries_few};
use std::collections::HashSet;
use std::sync::Arc;

/// The tokens of a text from which others part.
const PROMPT: usize = 120;
const PAGE: usize = 16;
/// Lengths to which texts go back in one cache.
const LENGTHS: usize = 16;

/// A model with the windows of its layers.
struct Case {
    name: &'static str,
    arch: &'static str,
    kv_window: Option<Window>,
    /// The windows of layers, in place of those of the file.
    windows: &'static [Option<usize>],
}

/// Two windows, and a layer that sees everything.
const MADE_UP: [Option<usize>; 8] = [Some(32), Some(20), None, Some(20), Some(32), Some(32), None, Some(20)];

#[rustfmt::skip]
const CASES: [Case; 4] = [
    Case { name: "llama", arch: "llama", kv_window: None, windows: &[] },
    Case { name: "llama with a window", arch: "llama", kv_window: Some(Window { size: 40, first: 4 }), windows: &[] },
    Case { name: "gemma3", arch: "gemma3", kv_window: None, windows: &[] },
    Case { name: "two windows", arch: "gemma3-8l", kv_window: None, windows: &MADE_UP },
];

impl Case {
    fn open(&self, engine: &str, options: &ModelOptions) -> Generator {
        let mut options = options.clone();
        options.kv_window = self.kv_window;
        let subject = Subject::arch(self.arch);
        let model = subject.open(engine, "f16", &options);
        if self.windows.is_empty() {
            return model.generator().clone();
        }
        let file = Arc::new(Gguf::open(&subject.file, &OpenOptions::default()).unwrap());
        let windows = |config: &mut inkstone::arch::Config| config.windows = self.windows.to_vec();
        let graph = ModelGraph::open_with(file, KvFormats::default(), windows).unwrap();
        let (tokenizer, config) = (model.tokenizer().clone(), model.config().clone());
        Generator::new(Arc::new(graph), tokenizer, model.engine().clone(), config, Options::default()).unwrap()
    }

    /// A model that keeps all checkpoints of some texts, and the same model with nothing in its cache.
    fn rig(&self, engine: &str) -> Rig {
        let options = ModelOptions::default().ctx(160).kv_page(PAGE).threads(1);
        let generator = self.open(engine, &options.clone().sequences(16).ctx_checkpoints(100));
        let cold = if engine.starts_with("ahead") { "cpu" } else { engine };
        let cold = self.open(cold, &options.sequences(1).prefix(false));
        let groups = generator.graph().config.groups();
        Rig { name: self.name, generator, cold, kept: Kept { groups, nodes: Vec::new(), requests: 0 } }
    }
}

/// A page of the tree: a text up to the end of the page or less, and how many of its rows are kept in each layer group.
struct Node {
    text: Vec<u32>,
    places: Vec<usize>,
    /// The request that made it, or made it longer.
    of: usize,
}

/// The nodes of the tree with the rows that are kept.
struct Kept {
    groups: Vec<Group>,
    nodes: Vec<Node>,
    requests: usize,
}

/// The part of a text that is there: its nodes with the places that are its own, the tokens, and after how many of them a row
/// sees only rows that are there.
struct Hit {
    path: Vec<(usize, usize)>,
    tokens: usize,
    floor: usize,
}

impl Kept {
    /// The node of a page that has most tokens in common with a text; of several one with most rows in all groups.
    fn longest(&self, text: &[u32], page: usize) -> Option<(usize, usize)> {
        let start = page * PAGE;
        let common = |node: &Node| node.text.iter().zip(text).take_while(|(a, b)| a == b).count().saturating_sub(start);
        let of_page = self.nodes.iter().enumerate().filter(|(_, node)| (node.text.len() - 1) / PAGE == page);
        let rank =
            |(at, common): &(usize, usize)| (*common, self.nodes[*at].places.iter().fold(*common, |a, b| a.min(*b)));
        let found = of_page.map(|(at, node)| (at, common(node))).filter(|(_, common)| *common > 0);
        found.max_by_key(rank)
    }

    fn find(&self, text: &[u32], most: usize) -> Hit {
        let mut path = Vec::new();
        while path.iter().all(|(_, places)| *places == PAGE)
            && let Some(next) = self.longest(&text[..most], path.len())
        {
            path.push(next);
        }
        let tokens = path.iter().map(|(_, places)| places).sum();
        let kept = |group: usize, row: usize| {
            let (node, common) = path[row / PAGE];
            row % PAGE < common.min(self.nodes[node].places[group])
        };
        let fits = |len: &usize| {
            let mut seen = self.groups.iter().map(|group| rows(group.sees(*len), *len)).enumerate();
            seen.all(|(group, rows)| rows.iter().all(|row| kept(group, *row)))
        };
        let floor = (0..=tokens).rev().find(fits).unwrap_or(0);
        Hit { path, tokens, floor }
    }

    /// The rows of a sequence that began at the floor of a text, by group.
    fn began(&self, hit: &Hit, len: usize) -> HashSet<(usize, usize)> {
        let mut there = HashSet::new();
        for (group, kind) in self.groups.iter().enumerate() {
            let whole = |row: &usize| {
                let (page, (node, _)) = (row / PAGE, hit.path[row / PAGE]);
                self.nodes[node].places[group] >= PAGE.min(hit.floor - page * PAGE)
            };
            there.extend(by_page(*kind, hit.floor).filter(whole).chain(hit.floor..len).map(|row| (group, row)));
        }
        there
    }

    /// Makes nodes of a text. Returns those of its pages, where the page of the sequence is the node.
    fn insert(&mut self, text: &[u32]) -> Vec<Option<usize>> {
        let (of, groups) = (self.requests, self.groups.len());
        let node = |page: usize| {
            let text = &text[..text.len().min((page + 1) * PAGE)];
            let of_page = |node: &Node| (node.text.len() - 1) / PAGE == page;
            if let Some(at) = self.nodes.iter().position(|node| of_page(node) && node.text.starts_with(text)) {
                return (text.len().is_multiple_of(PAGE) || self.nodes[at].of == of).then_some(at);
            }
            let at = self.nodes.iter().position(|node| of_page(node) && text.starts_with(&node.text));
            let at = at.unwrap_or_else(|| {
                self.nodes.push(Node { text: Vec::new(), places: vec![0; groups], of });
                self.nodes.len() - 1
            });
            let node = &mut self.nodes[at];
            (node.text, node.places[0], node.of) = (text.to_vec(), text.len() - page * PAGE, of);
            Some(at)
        };
        (0..text.len().div_ceil(PAGE)).map(node).collect()
    }

    /// A checkpoint of `len` tokens keeps rows on the nodes of a sequence, as far as the sequence has them.
    fn keep(&mut self, path: &[Option<usize>], len: usize, there: &HashSet<(usize, usize)>) {
        let path: Option<Vec<usize>> = path[..len.div_ceil(PAGE)].iter().copied().collect();
        let Some(path) = path else { return };
        for (group, kind) in self.groups.iter().enumerate().skip(1) {
            for row in by_page(*kind, len).filter(|row| there.contains(&(group, *row))) {
                let places = &mut self.nodes[path[row / PAGE]].places[group];
                *places = (*places).max(row % PAGE + 1);
            }
        }
    }
}

/// The positions before `len`.
fn rows(visible: Visible, len: usize) -> Vec<usize> {
    visible.ranges().into_iter().flat_map(|range| range.start..range.end.min(len)).collect()
}

/// The rows of the pages with rows that a sequence of `len` tokens keeps.
fn by_page(group: Group, len: usize) -> impl Iterator<Item = usize> {
    let pages: HashSet<usize> = rows(group.keeps(len), len).into_iter().map(|row| row / PAGE).collect();
    (0..len).filter(move |row| pages.contains(&(row / PAGE)))
}

struct Rig {
    name: &'static str,
    generator: Generator,
    cold: Generator,
    kept: Kept,
}

impl Rig {
    /// Lets a session generate, and checks the reply and the number of tokens that were found.
    #[track_caller]
    fn ask(&mut self, session: &mut Session, options: &Options) {
        let prompt = session.ids().to_vec();
        let hit = self.kept.find(&prompt, prompt.len() - 1);
        let reply = session.generate(options);
        let reply =
            reply.unwrap_or_else(|e| panic!("{}: {} tokens, {} found: {e}", self.name, prompt.len(), hit.floor));
        let (name, cached) = (self.name, reply.usage.cached_tokens as usize);
        assert_eq!(cached, hit.floor, "{name}: found of {} tokens, {} of them there", prompt.len(), hit.tokens);
        let wanted = self.cold.generate_ids(&prompt, options).unwrap();
        assert_eq!(bits(&reply), bits(&wanted), "{name}: {} tokens, {cached} found", prompt.len());
        // The token drawn last was never fed.
        let text = &session.ids()[..session.ids().len() - 1];
        let there = self.kept.began(&hit, text.len());
        self.kept.requests += 1;
        let path = self.kept.insert(&prompt);
        let parts = (hit.floor < hit.tokens).then_some(hit.tokens);
        parts.into_iter().chain([prompt.len()]).for_each(|len| self.kept.keep(&path, len, &there));
        let path = self.kept.insert(text);
        self.kept.keep(&path, text.len(), &there);
    }

    /// A session with a long prompt and a reply.
    fn begin(&mut self, ids: &[u32]) -> Session {
        let mut session = self.generator.session();
        session.append_ids(ids).unwrap();
        self.ask(&mut session, &draws(1, 6));
        session
    }

    /// A copy of a session goes back to `len` tokens, and on with others.
    #[track_caller]
    fn go_back(&mut self, session: &Session, len: usize) {
        let mut fork = session.fork();
        fork.truncate(len);
        // Another token than the one that was there.
        let other = 3 + (session.ids().get(len).copied().unwrap_or(0) + 1) % 60;
        fork.append_ids(&[other, 7, 8]).unwrap();
        self.ask(&mut fork, &draws(len as u64, 3));
    }

    /// The lengths at which the number of tokens that are found jumps, with their neighbours.
    fn borders(&self, session: &Session) -> Vec<usize> {
        let text = &session.ids()[..session.ids().len() - 1];
        let floors: Vec<usize> = (0..=text.len()).map(|len| self.kept.find(text, len).floor).collect();
        let jumps =
            (1..text.len()).filter(|len| floors[*len] != floors[len - 1] + 1 || floors[len + 1] != floors[*len] + 1);
        let near = jumps.flat_map(|len| [len - 1, len, len + 1]).chain([1, text.len()]);
        near.filter(|len| *len > 0 && *len <= text.len()).collect()
    }
}

fn text(case: &Case, len: usize) -> Vec<u32> {
    let ids = Subject::arch(case.arch).ids;
    (0..len).map(|i| ids[(i + i / ids.len()) % ids.len()]).collect()
}

/// Numbers in a random order: the finisher of splitmix64 sorts them.
fn shuffled(numbers: impl IntoIterator<Item = usize>, seed: u64) -> Vec<usize> {
    let key = |number: &usize| {
        let x = (*number as u64 + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^ (x >> 27)
    };
    let mut numbers: Vec<usize> = numbers.into_iter().collect();
    numbers.sort_unstable_by_key(key);
    numbers.dedup();
    numbers
}

/// The engine; in place of `ahead` engines with one to four steps under way.
fn variants(engine: &str) -> Vec<String> {
    if engine == "ahead" { (1..=4).map(ahead_by).collect() } else { vec![engine.to_owned()] }
}

fn texts_go_back_to_all_lengths_near_a_border_and_to_random_ones(engine: &str) {
    for (case, engine) in CASES.iter().flat_map(|case| variants(engine).into_iter().map(move |engine| (case, engine))) {
        let mut rig = case.rig(&engine);
        let mut session = rig.begin(&text(case, PROMPT));
        let random = shuffled(1..session.ids().len(), 1);
        let count = if is_full() { random.len() } else { 8 };
        let mut lengths = shuffled(rig.borders(&session).into_iter().chain(random.into_iter().take(count)), 2);
        if tries_few(&engine) {
            lengths.truncate(LENGTHS);
        }
        for (i, lengths) in lengths.chunks(LENGTHS).enumerate() {
            // Each set of lengths in a cache of its own, which is large enough to keep all texts.
            if i > 0 {
                rig = case.rig(&engine);
                session = rig.begin(&text(case, PROMPT));
            }
            lengths.iter().for_each(|len| rig.go_back(&session, *len));
        }
    }
}

fn forks_at_every_place_of_a_page_go_on_both(engine: &str) {
    for case in &CASES {
        let engine = variants(engine).pop().unwrap();
        let mut rig = case.rig(&engine);
        let ids = text(case, PROMPT);
        for len in 64..64 + PAGE {
            let mut session = rig.generator.session();
            session.append_ids(&ids[..len]).unwrap();
            rig.ask(&mut session, &draws(2, 1));
            let mut fork = session.fork();
            rig.ask(&mut session, &draws(3, 4));
            fork.append_ids(&[9]).unwrap();
            rig.ask(&mut fork, &draws(3, 4));
        }
    }
}

fn sessions_saved_within_a_window_go_on_and_back(engine: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.session");
    for case in &CASES {
        let engine = variants(engine).pop().unwrap();
        // Within the first window, at the border of a page, and in later windows.
        for len in [10, 32, 57, PROMPT] {
            let mut rig = case.rig(&engine);
            let mut saved = rig.begin(&text(case, len));
            saved.save(&file, b"").unwrap();
            let ids = saved.ids().to_vec();
            // The file has what a checkpoint at the end of the text keeps.
            let hit = rig.kept.find(&ids, ids.len());
            let there = rig.kept.began(&hit, hit.floor);
            rig = case.rig(&engine);
            let path = rig.kept.insert(&ids[..hit.floor]);
            rig.kept.keep(&path, hit.floor, &there);
            (saved, _) = rig.generator.restore(&file).unwrap();
            assert_eq!(saved.ids(), ids);
            let lengths = shuffled(rig.borders(&saved).into_iter().chain([1, len / 2, len - 1]), 3);
            lengths.into_iter().take(12).for_each(|len| rig.go_back(&saved, len));
            rig.ask(&mut saved, &draws(4, 5));
        }
    }
}

on_engines! { ahead:
    texts_go_back_to_all_lengths_near_a_border_and_to_random_ones
    forks_at_every_place_of_a_page_go_on_both
    sessions_saved_within_a_window_go_on_and_back
}
