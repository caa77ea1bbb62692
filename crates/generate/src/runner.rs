//! The device side of the loop: executable plans, buffers, the step buffer, and the results of a step.

use crate::Footprint;
use crate::reply::TokenScore;
use crate::{Error, Result};
use crate::{PlanTimes, Runs};
use inkstone_compute::{Bindings, Buffer, Engine, Executable, Port, Queue, Ticket, Usage};
use inkstone_graph::{Compiled, Kind, compile};
use inkstone_kvcache::Pool;
use inkstone_model::ModelGraph;
use inkstone_tensor::ops::SCORES;
use inkstone_tensor::step::{LogitRow, NONE, SEQS, StepBuffer, carry};
use inkstone_tensor::{NoMemory, Progress};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of words that a step reserves for the sampling of a sequence: the parameters of every stage, and lists
/// (biases of two words, banned tokens, end tokens) of the length of the vocabulary.
pub(crate) fn sampler_words(vocab: usize) -> usize {
    vocab.saturating_mul(4).saturating_add(64)
}

/// The result of a sequence in a step.
pub(crate) struct Drawn<'a> {
    /// A token or a status.
    pub record: u32,
    /// Its scores, if the step was scored.
    scores: Option<&'a [u32]>,
}

/// An engine with the plans and buffers of a model.
pub(crate) struct Runner {
    engine: Arc<dyn Engine>,
    queue: Box<dyn Queue>,
    compiled: Arc<Compiled>,
    bind: Bindings,
    carry: Buffer,
    ready: HashMap<Key, Ready>,
    /// The step that is being composed.
    pub step: StepBuffer,
    /// Tokens in the caches of its sequences, including the tokens of the step.
    pub cached: usize,
    /// The number of steps that drew tokens, which determines the position in the ring.
    drawing_steps: usize,
    /// The records of the last step, by slot of the carry.
    ring: Vec<u32>,
    /// The scores of the last step, by logit row.
    scores: Vec<u32>,
    /// The logits of the last step, by logit row, if they are requested.
    logits: Vec<f32>,
    vocab: usize,
    scored: bool,
    load_time: Duration,
}

/// An executable plan with its runs.
struct Ready {
    executable: Arc<dyn Executable>,
    runs: Runs,
}

/// Identifies a plan: its graphs and buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    kinds: &'static [Kind],
    rows: usize,
    logit_rows: usize,
}

impl Runner {
    /// Compiles the graphs, loads the weights, allocates the buffers, and prepares the plans for decoding.
    pub fn new(
        graph: &ModelGraph,
        engine: &Arc<dyn Engine>,
        pool: &Pool,
        sequences: usize,
        without_fusions: &[String],
        progress: &dyn Progress,
    ) -> Result<Runner> {
        let (draw, scored) = ((Kind::Select, &graph.select), (Kind::Scored, &graph.select_scored));
        let graphs = [(Kind::Body, &graph.body), (Kind::Head, &graph.head), draw, scored];
        let compiled = compile(&graphs, engine.caps(), engine.registry(), pool.slots(), without_fusions)?;
        let most = compiled.largest();
        let rows = most.rows;
        let samplers = sampler_words(graph.config.vocab).saturating_mul(sequences);
        let step_words = StepBuffer::max_words(rows, pool.capacity(), samplers);
        let step = StepBuffer::try_with_capacity(pool.page(), rows, pool.capacity(), samplers);
        let step = step.map_err(|source| Error::NoMemory { what: "the step buffer", source })?;

        let interface = compiled.interface();
        let begun = Instant::now();
        let weights = engine.load(&*graph.weights, &interface.weights, progress)?;
        let load_time = begun.elapsed();
        let states = interface.states.iter().map(|s| engine.alloc(s.ty.bytes(&most), Usage::State));
        let ports = interface.ports.iter().map(|(p, ty)| Ok((*p, engine.alloc(ty.bytes(&most), Usage::Port)?)));
        let bind = Bindings {
            weights,
            states: states.collect::<Result<_, _>>()?,
            ports: ports.collect::<Result<_, inkstone_compute::Error>>()?,
            arena: engine.alloc(compiled.arena_bytes(), Usage::Arena)?,
            step: engine.alloc((step_words as u64).saturating_mul(4), Usage::Step)?,
        };
        let carry = interface.state("carry").and_then(|id| bind.states.get(id as usize)).cloned();
        let mut runner = Runner {
            engine: engine.clone(),
            queue: engine.queue()?,
            carry: carry.ok_or(Error::NoCarry)?,
            compiled: Arc::new(compiled),
            bind,
            ready: HashMap::new(),
            step,
            cached: 0,
            drawing_steps: 0,
            ring: vec![NONE; SEQS],
            scores: Vec::new(),
            logits: Vec::new(),
            vocab: graph.config.vocab,
            scored: false,
            load_time,
        };
        runner.ready(Kind::DRAW, 1, 1)?;
        Ok(runner)
    }

    /// The plans.
    pub fn compiled(&self) -> &Arc<Compiled> {
        &self.compiled
    }

    /// The size of the buffers that the plans are bound to.
    pub fn footprint(&self) -> Footprint {
        Footprint::of(self.compiled.interface(), &self.bind)
    }

    /// The time that the engine took to load the weights.
    pub fn load_time(&self) -> Duration {
        self.load_time
    }

    /// The largest number of rows in a step.
    pub fn most_rows(&self) -> usize {
        self.compiled.largest().rows
    }

    /// Assigns a slot to a new sequence, which may draw `left` tokens and ends at one of the tokens `ends`.
    pub fn admit(&mut self, slot: usize, left: u64, ends: &[u32]) -> Result<()> {
        let left = u32::try_from(left).unwrap_or(u32::MAX);
        let end = |i: usize| (carry::END + i, ends.get(i).copied().unwrap_or(NONE));
        let fields = [(carry::LENGTH, 0), (carry::TOKEN, 0), (carry::DONE, 0), (carry::LEFT, left)];
        for (field, word) in fields.into_iter().chain((0..carry::ENDS).map(end)) {
            self.queue.write(&self.carry, 4 * carry::word(field, slot) as u64, &word.to_ne_bytes())?;
        }
        Ok(())
    }

    /// Truncates the sequence in a slot to its first `len` tokens. The next step feeds `next` instead of the token
    /// drawn last.
    pub fn truncate(&mut self, slot: usize, len: usize, next: u32) -> Result<()> {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        for (field, word) in [(carry::LENGTH, len), (carry::TOKEN, next)] {
            self.queue.write(&self.carry, 4 * carry::word(field, slot) as u64, &word.to_ne_bytes())?;
        }
        Ok(())
    }

    /// Runs the composed step. If there are more logit rows than a bucket holds, the head computes them in windows.
    pub fn run(&mut self, scored: bool, logits: bool) -> Result<()> {
        let (rows, total) = (self.step.rows(), self.step.logits().len());
        let draws = self.step.seqs().iter().any(|s| s.sampler_at != NONE);
        let window = self.compiled.largest().logit_rows.max(1);
        self.scores.clear();
        self.logits.clear();
        self.scored = scored;
        let mut first = 0;
        loop {
            let count = window.min(total - first);
            let words = self.step.encode(first, count);
            self.queue.write(&self.bind.step, 0, bytemuck::cast_slice(words))?;
            let kinds = kinds(first == 0, total > 0, draws, scored);
            let key = self.ready(kinds, rows, count)?;
            let ready = self.ready.get_mut(&key).ok_or(Error::NoExecutor)?;
            let ticket = self.queue.submit(&ready.executable)?;
            ready.runs.add(if first == 0 { rows } else { 0 }, count, self.cached);
            if scored {
                append(&mut *self.queue, ticket, &self.bind, Port::Scores, SCORES.cols * count, &mut self.scores)?;
            }
            if logits {
                append(&mut *self.queue, ticket, &self.bind, Port::Logits, self.vocab * count, &mut self.logits)?;
            }
            first += count;
            if first < total {
                continue;
            }
            if draws {
                let ring = 4 * carry::word(carry::ring(self.drawing_steps), 0) as u64;
                self.queue.read(ticket, &self.carry, ring, bytemuck::cast_slice_mut(&mut self.ring))?;
                self.drawing_steps += 1;
            } else {
                self.queue.wait(ticket)?;
            }
            return Ok(());
        }
    }

    /// The result of the sequence in `slot` in the last step.
    pub fn drawn(&self, slot: usize) -> Drawn<'_> {
        let row = self.logit_rows(slot).last();
        let scores = row.filter(|_| self.scored).and_then(|r| self.scores.get(r * SCORES.cols..(r + 1) * SCORES.cols));
        Drawn { record: self.ring[slot], scores }
    }

    /// Appends the logits of the rows of the sequence in `slot` in the last step.
    pub fn logits_of(&self, slot: usize, out: &mut Vec<f32>) {
        for r in self.logit_rows(slot) {
            out.extend_from_slice(&self.logits[r * self.vocab..][..self.vocab]);
        }
    }

    /// The indices of the logit rows of a slot in the last step.
    fn logit_rows(&self, slot: usize) -> impl Iterator<Item = usize> {
        let seqs = self.step.seqs();
        let of_slot = move |l: &LogitRow| seqs.get(l.seq as usize).is_some_and(|s| s.slot as usize == slot);
        self.step.logits().iter().enumerate().filter(move |(_, l)| of_slot(l)).map(|(r, _)| r)
    }

    /// The plan for these buckets, which is prepared on first use.
    fn ready(&mut self, kinds: &'static [Kind], rows: usize, logit_rows: usize) -> Result<Key> {
        let caps = self.engine.caps();
        let bucket = |buckets: &[usize], n: usize| buckets.iter().copied().find(|b| *b >= n).unwrap_or(n);
        let key =
            Key { kinds, rows: bucket(&caps.rows, rows), logit_rows: bucket(&caps.logit_rows, logit_rows.max(1)) };
        if !self.ready.contains_key(&key) {
            let plan = self.compiled.step(key.rows, key.logit_rows, kinds)?;
            let exec = caps.exec.first().copied().ok_or(Error::NoExecutor)?;
            let executable = self.engine.prepare(Arc::new(plan), self.bind.clone(), exec)?;
            self.ready.insert(key, Ready { executable, runs: Runs::default() });
        }
        Ok(key)
    }

    /// The times of plans so far, ordered by size; `None` if the engine does not record them.
    pub fn profile(&self) -> Option<Vec<PlanTimes>> {
        let times = |r: &Ready| {
            let plan = r.executable.plan().clone();
            Some(PlanTimes { plan, runs: r.runs, steps: r.executable.times()? })
        };
        let mut all: Vec<PlanTimes> = self.ready.values().map(times).collect::<Option<_>>()?;
        all.sort_by_key(|p| (p.plan.bucket.rows, p.plan.bucket.logit_rows, p.plan.steps.len()));
        Some(all)
    }
}

/// The graphs of a submit. The body runs first, and once.
fn kinds(body: bool, head: bool, draws: bool, scored: bool) -> &'static [Kind] {
    match (body, head, draws, scored) {
        (_, false, ..) => Kind::CHUNK,
        (true, true, false, _) => Kind::LOGITS,
        (true, true, true, false) => Kind::DRAW,
        (true, true, true, true) => Kind::DRAW_SCORED,
        (false, true, false, _) => &[Kind::Head],
        (false, true, true, false) => &[Kind::Head, Kind::Select],
        (false, true, true, true) => &[Kind::Head, Kind::Scored],
    }
}

/// Reads `words` words of a port and appends them to `to`.
fn append<T: bytemuck::Pod>(
    queue: &mut dyn Queue,
    after: Ticket,
    bind: &Bindings,
    port: Port,
    words: usize,
    to: &mut Vec<T>,
) -> Result<()> {
    let buffer = bind.buffer(inkstone_compute::Region::Port(port)).ok_or(Error::NoPort { port })?;
    let start = to.len();
    reserve(to, words, "results of a step")?;
    to.resize(start + words, T::zeroed());
    queue.read(after, buffer, 0, bytemuck::cast_slice_mut(&mut to[start..]))?;
    Ok(())
}

/// Reserves memory for more values.
pub(crate) fn reserve<T>(values: &mut Vec<T>, more: usize, what: &'static str) -> Result<()> {
    let bytes = more.saturating_mul(size_of::<T>()) as u64;
    values.try_reserve(more).map_err(|_| Error::NoMemory { what, source: NoMemory { bytes } })
}

impl Drawn<'_> {
    /// The score of the drawn token, with this number of the most probable tokens.
    pub fn score(&self, id: u32, top: usize) -> Option<TokenScore> {
        let words = self.scores?;
        let pairs = words[1..].chunks_exact(2).take_while(|p| p[0] != NONE).take(top);
        let top = pairs.map(|p| (p[0], f32::from_bits(p[1]))).collect();
        Some(TokenScore { id, logprob: f32::from_bits(words[0]), top })
    }
}
