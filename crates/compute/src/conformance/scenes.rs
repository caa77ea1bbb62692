//! Sequences of steps: several sequences with pages in random order in shared caches, chunks of prompts and single
//! tokens in one step, tokens from the carry, sequences that end. After every step all ports and states must equal the
//! results of the definitions.

use super::plan::{How, Place, PlanBuilder};
use super::rig::{Definition, MadeWeights, Rig};
use super::values::{Random, difference};
use super::{CaseResult, Outcome, Stop, bucket, candidates, rounding, tolerance};
use crate::engine::Engine;
use crate::kernel::Layout;
use crate::plan::{Plan, Port, Region};
use inkstone_tensor::ops::{
    Accept, Advance, Attend, BeginStep, By, Embed, GatherRows, HISTORY, HistoryWrite, KvWrite, Linear, Quantize,
};
use inkstone_tensor::step::record::Record;
use inkstone_tensor::step::{
    Header, LAST, LogitWish, NONE, RECORDS, ROWS, SECTIONS, SEQS, SeqStep, StepBuffer, StepView, carry,
};
use inkstone_tensor::{Array, DType, Dim, Op, Sizes, Slots, Type};
use std::sync::Arc;

/// Shapes of attention and cache.
pub(super) struct Scene {
    name: &'static str,
    heads: usize,
    kv_heads: usize,
    key_dim: usize,
    value_dim: usize,
    keys: DType,
    values: DType,
    /// Tokens per page.
    page: usize,
    /// Most rows that a sequence adds to a step.
    chunk: usize,
    /// The layout of the pages.
    pages: Layouts,
}

/// How pages and tables are laid out.
#[derive(Clone, Copy, PartialEq)]
enum Layouts {
    /// One layer group, pages in random order.
    Random,
    /// Two layer groups with tables of their own, which differ in length and in all their pages.
    Groups,
    /// Pages that follow each other, the first of them at an odd place; before the scene sequences have this number of tokens,
    /// whose keys, values and history are random.
    Following(usize),
}

#[rustfmt::skip]
pub(super) const SCENES: &[Scene] = &[
    Scene { name: "one head",            heads: 1,  kv_heads: 1, key_dim: 4,  value_dim: 4,  keys: DType::F32,  values: DType::F32,  page: 4,  chunk: 2, pages: Layouts::Random },
    Scene { name: "grouped heads",       heads: 6,  kv_heads: 2, key_dim: 8,  value_dim: 8,  keys: DType::F32,  values: DType::F32,  page: 3,  chunk: 7, pages: Layouts::Random },
    Scene { name: "half precision",      heads: 4,  kv_heads: 4, key_dim: 16, value_dim: 16, keys: DType::F16,  values: DType::F16,  page: 8,  chunk: 5, pages: Layouts::Random },
    Scene { name: "one KV head",         heads: 8,  kv_heads: 1, key_dim: 5,  value_dim: 5,  keys: DType::F16,  values: DType::F32,  page: 1,  chunk: 3, pages: Layouts::Random },
    Scene { name: "narrow values",       heads: 2,  kv_heads: 2, key_dim: 12, value_dim: 6,  keys: DType::BF16, values: DType::BF16, page: 16, chunk: 9, pages: Layouts::Random },
    Scene { name: "cache of 8 bits",     heads: 4,  kv_heads: 2, key_dim: 32, value_dim: 32, keys: DType::Q8_0, values: DType::Q8_0, page: 4,  chunk: 4, pages: Layouts::Random },
    Scene { name: "two layer groups",    heads: 4,  kv_heads: 2, key_dim: 8,  value_dim: 8,  keys: DType::F32,  values: DType::F32,  page: 4,  chunk: 5, pages: Layouts::Groups },
    Scene { name: "2,100 positions, pages of 16", heads: 2, kv_heads: 2, key_dim: 8, value_dim: 8, keys: DType::F32, values: DType::F32, page: 16, chunk: 2, pages: Layouts::Following(2060) },
    Scene { name: "2,100 positions, pages of 32", heads: 2, kv_heads: 2, key_dim: 8, value_dim: 8, keys: DType::F16, values: DType::F16, page: 32, chunk: 2, pages: Layouts::Following(2060) },
];

/// Sequences, and steps of them.
const SEQUENCES: usize = 4;
const STEPS: usize = 9;
const VOCABULARY: usize = 19;
/// A record that ends a sequence.
const END: u32 = 3;

pub(super) fn run(engine: &dyn Engine, scene: &Scene) -> CaseResult {
    let seed = Random::seed(scene.name);
    let mut kernels = Vec::new();
    let played = play(engine, scene, &mut Random::new(seed), &mut kernels);
    let outcome = played.err().map_or(Outcome::Passed, Stop::outcome);
    CaseResult { case: format!("steps, {}", scene.name), kernels: kernels.join(", "), seed, host: 0, outcome }
}

impl Scene {
    /// The number of layer groups.
    fn groups(&self) -> usize {
        if self.pages == Layouts::Groups { 2 } else { 1 }
    }

    /// Places of the caches by layer group: pages of all sequences, and one more that nobody has, or two in group 1.
    fn slots(&self) -> Slots {
        let places = |group: usize| (SEQUENCES * self.pages() + 1 + group) * self.page;
        Slots::new(std::array::from_fn(|group| if group < self.groups() { places(group) } else { 0 }))
    }

    /// Pages of a sequence, for all the rows that it may get.
    fn pages(&self) -> usize {
        (self.before() + STEPS * self.chunk).div_ceil(self.page)
    }

    /// Tokens of each sequence before the scene.
    fn before(&self) -> usize {
        if let Layouts::Following(before) = self.pages { before } else { 0 }
    }

    /// Page tables of all sequences, one after the other, in a layer group.
    fn tables(&self, group: usize, random: &mut Random) -> Vec<u32> {
        let all = SEQUENCES * self.pages() + 1 + group;
        match self.pages {
            Layouts::Following(_) => (1..all as u32).collect(),
            _ => random.permutation(all),
        }
    }
}

/// A plan under construction, with the kernels of an engine.
pub(super) struct Composer<'a> {
    pub(super) engine: &'a dyn Engine,
    pub(super) plan: PlanBuilder,
    pub(super) weights: MadeWeights,
    pub(super) definition: Definition,
    pub(super) bucket: Sizes,
    pub(super) tolerance: f64,
    pub(super) kernels: &'a mut Vec<String>,
}

impl Composer<'_> {
    /// A step by the first kernel that takes it. Activations are quantized if the kernel wants it so.
    pub(super) fn step(&mut self, op: impl Into<Op>, ins: &[Place], into: &[Place]) -> Result<Place, Stop> {
        let op: Op = op.into();
        let weights: Vec<Type> = ins.iter().filter(|p| matches!(p.region, Region::Weight(_))).map(|p| p.ty).collect();
        let types: Vec<Type> = ins.iter().map(|p| p.ty).collect();
        let (found, refusals) = candidates(self.engine, &op, &types, &weights, self.bucket.rows);
        let Some((kernel, _)) = found.first() else { return Err(Stop::Skipped(refusals)) };
        let mut ins = ins.to_vec();
        if let (Some(to), Op::Linear(_)) = (kernel.activations, &op) {
            ins[0] = self.step(Quantize { to }, &ins[..1], &[])?;
        }
        self.tolerance = self.tolerance.max(tolerance(kernel.numerics));
        if !self.kernels.iter().any(|k| k == kernel.name) {
            self.kernels.push(kernel.name.to_owned());
        }
        let types: Vec<Type> = ins.iter().map(|p| p.ty).collect();
        let how = How::by(kernel, &op, &types, self.bucket, self.engine.caps())?;
        Ok(self.plan.step(how, op, &ins, into)?.remove(0))
    }

    /// A weight for an op that reads it as its second operand.
    pub(super) fn weight(
        &mut self,
        name: &str,
        op: impl Into<Op>,
        rows: usize,
        cols: usize,
        random: &mut Random,
    ) -> Result<Place, Stop> {
        let ty = Type::f32(Dim::N(rows), cols);
        let op = op.into();
        let x = if matches!(op, Op::Embed(_)) { ROWS } else { Type::f32(Dim::Rows, cols) };
        let (found, refusals) = candidates(self.engine, &op, &[x, ty], &[ty], self.bucket.rows);
        let Some((kernel, layout)) = found.first() else { return Err(Stop::Skipped(refusals)) };
        let value = random.array(&ty, &self.bucket);
        self.weights.insert(name, &value);
        let layout = if rows == 1 { Layout::FILE } else { *layout };
        let place = self.plan.weight(name, ty, layout, kernel.numerics);
        self.definition.memory.insert(place.region, value);
        Ok(place)
    }

    pub(super) fn state(&mut self, name: &str, ty: Type, value: Array) -> Place {
        let place = self.plan.state(name, ty);
        self.definition.memory.insert(place.region, value);
        place
    }
}

fn play(engine: &dyn Engine, scene: &Scene, random: &mut Random, kernels: &mut Vec<String>) -> Result<(), Stop> {
    let most = SEQUENCES * scene.chunk;
    let (caps, slots) = (engine.caps(), scene.slots());
    let (Some(rows), Some(logit_rows)) = (bucket(&caps.rows, most), bucket(&caps.logit_rows, most)) else {
        return Err(Stop::Skipped(format!("{most} rows are more than the largest bucket")));
    };
    let bucket = Sizes { rows, logit_rows, slots };
    let composer = Composer {
        engine,
        plan: PlanBuilder::new("scene", bucket),
        weights: MadeWeights::default(),
        definition: Definition::default(),
        bucket,
        tolerance: 0.0,
        kernels,
    };
    let Composition { plan, weights, mut definition, tolerance } = compose(composer, scene, random)?;
    let mut rig = Rig::new(engine, &plan, &weights)?;
    for (id, _) in plan.interface.states.iter().enumerate() {
        let region = Region::State(id as u32);
        rig.write(region, &definition.memory[&region])?;
    }
    let pages = [scene.tables(0, random), scene.tables(1, random)];
    let mut buffer = StepBuffer::with_capacity(scene.page, most, pages[0].len() + pages[1].len() + SEQUENCES, 0);
    for step in 0..STEPS {
        compose_step(&mut buffer, scene, step, &pages, random);
        let count = buffer.logits().len();
        let mut words = buffer.encode(0, count).to_vec();
        if step % 2 == 1 {
            words = moved(&words, random)?;
        }
        let view = StepView::new(&words)?;
        let records = Array::from_u32(1, (0..count).map(|_| record(random)).collect());
        rig.write(Region::Port(Port::RECORDS), &records)?;
        definition.memory.insert(Region::Port(Port::RECORDS), records);
        definition.run(&plan, &view);
        rig.submit(&words)?;
        compare(&mut rig, &plan, &definition, &view.sizes(slots), tolerance)
            .map_err(|Mismatched(region, fault)| Stop::Failed(format!("step {step}, {region}: {fault}")))?;
    }
    (0..2 * scene.groups()).try_for_each(|i| {
        let group = i / 2;
        let bad = if i % 2 == 0 { NONE } else { (slots.of(group) / scene.page) as u32 };
        let carry = definition.memory[&Region::State(0)].all::<u32>();
        refuses(&mut rig, scene, &pages, carry, (group, bad), random)
    })
}

/// A page that was given back, or that the cache does not have, is refused wherever it is in a table. What the step
/// leaves is unknown.
fn refuses(
    rig: &mut Rig,
    scene: &Scene,
    pages: &[Vec<u32>; 2],
    carry: &[u32],
    (group, bad): (usize, u32),
    random: &mut Random,
) -> Result<(), Stop> {
    let sequence = random.below(SEQUENCES);
    let length = carry[carry::word(carry::LENGTH, slot_of(sequence))] as usize;
    let mut tables = pages.each_ref().map(|pages| pages[sequence * scene.pages()..][..scene.pages()].to_vec());
    let index = random.below(length / scene.page + 1);
    tables[group][index] = bad;
    let tables: Vec<&[u32]> = tables[..scene.groups()].iter().map(Vec::as_slice).collect();
    let mut buffer = StepBuffer::with_capacity(scene.page, 1, 2 * scene.pages(), 0);
    let (slot, logits) = (slot_of(sequence), LogitWish::None);
    buffer.push(&SeqStep { slot, tokens: &[1], tables: &tables, logits, sampler: None });
    match rig.submit(buffer.encode(0, 0)) {
        Err(error) if error.to_string().contains("page") => Ok(()),
        Err(error) => Err(Stop::Failed(format!("page {bad} at {index} of a table: {error}"))),
        Ok(()) => Err(Stop::Failed(format!("page {bad} at {index} of a table is taken"))),
    }
}

/// A plan, its inputs, and the loosest tolerance of its kernels.
struct Composition {
    plan: Arc<Plan>,
    weights: MadeWeights,
    definition: Definition,
    tolerance: f64,
}

/// All that a step of a model does but its layers in between.
fn compose(mut c: Composer, s: &Scene, random: &mut Random) -> Result<Composition, Stop> {
    let bucket = c.bucket;
    let long = s.before() > 0;
    let first = |ty: &Type, random: &mut Random| match long {
        true if ty.dtype != DType::U32 => Ok(random.array(ty, &bucket)),
        true => {
            Ok(Array::from_u32(1, (0..HISTORY.rows.at(&bucket)).map(|_| random.below(VOCABULARY) as u32).collect()))
        }
        false => Array::of(ty, &bucket).map_err(Stop::from),
    };
    let dim = s.heads * s.key_dim;
    let caches =
        |group| [(s.keys, s.key_dim), (s.values, s.value_dim)].map(|(d, n)| Type::cache(group, d, s.kv_heads, n));
    let [keys, values] = caches(0);
    let carry = c.state("carry", carry::CARRY, first_carry(s.before())?);
    let k_cache = c.state("keys", keys, first(&keys, random)?);
    let v_cache = c.state("values", values, first(&values, random)?);
    let history = c.state("history", HISTORY, first(&HISTORY, random)?);
    let table = c.weight("table", Embed { by: By::Token }, VOCABULARY, dim, random)?;
    let to_keys = c.weight("keys", Linear, s.kv_heads * s.key_dim, dim, random)?;
    let to_values = c.weight("values", Linear, s.kv_heads * s.value_dim, dim, random)?;
    let attended = c.plan.port(Port::HIDDEN, Type::f32(Dim::Rows, s.heads * s.value_dim));
    let gathered = c.plan.port(Port::LOGITS, Type::f32(Dim::LogitRows, s.heads * s.value_dim));
    let records = c.plan.port(Port::RECORDS, RECORDS);

    let rows = c.step(BeginStep, &[carry], &[])?;
    let x = c.step(Embed { by: By::Token }, &[rows, table], &[])?;
    let k = c.step(Linear, &[x, to_keys], &[])?;
    let v = c.step(Linear, &[x, to_values], &[])?;
    c.step(KvWrite, &[k_cache, k, rows], &[])?;
    c.step(KvWrite, &[v_cache, v, rows], &[])?;
    let scale = 1.0 / (s.key_dim as f64).sqrt();
    let attend = Attend { heads: s.heads, kv_heads: s.kv_heads, scale, window: None };
    c.step(attend, &[x, k_cache, v_cache, rows], &[attended])?;
    if s.pages == Layouts::Groups {
        let [keys, values] = caches(1);
        let k_other = c.state("other keys", keys, first(&keys, random)?);
        let v_other = c.state("other values", values, first(&values, random)?);
        let other = c.plan.port(Port::SCORES, Type::f32(Dim::Rows, s.heads * s.value_dim));
        c.step(KvWrite, &[k_other, k, rows], &[])?;
        c.step(KvWrite, &[v_other, v, rows], &[])?;
        c.step(attend, &[x, k_other, v_other, rows], &[other])?;
    }
    c.step(HistoryWrite, &[history, rows], &[])?;
    c.step(GatherRows, &[attended], &[gathered])?;
    c.step(Advance, &[carry, rows], &[])?;
    c.step(Accept, &[carry, records], &[])?;
    let plan = Arc::new(c.plan.finish());
    let tolerance = [s.keys, s.values].map(|d| if c.tolerance > 0.0 { rounding(d) } else { 0.0 });
    let tolerance = tolerance.into_iter().fold(c.tolerance, f64::max);
    Ok(Composition { plan, weights: c.weights, definition: c.definition, tolerance })
}

/// Sequences of `before` tokens; one may draw two tokens, the others many.
pub(super) fn first_carry(before: usize) -> Result<Array, Stop> {
    let mut state = Array::zeros(DType::U32, carry::RING + carry::RING_STEPS, SEQS)?;
    let words = state.all_mut::<u32>();
    for slot in 0..SEQS {
        words[carry::word(carry::LENGTH, slot)] = before as u32;
        words[carry::word(carry::LEFT, slot)] = if slot == slot_of(2) { 2 } else { 100 };
        (0..carry::ENDS).for_each(|i| words[carry::word(carry::END + i, slot)] = NONE);
        words[carry::word(carry::END, slot)] = END;
    }
    Ok(state)
}

/// The slot of a sequence, which differs from its index in every step.
fn slot_of(sequence: usize) -> usize {
    (sequence * 17 + 5) % SEQS
}

fn record(random: &mut Random) -> u32 {
    match random.below(30) {
        0 => Record::NanLogits.encode(),
        1 => Record::Host.encode(),
        _ => random.below(VOCABULARY) as u32,
    }
}

/// Some of the sequences, in some order, with a chunk of a prompt or the token that they drew last.
fn compose_step(buffer: &mut StepBuffer, scene: &Scene, step: usize, pages: &[Vec<u32>; 2], random: &mut Random) {
    buffer.clear();
    for sequence in random.permutation(SEQUENCES) {
        let sequence = sequence as usize;
        if buffer.rows() > 0 && random.below(4) == 0 {
            continue;
        }
        let count = 1 + random.below(scene.chunk);
        let tokens: Vec<u32> = match step > 1 && random.below(2) == 0 {
            true => vec![LAST],
            false => (0..count).map(|_| random.below(VOCABULARY) as u32).collect(),
        };
        let mut tables = pages.each_ref().map(|pages| pages[sequence * scene.pages()..][..scene.pages()].to_vec());
        // Nobody reads beyond the length of a sequence. The tables differ in length.
        tables[1].push(NONE);
        let tables: Vec<&[u32]> = tables[..scene.groups()].iter().map(Vec::as_slice).collect();
        let logits = [LogitWish::None, LogitWish::Last, LogitWish::All][random.below(3)];
        let sampler: Option<&[u32]> = (random.below(4) > 0).then_some(&[]);
        buffer.push(&SeqStep { slot: slot_of(sequence), tokens: &tokens, tables: &tables, logits, sampler });
    }
}

/// The same step with its sections in another order, and gaps between them.
pub(super) fn moved(words: &[u32], random: &mut Random) -> Result<Vec<u32>, Stop> {
    let mut header = StepView::new(words)?.header;
    let head = size_of::<Header>() / 4;
    let mut moved = vec![NONE; head];
    for section in random.permutation(SECTIONS) {
        moved.extend((0..random.below(9)).map(|_| NONE));
        let section = &mut header.sections[section as usize];
        let from = &words[section.at as usize..][..section.words as usize];
        section.at = moved.len() as u32;
        moved.extend_from_slice(from);
    }
    moved[..head].copy_from_slice(bytemuck::cast_slice(bytemuck::bytes_of(&header)));
    Ok(moved)
}

/// A region whose value is another one.
struct Mismatched(Region, String);

/// All states, and the ports that the step has written.
fn compare(rig: &mut Rig, plan: &Plan, d: &Definition, sizes: &Sizes, tolerance: f64) -> Result<(), Mismatched> {
    let states = plan.interface.states.iter().enumerate().map(|(id, s)| (Region::State(id as u32), s.ty));
    let ports = plan.interface.ports.iter().map(|(port, ty)| (Region::Port(*port), *ty));
    for (region, ty) in states.chain(ports).filter(|(_, ty)| ty.rows.at(sizes) > 0) {
        let found = rig.read(region, &ty, sizes).map_err(|e| Mismatched(region, e.to_string()))?;
        if let Some(fault) = difference(&d.memory[&region], &found, tolerance) {
            return Err(Mismatched(region, fault));
        }
    }
    Ok(())
}
