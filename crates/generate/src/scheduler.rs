//! The generation loop, which all entry points use. A step computes any mixture of prompts and decodes, and each
//! sequence receives its part of the results.

use crate::flight::{Failure, Flight, Step, Wish};
use crate::host::HostDraws;
use crate::metrics::Metrics;
use crate::output::Output;
use crate::pace::{Pace, Rows};
use crate::runner::Runner;
use crate::sequence::{Sequence, Taken};
use crate::{Error, PlanTimes, Result, clock};
use inkstone_kvcache::{Caches, Copies};
use inkstone_tensor::step::{GROUPS, SEQS};
use inkstone_text::Tokenizer;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The running and waiting sequences, and the device that runs them. The scheduler has no thread: callers take turns.
/// [`admission`](crate::admission) decides which sequences run, [`compose`](crate::compose) what a step computes.
pub(crate) struct Scheduler {
    pub(crate) runner: Runner,
    /// The pages of all layer groups, and the texts whose keys and values are in them.
    pub(crate) caches: Caches,
    /// The copies that a sequence needs, kept to reuse the memory.
    pub(crate) copies: Copies,
    pub(crate) tokenizer: Arc<Tokenizer>,
    /// The running sequences, by slot of the carry.
    pub(crate) running: Vec<Option<Sequence>>,
    /// In the order of arrival.
    pub(crate) waiting: VecDeque<Sequence>,
    /// The number of these, which others may read during a step.
    pub(crate) queued: Arc<AtomicUsize>,
    /// The step under composition.
    pub(crate) step: Step,
    /// The sequences of the step under composition, by slot, with the number of their rows.
    pub(crate) plan: Vec<(usize, usize)>,
    /// The steps that the device has, in order.
    pub(crate) flights: VecDeque<Flight>,
    /// The sequences of a step that could not run, each of which gets a step of its own.
    pub(crate) alone: VecDeque<u64>,
    /// The largest number of rows in a step.
    pub(crate) budget: usize,
    pub(crate) pace: Pace,
    /// The draws of the host in the step that landed last.
    host: HostDraws,
    /// The time when the results of the last step were there.
    landed: Option<Instant>,
    pub(crate) counts: Metrics,
    /// The error after which no step runs.
    closed: Option<Arc<Error>>,
}

/// The outcome of an attempt to launch a step.
enum Launch {
    Launched,
    /// A sequence of the step ended or gets a step of its own.
    Changed,
    /// No sequence can continue, or pages are missing until steps have landed.
    Nothing,
}

impl Scheduler {
    pub fn new(loaded: Parts, tokenizer: Arc<Tokenizer>, sequences: usize) -> Scheduler {
        let Parts { runner, step, caches } = loaded;
        let sequences = sequences.clamp(1, SEQS);
        Scheduler {
            budget: runner.most_rows(),
            running: (0..sequences).map(|_| None).collect(),
            waiting: VecDeque::new(),
            queued: Arc::default(),
            plan: Vec::with_capacity(sequences),
            flights: VecDeque::with_capacity(runner.ahead()),
            alone: VecDeque::new(),
            pace: Pace::new(),
            host: HostDraws::default(),
            landed: None,
            counts: Metrics { pages: caches.pool(0).capacity(), ..Metrics::default() },
            closed: None,
            copies: Vec::with_capacity(GROUPS),
            runner,
            step,
            caches,
            tokenizer,
        }
    }

    /// Lands one step, and launches as many as the engine wants to have, for the caller that waits for `output`.
    pub fn step_for(&mut self, output: &Output) {
        if output.lock().is_ready() {
            return;
        }
        if let Err(error) = self.step() {
            self.lose(error);
        }
    }

    /// Launches steps and lands the oldest one.
    ///
    /// # Errors
    /// The states of the device are unknown.
    fn step(&mut self) -> Result<()> {
        if let Some(error) = &self.closed {
            return Err(Error::Shared(error.clone()));
        }
        self.sweep();
        self.take_questions();
        self.admit();
        self.queued.store(self.waiting.len(), Ordering::Relaxed);
        // A step with several windows lands before anything else is launched.
        while self.flights.len() < self.runner.ahead() && self.flights.back().is_none_or(|f| f.windows == 1) {
            match self.launch()? {
                Launch::Launched | Launch::Changed => {}
                Launch::Nothing => break,
            }
        }
        match self.flights.pop_front() {
            Some(flight) => self.land(flight),
            None => Ok(()),
        }
    }

    /// Composes a step and launches it.
    fn launch(&mut self) -> Result<Launch> {
        self.compose()?;
        if self.step.parts().is_empty() {
            return Ok(Launch::Nothing);
        }
        let begun = clock::now();
        match self.runner.launch(&mut self.step) {
            Ok(mut flight) => {
                flight.launched = Some(begun);
                flight.waited = clock::now().saturating_duration_since(begun);
                self.launched(flight);
                Ok(Launch::Launched)
            }
            Err(Failure::NotRun(error)) => {
                self.not_run(error);
                Ok(Launch::Changed)
            }
            Err(Failure::Lost(error)) => Err(error),
        }
    }

    /// The slot of a running sequence.
    pub(crate) fn slot_of(&self, id: u64) -> Option<usize> {
        self.running.iter().position(|s| s.as_ref().is_some_and(|s| s.id == id))
    }

    /// Counts a step that was launched: its sequences continue behind it.
    fn launched(&mut self, flight: Flight) {
        self.counts.steps += 1;
        for part in &flight.parts {
            if let Some(s) = &mut self.running[part.slot] {
                s.fed += part.rows;
                s.steps += 1;
                s.flights += 1;
                s.draws += u64::from(part.gives_token());
                s.copies = Default::default();
                let released = self.caches.release(&mut s.sources);
                debug_assert!(released.is_ok(), "{released:?}");
                let fed = s.fed;
                if !part.decode {
                    self.offer(part.slot, fed);
                    self.set_checkpoints(part.slot, fed - part.rows);
                }
            }
        }
        self.flights.push_back(flight);
    }

    /// Ends the sequence of a step that can't run, or gives each of several sequences a step of its own.
    fn not_run(&mut self, error: Error) {
        match self.step.parts() {
            [part] => {
                let slot = part.slot;
                if let Some(s) = &mut self.running[slot] {
                    s.fail(Arc::new(error));
                }
                self.free(slot);
            }
            parts => self.alone.extend(parts.iter().map(|p| p.id)),
        }
    }

    /// Passes the results of the oldest flight to its sequences. The results of a sequence that has ended are dropped.
    fn land(&mut self, flight: Flight) -> Result<()> {
        let Scheduler { runner, running, step, host, .. } = self;
        let begun = clock::now();
        host.clear();
        runner.land(&flight, step, &mut |part, values, fetch| {
            let Some(s) = running[part.slot].as_ref().filter(|s| s.id == part.id) else { return Ok(()) };
            match s.host_row().filter(|_| part.wish == Wish::Draw) {
                Some(row) => host.draw(part.id, &row, values, fetch),
                None => s.output.lock().take_logits(values, fetch),
            }
        })?;
        self.measure(&flight, begun);
        for (i, part) in flight.parts.iter().enumerate() {
            let Some(s) = self.running[part.slot].as_mut().filter(|s| s.id == part.id) else { continue };
            s.flights -= 1;
            s.given += part.logits.len();
            if s.void > 0 {
                s.void -= 1;
                continue;
            }
            let by_host = part.wish == Wish::Draw;
            let ended = match part.gives_token() {
                true => {
                    let drawn = if by_host { self.host.drawn(s.id) } else { self.runner.drawn(&flight, i) };
                    if drawn.is_left_to_host() {
                        s.leave_to_host();
                        continue;
                    }
                    let taken = s.take(&drawn, &self.tokenizer);
                    self.counts.generation_tokens += u64::from(taken != Taken::Dropped);
                    if by_host {
                        self.counts.host_draws += 1;
                        s.drawn_by_host();
                    }
                    taken != Taken::More
                }
                // Otherwise it is a prompt: its logits are requested, or no token is drawn after it.
                false => part.whole && s.ends_with_its_prompt(),
            };
            let known = s.tokens.len() - 1;
            if ended {
                self.free(part.slot);
            } else if part.gives_token() && known.is_multiple_of(self.caches.page()) {
                self.offer(part.slot, known);
            }
        }
        self.runner.reuse(flight);
        Ok(())
    }

    /// Measures the time of a step whose results are there; `begun` is the time when the host asked for them. The step
    /// ran from its launch, or from the end of the step before it. If the host hardly waited, the step was done some
    /// time ago, and its time is unknown.
    fn measure(&mut self, flight: &Flight, begun: Instant) {
        let now = clock::now();
        let before = self.landed.replace(now);
        let Some(launched) = flight.launched else { return };
        let time = now.saturating_duration_since(before.map_or(launched, |before| before.max(launched)));
        let waited = flight.waited + now.saturating_duration_since(begun);
        if waited * 4 < time || time == Duration::ZERO {
            return;
        }
        let mut rows = Rows::default();
        for part in &flight.parts {
            *(if part.decode { &mut rows.decode } else { &mut rows.prompt }) += part.rows;
        }
        self.pace.measured(rows, time, self.runner.ahead());
    }

    /// Frees the slot and the pages of a sequence that has ended. Both may still be in use by its steps: the queue runs
    /// these first.
    pub(crate) fn free(&mut self, slot: usize) {
        self.offer_all(slot);
        if let Some(mut s) = self.running[slot].take() {
            self.give_back(&mut s);
            self.ended(&s);
        }
    }

    /// Counts a sequence that has ended.
    pub(crate) fn ended(&mut self, s: &Sequence) {
        if let Some(reason) = s.output.lock().finish.filter(|_| s.goal.counts()) {
            self.counts.ended(reason);
        }
        if s.private {
            self.caches.forget(s.salt);
        }
    }

    /// Ends all running sequences with an error after which the states of the device are unknown. Waiting sequences go
    /// on, unless the device can't begin anew: then the model is closed.
    pub fn lose(&mut self, error: Error) -> Arc<Error> {
        let error = Arc::new(error);
        while let Some(flight) = self.flights.pop_front() {
            self.runner.reuse(flight);
        }
        self.step.clear();
        self.alone.clear();
        for slot in 0..self.running.len() {
            if let Some(mut s) = self.running[slot].take() {
                s.fail(error.clone());
                self.give_back(&mut s);
                self.ended(&s);
            }
        }
        self.caches.clear();
        if self.closed.is_none() {
            let begun = catch_unwind(AssertUnwindSafe(|| self.runner.begin_anew())).unwrap_or(Err(Error::Panicked));
            self.closed = begun.err().map(|error| Arc::new(Error::Closed(Box::new(error))));
        }
        self.fail_if_closed();
        error
    }

    /// Ends waiting sequences if no step runs any more.
    pub(crate) fn fail_if_closed(&mut self) {
        let Some(closed) = self.closed.clone() else { return };
        while let Some(mut s) = self.waiting.pop_front() {
            s.fail(closed.clone());
            self.ended(&s);
        }
    }

    /// Whether no sequence is running or waiting, and steps can run.
    pub fn is_idle(&self) -> bool {
        self.closed.is_none() && self.waiting.is_empty() && self.running.iter().all(Option::is_none)
    }

    /// The device, for a caller that runs steps itself while the scheduler is idle.
    pub fn device(&mut self) -> Device<'_> {
        Device { runner: &mut self.runner, caches: &mut self.caches, step: &mut self.step }
    }

    /// Lands the flights of sequences that have ended, and drops their results.
    pub fn land_all(&mut self) -> Result<()> {
        while let Some(flight) = self.flights.pop_front() {
            self.land(flight)?;
        }
        Ok(())
    }

    /// The times of the steps of plans so far.
    pub fn profile(&self) -> Option<Vec<PlanTimes>> {
        self.runner.profile()
    }

    /// The counts so far.
    pub fn metrics(&self) -> Metrics {
        Metrics {
            running: self.running.iter().flatten().count(),
            waiting: self.waiting.len(),
            held_pages: self.caches.held(0),
            windows: std::array::from_fn(|i| match i + 1 < self.caches.groups().len() {
                true => (self.caches.held(i + 1), self.caches.pool(i + 1).capacity()),
                false => (0, 0),
            }),
            ..self.counts
        }
    }
}

/// The parts that a scheduler is made of.
pub(crate) struct Parts {
    pub runner: Runner,
    pub step: Step,
    pub caches: Caches,
}

/// The parts of a scheduler with which a caller runs steps.
pub(crate) struct Device<'s> {
    pub runner: &'s mut Runner,
    pub caches: &'s mut Caches,
    /// A step to compose.
    pub step: &'s mut Step,
}
