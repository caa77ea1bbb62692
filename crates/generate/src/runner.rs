//! The device side of the loop: executable plans, buffers, and the steps that the device has.

use crate::flight::{Drawn, Failure, Fetch, Flight, Part, Step, Wish};
use crate::memory::reserve;
use crate::request::sampler_words;
use crate::{Error, Footprint, PlanTimes, Result, RunConfig, Runs};
use inkstone_compute::{Back, Bindings, Buffer, Engine, Executable, KEPT, Port, Queue, Region, Ticket, Usage};
use inkstone_graph::{Compiled, Kind, Wants};
use inkstone_model::ModelGraph;
use inkstone_tensor::Progress;
use inkstone_tensor::ops::SCORES;
use inkstone_tensor::step::{NONE, SEQS, StepBuffer, carry};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An engine with the plans and buffers of a model.
pub(crate) struct Runner {
    engine: Arc<dyn Engine>,
    queue: Box<dyn Queue>,
    compiled: Arc<Compiled>,
    bind: Bindings,
    carry: Buffer,
    ready: HashMap<Key, Ready>,
    /// Copies pages, in all states.
    copy: Arc<dyn Executable>,
    /// The words that the step buffer of the device holds.
    written: Vec<u32>,
    /// The number of steps that drew tokens, which determines the row of the ring.
    drawing_steps: usize,
    /// The records of the step that landed last, by slot of the carry.
    ring: Vec<u32>,
    /// Its scores, in the order of the parts that asked for them.
    scores: Vec<u32>,
    /// The ranges that a submit brings back, kept to reuse the memory.
    back: Vec<Back>,
    /// Flights that have landed, kept to reuse their memory.
    landed: Vec<Flight>,
    vocab: usize,
    load_time: Duration,
}

/// An executable plan with its runs.
struct Ready {
    executable: Arc<dyn Executable>,
    runs: Runs,
}

/// Identifies a plan: its results and buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    wants: Wants,
    rows: usize,
    logit_rows: usize,
}

impl Runner {
    /// Allocates the buffers, loads the weights, and prepares the plans for decoding. Returns the runner, and an empty step
    /// with room for the largest one.
    pub fn new(
        graph: &ModelGraph,
        engine: &Arc<dyn Engine>,
        compiled: Compiled,
        config: &RunConfig,
        progress: &dyn Progress,
    ) -> Result<(Runner, Step)> {
        let most = compiled.largest();
        let samplers = sampler_words(graph.config.vocab, config.sequences);
        // Sequences may list the same pages.
        let pages = config
            .context
            .div_ceil(config.page.max(1))
            .saturating_mul(config.sequences)
            .saturating_mul(graph.config.groups().len());
        let step_words = StepBuffer::max_words(most.rows, pages, samplers);
        let buffer = StepBuffer::try_with_capacity(config.page, most.rows, pages, samplers);
        let buffer = buffer.map_err(|source| Error::NoMemory { what: "the step buffer", source })?;
        let mut written = Vec::new();
        reserve(&mut written, step_words, "the step buffer")?;

        let interface = compiled.interface();
        let ports = interface.ports.iter().map(|(_, ty)| (ty.bytes(&most), Usage::Port));
        let sizes: Vec<(u64, Usage)> = [(compiled.arena_bytes(), Usage::Arena)].into_iter().chain(ports).collect();
        let mut values = engine.alloc_all(&sizes)?.into_iter();
        let arena = values.next().ok_or(Error::NoArena)?;
        let ports = interface.ports.iter().zip(values).map(|((port, _), buffer)| (*port, buffer)).collect();
        let states = interface.states.iter().map(|s| engine.alloc(s.ty.bytes(&most), Usage::State));
        let states = states.collect::<Result<_, _>>()?;
        let step = engine.alloc((step_words as u64).saturating_mul(4), Usage::Step)?;
        let begun = Instant::now();
        let weights = engine.load(&*graph.weights, &interface.weights, progress)?;
        let load_time = begun.elapsed();
        let bind = Bindings { weights, states, ports, arena, step };
        let carry = interface.state("carry").and_then(|id| bind.states.get(id as usize)).cloned();
        let exec = engine.caps().exec.first().copied().ok_or(Error::NoExecutor)?;
        let copy = Arc::new(compiled.step(0, 0, &[Kind::COPY])?);
        let mut runner = Runner {
            copy: engine.prepare(copy, bind.clone(), exec)?,
            engine: engine.clone(),
            queue: engine.queue()?,
            carry: carry.ok_or(Error::NoCarry)?,
            compiled: Arc::new(compiled),
            bind,
            ready: HashMap::new(),
            written,
            drawing_steps: 0,
            ring: vec![NONE; SEQS],
            scores: Vec::new(),
            back: Vec::new(),
            landed: Vec::new(),
            vocab: graph.config.vocab,
            load_time,
        };
        runner.ready(runner.compiled.decodes(), 1, 1)?;
        Ok((runner, Step::new(buffer, SEQS)))
    }

    /// The plans.
    pub fn compiled(&self) -> &Arc<Compiled> {
        &self.compiled
    }

    /// The size of the buffers that the plans are bound to.
    pub fn footprint(&self) -> Footprint {
        Footprint::of(self.compiled.interface(), &self.bind)
    }

    /// The number of tokens of the vocabulary.
    pub fn vocab(&self) -> usize {
        self.vocab
    }

    /// The time that the engine took to load the weights.
    pub fn load_time(&self) -> Duration {
        self.load_time
    }

    /// The largest number of rows in a step.
    pub fn most_rows(&self) -> usize {
        self.compiled.largest().rows
    }

    /// The number of flights to keep out.
    pub fn ahead(&self) -> usize {
        self.engine.caps().ahead.clamp(1, KEPT)
    }

    /// Assigns a slot to a sequence with this number of tokens in the caches, which may draw `left` tokens and ends at one
    /// of the tokens `ends`.
    pub fn admit(&mut self, slot: usize, len: usize, left: u64, ends: &[u32]) -> Result<()> {
        let [len, left] = [len as u64, left].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let end = |i: usize| (carry::END + i, ends.get(i).copied().unwrap_or(NONE));
        let fields = [(carry::LENGTH, len), (carry::TOKEN, 0), (carry::DONE, 0), (carry::LEFT, left)];
        for (field, word) in fields.into_iter().chain((0..carry::ENDS).map(end)) {
            self.queue.write(&self.carry, 4 * carry::word(field, slot) as u64, &word.to_ne_bytes())?;
        }
        Ok(())
    }

    /// Truncates the sequence in a slot to its first `len` tokens, even if it has ended. The next step feeds `next` instead
    /// of the token drawn last.
    pub fn truncate(&mut self, slot: usize, len: usize, next: u32) -> Result<()> {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        for (field, word) in [(carry::LENGTH, len), (carry::TOKEN, next), (carry::DONE, 0)] {
            self.queue.write(&self.carry, 4 * carry::word(field, slot) as u64, &word.to_ne_bytes())?;
        }
        Ok(())
    }

    /// Begins anew after a failure of the device: no slot is assigned, and the ring is empty. The caches need nothing,
    /// because no row reads a place that its sequence did not write.
    pub fn begin_anew(&mut self) -> Result<()> {
        self.written.clear();
        self.drawing_steps = 0;
        let zeros = vec![0u8; carry::CARRY.bytes(&Default::default()) as usize];
        Ok(self.queue.write(&self.carry, 0, &zeros)?)
    }

    /// Reads bytes of the state with this id, as the work before left them.
    pub fn read_state(&mut self, id: usize, offset: u64, into: &mut [u8]) -> Result<()> {
        Ok(self.queue.read(&self.bind.states[id], offset, into)?)
    }

    /// Writes bytes of the state with this id, after all work before.
    pub fn write_state(&mut self, id: usize, offset: u64, bytes: &[u8]) -> Result<()> {
        Ok(self.queue.write(&self.bind.states[id], offset, bytes)?)
    }

    /// The number of windows that the head needs for a step.
    pub fn windows(&self, step: &Step) -> usize {
        step.logit_rows().div_ceil(self.window()).max(1)
    }

    /// The largest number of logit rows that the head computes at once.
    fn window(&self) -> usize {
        self.compiled.largest().logit_rows.max(1)
    }

    /// Submits a step. If it has several windows of logit rows, only the first is submitted, and nothing else may be
    /// launched before the step has landed.
    pub fn launch(&mut self, step: &mut Step) -> Result<Flight, Failure> {
        self.prepare(step).map_err(Failure::NotRun)?;
        let draws = step.parts().iter().any(|p| p.draws);
        let mut flight = self.landed.pop().unwrap_or_else(Flight::empty);
        flight.parts.clear();
        flight.parts.extend_from_slice(step.parts());
        flight.ring = draws.then(|| carry::ring(self.drawing_steps));
        (flight.logit_rows, flight.windows) = (step.logit_rows(), self.windows(step));
        flight.launched = None;
        flight.copied = self.copy_pages(step).map_err(Failure::Lost)?;
        flight.ticket = self.submit(step, &flight, 0).map_err(Failure::Lost)?;
        self.drawing_steps += usize::from(draws);
        Ok(flight)
    }

    /// Prepares all plans of a step and checks that its words fit, so that nothing is given to the queue if the step
    /// can't run.
    fn prepare(&mut self, step: &Step) -> Result<()> {
        for window in 0..self.windows(step) {
            let rows = self.rows_of(step.logit_rows(), window);
            self.ready(wants(step, window), step.rows(), rows.len())?;
        }
        Ok(self.bind.step.check(0, step.buffer.words().saturating_mul(4))?)
    }

    /// The logit rows of a window.
    fn rows_of(&self, logit_rows: usize, window: usize) -> Range<usize> {
        let first = window * self.window();
        first..logit_rows.min(first + self.window())
    }

    /// Submits the page copies of a step, before its rows.
    fn copy_pages(&mut self, step: &mut Step) -> Result<Option<Ticket>> {
        if !step.has_copies() {
            return Ok(None);
        }
        self.write(step, &self.rows_of(step.logit_rows(), 0))?;
        Ok(Some(self.queue.submit(&self.copy, &[])?))
    }

    /// Writes the words of a window of a step to the step buffer of the device, if they differ from the words that it
    /// holds.
    fn write(&mut self, step: &mut Step, rows: &Range<usize>) -> Result<()> {
        let words = step.buffer.encode(rows.start, rows.len());
        if self.written != words {
            self.queue.write(&self.bind.step, 0, bytemuck::cast_slice(words))?;
            self.written.clear();
            self.written.extend_from_slice(words);
        }
        Ok(())
    }

    /// Submits a window of a step.
    fn submit(&mut self, step: &mut Step, flight: &Flight, window: usize) -> Result<Ticket> {
        let rows = self.rows_of(flight.logit_rows, window);
        self.write(step, &rows)?;
        let key = self.ready(wants(step, window), step.rows(), rows.len())?;
        self.back_of(flight, window, &rows)?;
        let ready = self.ready.get_mut(&key).ok_or(Error::NoExecutor)?;
        let ticket = self.queue.submit(&ready.executable, &self.back)?;
        // Only the first window has the body, which reads the caches.
        let (body, cached) = if window == 0 { (step.rows(), step.cached()) } else { (0, 0) };
        ready.runs.add(body, rows.len(), cached);
        Ok(ticket)
    }

    /// Lists the ranges that a window brings back: the row of the ring, then the results that each part asks for.
    fn back_of(&mut self, flight: &Flight, window: usize, rows: &Range<usize>) -> Result<()> {
        let mut back = std::mem::take(&mut self.back);
        back.clear();
        if let Some(ring) = flight.ring.filter(|_| window + 1 == flight.windows) {
            back.push(Back::new(&self.carry, 4 * carry::word(ring, 0) as u64, 4 * SEQS));
        }
        for part in &flight.parts {
            if let Some((port, width, wanted)) = self.wanted(part, rows) {
                let buffer = self.bind.buffer(Region::Port(port)).ok_or(Error::NoPort { port })?;
                let row = 4 * width;
                back.push(Back::new(buffer, ((wanted.start - rows.start) * row) as u64, wanted.len() * row));
            }
        }
        self.back = back;
        Ok(())
    }

    /// The results of a part in a window of logit rows that the host asks for: the port, the words of a row, and the rows.
    fn wanted(&self, part: &Part, window: &Range<usize>) -> Option<(Port, usize, Range<usize>)> {
        let inside = |rows: Range<usize>| rows.start.max(window.start)..rows.end.min(window.end);
        let (port, width, rows) = match part.wish {
            Wish::Nothing => return None,
            Wish::Scores => (Port::SCORES, SCORES.cols, inside(part.logits.end.saturating_sub(1)..part.logits.end)),
            Wish::Logits => (Port::LOGITS, self.vocab, inside(part.logits.clone())),
            Wish::Draw => (Port::LOGITS, self.vocab, inside(part.logits.end.saturating_sub(1)..part.logits.end)),
        };
        (!rows.is_empty()).then_some((port, width, rows))
    }

    /// Waits for the results of a flight. `step` is the step that was launched if it has several windows. `logits` is
    /// called with a part, a number of values, and a function that writes them.
    pub fn land(&mut self, flight: &Flight, step: &mut Step, logits: &mut TakeLogits) -> Result<()> {
        self.scores.clear();
        if let Some(copied) = flight.copied {
            // The rows read the copies.
            self.queue.wait(copied)?;
        }
        let mut ticket = flight.ticket;
        for window in 0..flight.windows {
            if window > 0 {
                ticket = self.submit(step, flight, window)?;
            }
            self.fetch(flight, window, ticket, logits)?;
        }
        Ok(())
    }

    /// Fetches the ranges that a window brings back, in the order of [`Runner::back_of`].
    fn fetch(&mut self, flight: &Flight, window: usize, ticket: Ticket, logits: &mut TakeLogits) -> Result<()> {
        let rows = self.rows_of(flight.logit_rows, window);
        let mut range = 0;
        if flight.ring.is_some() && window + 1 == flight.windows {
            self.queue.fetch(ticket, range, bytemuck::cast_slice_mut(&mut self.ring))?;
            range += 1;
        }
        for part in &flight.parts {
            let Some((port, width, wanted)) = self.wanted(part, &rows) else { continue };
            if port == Port::SCORES {
                let start = self.scores.len();
                reserve(&mut self.scores, width, "results of a step")?;
                self.scores.resize(start + width, 0);
                self.queue.fetch(ticket, range, bytemuck::cast_slice_mut(&mut self.scores[start..]))?;
            } else {
                let queue = &mut self.queue;
                let mut fetch = |into: &mut [f32]| Ok(queue.fetch(ticket, range, bytemuck::cast_slice_mut(into))?);
                logits(part, wanted.len() * width, &mut fetch)?;
            }
            range += 1;
        }
        if range == 0 { Ok(self.queue.wait(ticket)?) } else { Ok(()) }
    }

    /// The result of a part of the flight that landed last.
    pub fn drawn(&self, flight: &Flight, part: usize) -> Drawn<'_> {
        let of = &flight.parts[part];
        let scored = |p: &&Part| p.wish == Wish::Scores;
        let place = flight.parts[..part].iter().filter(scored).count() * SCORES.cols;
        let scores = if of.wish == Wish::Scores { self.scores.get(place..place + SCORES.cols) } else { None };
        Drawn { record: self.ring[of.slot], scores }
    }

    /// Takes a flight that has landed, or that nobody waits for, to reuse its memory.
    pub fn reuse(&mut self, flight: Flight) {
        self.landed.push(flight);
    }

    /// The plan for these buckets, which is prepared on first use.
    fn ready(&mut self, wants: Wants, rows: usize, logit_rows: usize) -> Result<Key> {
        let bucket = |buckets: &[usize], n: usize| buckets.iter().copied().find(|b| *b >= n).unwrap_or(n);
        let key = Key {
            wants,
            rows: bucket(self.compiled.rows(), rows),
            logit_rows: bucket(self.compiled.logit_rows(), logit_rows.max(1)),
        };
        if !self.ready.contains_key(&key) {
            let plan = self.compiled.step(key.rows, key.logit_rows, &wants.kinds())?;
            let exec = self.engine.caps().exec.first().copied().ok_or(Error::NoExecutor)?;
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

/// Takes logits of a part: the number of values, and the function that writes them.
pub(crate) type TakeLogits<'a> = dyn FnMut(&Part, usize, &mut Fetch) -> Result<()> + 'a;

/// The results of a window of a step. The hidden rows are computed with the first window, and once.
fn wants(step: &Step, window: usize) -> Wants {
    let logits = step.logit_rows() > 0;
    let tokens = logits && step.parts().iter().any(|p| p.draws);
    let scores = tokens && step.parts().iter().any(|p| p.wish == Wish::Scores);
    Wants { hidden: window == 0, logits, tokens, scores }
}
