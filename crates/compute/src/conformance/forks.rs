//! Forks: a sequence begins as a part of another one. Both share the pages up to where they part, and the page in which
//! they part is copied, so that each of them goes on in a page of its own. They must read the same values as if
//! no sequence shared a page, and all places that no copy names must stay unchanged.

use super::histories::penalties;
use super::host::settle_records;
use super::plan::PlanBuilder;
use super::rig::{Definition, MadeWeights, Rig};
use super::scenes::{Composer, moved};
use super::values::{Random, difference};
use super::{CaseResult, Outcome, Stop, bucket, rounding};
use crate::engine::Engine;
use crate::plan::{Plan, Port, Region};
use inkstone_tensor::cache::RUN;
use inkstone_tensor::ops::{
    Accept, Advance, Attend, BeginStep, By, Columns, Embed, HISTORY, HistoryWrite, KvCopy, KvWrite, Sample,
};
use inkstone_tensor::step::{
    COPIES, GROUPS, LAST, LogitWish, NONE, PageCopy, RECORDS, SEQS, Sampler, SeqStep, StepBuffer, StepView, carry,
};
use inkstone_tensor::{Array, DType, Dim, Sizes, Slots, Type};
use std::sync::Arc;

/// Caches and their pages.
pub(super) struct Scene {
    pub(super) name: &'static str,
    keys: DType,
    values: DType,
    /// Values of a head.
    dim: usize,
    /// Tokens per page.
    page: usize,
}

#[rustfmt::skip]
pub(super) const SCENES: &[Scene] = &[
    Scene { name: "forks in two layer groups, pages of 16",           keys: DType::F32,  values: DType::F16,  dim: 8,  page: 16 },
    Scene { name: "forks in two layer groups, pages of 32, 8 bits",   keys: DType::Q8_0, values: DType::Q8_0, dim: 32, page: 32 },
    Scene { name: "forks in two layer groups, heads that share rows", keys: DType::Q8_0, values: DType::Q8_0, dim: 16, page: 32 },
    Scene { name: "forks in two layer groups, pages between runs",    keys: DType::F16,  values: DType::F32,  dim: 5,  page: 24 },
];

/// Sequences at the end of a scene.
const SEQUENCES: usize = 4;
/// Layer groups of a scene.
const USED: usize = 2;
const HEADS: usize = 2;
/// Most rows that a sequence adds to a step.
const CHUNK: usize = 4;
const VOCABULARY: usize = 40;
const LOGITS: Type = Type::f32(Dim::LogitRows, VOCABULARY);
/// The first state of a scene.
const CARRY: Region = Region::State(0);

pub(super) fn run(engine: &dyn Engine, scene: &Scene) -> CaseResult {
    let seed = Random::seed(scene.name);
    let mut kernels = Vec::new();
    let mut host = 0;
    let played = play(engine, scene, Random::new(seed), &mut kernels, &mut host);
    let outcome = played.err().map_or(Outcome::Passed, Stop::outcome);
    CaseResult { case: scene.name.to_owned(), kernels: kernels.join(", "), seed, host, outcome }
}

impl Scene {
    /// Pages of a layer group: two whole runs and a part of one, so that copies go from run to run.
    fn pages(&self, group: usize) -> usize {
        2 * RUN / self.page + 3 + group
    }

    fn slots(&self) -> Slots {
        Slots::new(std::array::from_fn(|group| if group < USED { self.pages(group) * self.page } else { 0 }))
    }

    /// The pages of a group in the order in which sequences get them. `first` pages are followed by the pages in which the
    /// first and the second run end, or behind them: the first copy goes from one to the other.
    fn order(&self, group: usize, first: usize, random: &mut Random) -> Vec<u32> {
        let borders = [RUN / self.page, 2 * RUN / self.page].map(|page| page as u32);
        let mut order = random.permutation(self.pages(group));
        order.retain(|page| !borders.contains(page));
        order.splice(first..first, borders);
        order
    }
}

/// A plan with its states: first the carry, then paged states.
struct Composition {
    plan: Arc<Plan>,
    weights: MadeWeights,
    definition: Definition,
    /// Tolerances of states and of other results.
    tolerance: (f64, f64),
}

/// Copies, then rows: two layers, one in each group, and draws by the history.
fn compose(mut c: Composer, s: &Scene, random: &mut Random) -> Result<Composition, Stop> {
    let (bucket, width) = (c.bucket, HEADS * s.dim);
    let carry = c.state("carry", carry::CARRY, first_carry(random)?);
    let history = (0..HISTORY.rows.at(&bucket)).map(|_| random.below(VOCABULARY) as u32).collect();
    let history = c.state("history", HISTORY, Array::from_u32(1, history));
    let mut caches = Vec::new();
    for (group, name) in [(0, "keys"), (0, "values"), (1, "other keys"), (1, "other values")] {
        let dtype = if caches.len() % 2 == 0 { s.keys } else { s.values };
        let ty = Type::cache(group, dtype, HEADS, s.dim);
        caches.push(c.state(name, ty, random.array(&ty, &bucket)));
    }
    let table = c.weight("table", Embed { by: By::Token }, VOCABULARY, 2 * width, random)?;
    let attended = [Port::HIDDEN, Port::HIDDEN.of_model(1)].map(|p| c.plan.port(p, Type::f32(Dim::Rows, width)));
    let (logits, records) = (c.plan.port(Port::LOGITS, LOGITS), c.plan.port(Port::RECORDS, RECORDS));

    for state in caches.iter().chain([&history]) {
        c.step(KvCopy, &[*state], &[])?;
    }
    let rows = c.step(BeginStep, &[carry], &[])?;
    let x = c.step(Embed { by: By::Token }, &[rows, table], &[])?;
    let [k, v] = [0, width].map(|first| c.step(Columns { first, count: width }, &[x], &[]));
    let (k, v) = (k?, v?);
    for (i, cache) in caches.iter().enumerate() {
        c.step(KvWrite, &[*cache, if i % 2 == 0 { k } else { v }, rows], &[])?;
    }
    c.step(HistoryWrite, &[history, rows], &[])?;
    let rounded = [s.keys, s.values].map(rounding).into_iter().fold(c.tolerance, f64::max);
    let states = if c.tolerance > 0.0 { rounded } else { 0.0 };
    let attend = Attend { heads: HEADS, kv_heads: HEADS, scale: 1.0 / (s.dim as f64).sqrt(), window: None };
    for (cache, into) in caches.chunks_exact(2).zip(attended) {
        c.step(attend, &[k, cache[0], cache[1], rows], &[into])?;
    }
    c.step(Sample, &[logits, rows, history], &[records])?;
    c.step(Advance, &[carry, rows], &[])?;
    c.step(Accept, &[carry, records], &[])?;
    let tolerance = (states, c.tolerance);
    Ok(Composition { plan: Arc::new(c.plan.finish()), weights: c.weights, definition: c.definition, tolerance })
}

/// Sequences that never end, each with a token to go on with.
fn first_carry(random: &mut Random) -> Result<Array, Stop> {
    let mut state = Array::zeros(DType::U32, carry::RING + carry::RING_STEPS, SEQS)?;
    let words = state.all_mut::<u32>();
    for slot in 0..SEQS {
        words[carry::word(carry::TOKEN, slot)] = random.below(VOCABULARY) as u32;
        words[carry::word(carry::LEFT, slot)] = u32::MAX;
        (0..carry::ENDS).for_each(|i| words[carry::word(carry::END + i, slot)] = NONE);
    }
    Ok(state)
}

/// The slot of a sequence.
fn slot_of(sequence: usize) -> usize {
    (sequence * 19 + 7) % SEQS
}

/// A sequence of the scene.
#[derive(Clone, Default)]
struct Sequence {
    /// Its page table in each layer group.
    tables: [Vec<u32>; USED],
    /// For each paged state the bytes of all heads at each position, as they were when the position was written.
    had: Vec<Vec<Vec<u8>>>,
}

/// The rows of a sequence in a step.
struct Part {
    sequence: usize,
    tokens: Vec<u32>,
    logits: LogitWish,
    sampler: Vec<u32>,
}

struct Play<'a> {
    scene: &'a Scene,
    plan: Arc<Plan>,
    tolerance: (f64, f64),
    rig: Rig,
    definition: Definition,
    sequences: Vec<Sequence>,
    /// Pages that no sequence has had.
    free: [std::vec::IntoIter<u32>; USED],
    random: Random,
    steps: usize,
    /// Draws that the engine left to the host.
    host: usize,
}

fn play(
    engine: &dyn Engine,
    scene: &Scene,
    mut random: Random,
    kernels: &mut Vec<String>,
    host: &mut usize,
) -> Result<(), Stop> {
    let (caps, most, page) = (engine.caps(), SEQUENCES * CHUNK, scene.page);
    let (Some(rows), Some(logit_rows)) = (bucket(&caps.rows, most), bucket(&caps.logit_rows, most)) else {
        return Err(Stop::Skipped(format!("{most} rows are more than the largest bucket")));
    };
    let bucket = Sizes { rows, logit_rows, slots: scene.slots() };
    let (weights, definition) = (MadeWeights::default(), Definition::default());
    let plan = PlanBuilder::new("forks", bucket);
    let c = Composer { engine, plan, weights, definition, bucket, tolerance: 0.0, kernels };
    let composition = compose(c, scene, &mut random)?;
    let mut play = Play::begin(engine, scene, composition, random)?;
    play.turn()?;

    // At the end of a sequence. The copies are a step of their own.
    let (child, copies) = play.fork(0, play.length(0), false);
    play.step(&[], &copies)?;
    play.admit(child)?;
    play.turn()?;
    play.turn()?;

    // Within a page that two sequences share. The rows of all are in the same step.
    let position = page + 1 + play.random.below(page - 1);
    let (child, copies) = play.fork(1, position, false);
    play.admit(child)?;
    let parts = play.parts(true);
    play.step(&parts, &copies)?;
    play.turn()?;

    // Between two pages: the first is copied as a whole, and no place of the second. Each group has a step of its own.
    let (child, copies) = play.fork(0, 2 * page, true);
    for group in [1, 0] {
        let of_group: Vec<PageCopy> = copies.iter().copied().filter(|copy| copy.group == group).collect();
        play.step(&[], &of_group)?;
    }
    play.admit(child)?;
    play.turn()?;
    play.turn()?;
    *host = play.host;
    play.refuses()
}

impl<'a> Play<'a> {
    /// One sequence has more than two pages of random tokens, keys and values. Pages that nobody has are also random.
    fn begin(engine: &dyn Engine, scene: &'a Scene, of: Composition, mut random: Random) -> Result<Play<'a>, Stop> {
        let Composition { plan, weights, definition, tolerance } = of;
        // There are rows to come on the last page, before and after the first fork.
        let before = 3 * scene.page - 2 * CHUNK;
        let free = [0, 1].map(|group| scene.order(group, before / scene.page, &mut random).into_iter());
        let (rig, sequences) = (Rig::new(engine, &plan, &weights)?, vec![Sequence::default()]);
        let mut play = Play { scene, plan, tolerance, rig, definition, sequences, free, random, steps: 0, host: 0 };
        for (region, _) in play.states() {
            play.rig.write(region, &play.definition.memory[&region])?;
        }
        play.set_length(0, before)?;
        play.remember()?;
        Ok(play)
    }

    /// The states with their types, the carry first.
    fn states(&self) -> Vec<(Region, Type)> {
        self.plan.interface.states.iter().enumerate().map(|(id, s)| (Region::State(id as u32), s.ty)).collect()
    }

    /// The tokens that a sequence has.
    fn length(&self, sequence: usize) -> usize {
        let carry = self.definition.memory[&CARRY].all::<u32>();
        carry[carry::word(carry::LENGTH, slot_of(sequence))] as usize
    }

    fn set_length(&mut self, sequence: usize, length: usize) -> Result<(), Stop> {
        let carry = self.definition.memory.get_mut(&CARRY).expect("the first state");
        carry.all_mut::<u32>()[carry::word(carry::LENGTH, slot_of(sequence))] = length as u32;
        self.rig.write(CARRY, carry)?;
        self.grow();
        Ok(())
    }

    /// All sequences get pages for their rows of the next step.
    fn grow(&mut self) {
        for sequence in 0..self.sequences.len() {
            let pages = (self.length(sequence) + CHUNK).div_ceil(self.scene.page);
            for (table, free) in self.sequences[sequence].tables.iter_mut().zip(&mut self.free) {
                table.extend(free.take(pages.saturating_sub(table.len())));
            }
        }
    }

    /// A sequence that begins with the first `length` tokens of another one, and the copies for it. With `whole`, it also gets
    /// a copy of the last page that it could share.
    fn fork(&mut self, parent: usize, length: usize, whole: bool) -> (Sequence, Vec<PageCopy>) {
        let (mut child, mut copies, page) = (self.sequences[parent].clone(), Vec::new(), self.scene.page);
        for (group, (table, free)) in child.tables.iter_mut().zip(&mut self.free).enumerate() {
            table.truncate(length / page + 1);
            for (index, number) in table.iter_mut().enumerate().skip(length / page - usize::from(whole)) {
                let to = free.next().expect("a scene has more pages than its sequences");
                let from = std::mem::replace(number, to);
                let places = page.min(length - index * page) as u32;
                copies.push(PageCopy { group: group as u32, from, to, places });
            }
        }
        child.had.iter_mut().for_each(|positions| positions.truncate(length));
        (child, copies)
    }

    /// A sequence goes on with its tokens.
    fn admit(&mut self, child: Sequence) -> Result<(), Stop> {
        let length = child.had.first().map_or(0, Vec::len);
        self.sequences.push(child);
        self.set_length(self.sequences.len() - 1, length)
    }

    /// The rows of all sequences, or of some, in any order.
    fn parts(&mut self, all: bool) -> Vec<Part> {
        let mut parts = Vec::new();
        for sequence in self.random.permutation(self.sequences.len()) {
            if !all && !parts.is_empty() && self.random.below(4) == 0 {
                continue;
            }
            let count = 1 + self.random.below(CHUNK);
            let tokens = match self.random.below(3) {
                0 => vec![LAST],
                _ => (0..count).map(|_| self.random.below(VOCABULARY) as u32).collect(),
            };
            let logits = [LogitWish::Last, LogitWish::All][self.random.below(2)];
            let mut sampler = Vec::new();
            Sampler::encode(self.random.next(), 0, &penalties(), &mut sampler);
            parts.push(Part { sequence: sequence as usize, tokens, logits, sampler });
        }
        parts
    }

    fn turn(&mut self) -> Result<(), Stop> {
        let parts = self.parts(false);
        self.step(&parts, &[])
    }

    fn words(&self, parts: &[Part], copies: &[PageCopy]) -> Vec<u32> {
        let mut buffer = StepBuffer::with_capacity(self.scene.page, 0, 0, 0);
        for Part { sequence, tokens, logits, sampler } in parts {
            let tables = self.sequences[*sequence].tables.each_ref().map(Vec::as_slice);
            let (slot, logits, sampler) = (slot_of(*sequence), *logits, Some(&sampler[..]));
            buffer.push(&SeqStep { slot, tokens, tables: &tables, logits, sampler });
        }
        copies.iter().for_each(|copy| buffer.copy(*copy));
        buffer.encode(0, buffer.logits().len()).to_vec()
    }

    /// A step on the engine, which must have the results of the definitions.
    fn step(&mut self, parts: &[Part], copies: &[PageCopy]) -> Result<(), Stop> {
        let mut words = self.words(parts, copies);
        if self.steps % 2 == 1 {
            words = moved(&words, &mut self.random)?;
        }
        let view = StepView::new(&words)?;
        let sizes = view.sizes(self.scene.slots());
        let logits = self.random.array(&LOGITS, &sizes);
        self.rig.write(Region::Port(Port::LOGITS), &logits)?;
        self.definition.memory.insert(Region::Port(Port::LOGITS), logits);
        let carry = self.definition.memory[&CARRY].clone();
        self.definition.run(&self.plan, &view);
        self.rig.submit(&words)?;
        let drawn = self.settle(carry, &view)?;
        let (states, others) = self.tolerance;
        let ports = self.plan.interface.ports.iter().map(|(port, ty)| (Region::Port(*port), *ty, others));
        let all = self.states().into_iter().map(|(region, ty)| (region, ty, states)).chain(ports);
        for (region, ty, tolerance) in all.filter(|(_, ty, _)| ty.rows.at(&sizes) > 0) {
            let found = self.rig.read(region, &ty, &sizes)?;
            if let Some(fault) = difference(&self.definition.memory[&region], &found, tolerance) {
                return Err(Stop::Failed(format!("step {}, {region}: {fault}", self.steps)));
            }
        }
        if let Some(carry) = drawn {
            self.rig.write(CARRY, &carry)?;
            self.definition.memory.insert(CARRY, carry);
        }
        self.steps += 1;
        self.grow();
        self.remember()
    }

    /// Where the engine left draws to the host, its carry must be what its own records make of the carry before. Returns the
    /// carry that the host puts in its place, with all draws.
    fn settle(&mut self, mut carry: Array, view: &StepView) -> Result<Option<Array>, Stop> {
        let records = Region::Port(Port::RECORDS);
        let mut found = self.rig.read(records, &RECORDS, &view.sizes(self.scene.slots()))?;
        let left = found.clone();
        let host = settle_records(&self.definition.memory[&records], &mut found);
        if host == 0 {
            return Ok(None);
        }
        if let Some(fault) = difference(&self.definition.memory[&records], &found, 0.0) {
            return Err(Stop::Failed(format!("step {}, {records}: {fault}", self.steps)));
        }
        self.host += host;
        carry::advance(view, carry.all_mut());
        carry::accept(view, left.all(), carry.all_mut());
        self.definition.memory.insert(records, left);
        Ok(self.definition.memory.insert(CARRY, carry))
    }

    /// Each sequence has at each position what was written there, by itself or before it began. Adds new positions.
    fn remember(&mut self) -> Result<(), Stop> {
        for sequence in 0..self.sequences.len() {
            let length = self.length(sequence);
            let Sequence { tables, had } = &mut self.sequences[sequence];
            had.resize(self.plan.interface.states.len() - 1, Vec::new());
            for (id, had) in had.iter_mut().enumerate() {
                let state = &self.definition.memory[&Region::State(id as u32 + 1)];
                for position in 0..length {
                    let page = tables[state.group()][position / self.scene.page] as usize;
                    let now = heads(state, page * self.scene.page + position % self.scene.page);
                    match had.get(position) {
                        None => had.push(now),
                        Some(before) if *before == now => {}
                        Some(_) => {
                            let what = format!("sequence {sequence}, position {position}");
                            return Err(Stop::Failed(format!("state{}: {what} is not what was written", id + 1)));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Copies that no engine may do are refused by name. The states after such a step are unknown.
    fn refuses(&mut self) -> Result<(), Stop> {
        for group in 0..USED as u32 {
            let pages = self.scene.pages(group as usize) as u32;
            let page = self.scene.page as u32;
            let copy = |from, to| PageCopy { group, from, to, places: 1 };
            let bad: [(&str, &[PageCopy]); 8] = [
                ("source page of a copy", &[copy(pages, 0)]),
                ("source page of a copy", &[copy(1, 0), copy(NONE, 2)]),
                ("target page of a copy", &[copy(0, pages)]),
                ("page that two copies write", &[copy(1, 0), copy(2, 0)]),
                ("page that copies read and write", &[copy(1, 0), copy(0, 2)]),
                ("places of a page copy", &[PageCopy { places: page + 1, ..copy(1, 0) }]),
                ("layer group of a page copy", &[PageCopy { group: GROUPS as u32 + group, ..copy(1, 0) }]),
                ("number of page copies", &[copy(1, 0); COPIES + 1]),
            ];
            for (what, copies) in bad {
                match self.rig.submit(&self.words(&[], copies)) {
                    Err(error) if error.to_string().contains(what) => {}
                    Err(error) => return Err(Stop::Failed(format!("{what}, group {group}: {error}"))),
                    Ok(()) => return Err(Stop::Failed(format!("{what}, group {group}: is taken"))),
                }
            }
        }
        Ok(())
    }
}

/// The bytes of all heads at a place.
fn heads(state: &Array, place: usize) -> Vec<u8> {
    let lie = state.cache();
    (0..lie.heads).flat_map(|head| state.row_bytes_of(lie.row(head, place)).iter().copied()).collect()
}
