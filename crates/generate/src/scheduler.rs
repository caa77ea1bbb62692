//! The generation loop, which all entry points use. A step computes any mixture of prompts and decodes, and each
//! sequence receives its part of the results.

use crate::flight::{Failure, Flight, Step, Wish};
use crate::output::Output;
use crate::runner::Runner;
use crate::sequence::{Goal, Sequence};
use crate::{Error, FinishReason, PlanTimes, Result};
use inkstone_kvcache::Pool;
use inkstone_tensor::step::{LAST, LogitWish, SEQS, SeqStep};
use inkstone_text::Tokenizer;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard};

/// The running and waiting sequences, and the device that runs them. The scheduler has no thread: callers take turns.
pub(crate) struct Scheduler {
    runner: Runner,
    pool: Pool,
    tokenizer: Arc<Tokenizer>,
    /// The running sequences, by slot of the carry.
    running: Vec<Option<Sequence>>,
    waiting: VecDeque<Sequence>,
    /// The step under composition.
    step: Step,
    /// The steps that the device has, in order.
    flights: VecDeque<Flight>,
    /// The sequences of a step that could not run, each of which gets a step of its own.
    alone: VecDeque<u64>,
    /// The largest number of rows in a step.
    budget: usize,
    next_id: u64,
    /// The error after which no step runs.
    closed: Option<Arc<Error>>,
}

/// Locks the scheduler for one step. A thread that holds this lock may lock outputs; a thread that holds the lock of an
/// output must not lock the scheduler.
pub(crate) fn lock(scheduler: &Mutex<Scheduler>) -> MutexGuard<'_, Scheduler> {
    scheduler.lock().unwrap_or_else(|poisoned| {
        scheduler.clear_poison();
        let mut scheduler = poisoned.into_inner();
        scheduler.lose(Error::Panicked);
        scheduler
    })
}

impl Scheduler {
    pub fn new(runner: Runner, step: Step, pool: Pool, tokenizer: Arc<Tokenizer>, sequences: usize) -> Scheduler {
        Scheduler {
            budget: runner.most_rows(),
            running: (0..sequences.clamp(1, SEQS)).map(|_| None).collect(),
            waiting: VecDeque::new(),
            flights: VecDeque::with_capacity(runner.ahead()),
            alone: VecDeque::new(),
            next_id: 0,
            closed: None,
            runner,
            step,
            pool,
            tokenizer,
        }
    }

    /// Adds a sequence, which begins when a slot and enough pages are free. Returns an id with which it can be ended.
    pub fn add(&mut self, sequence: impl FnOnce(u64) -> Sequence) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.waiting.push_back(sequence(id));
        id
    }

    /// Ends a running or waiting sequence and frees its pages. Does nothing if it has already ended.
    pub fn end(&mut self, id: u64, finish: FinishReason) {
        if let Some(at) = self.waiting.iter().position(|s| s.id == id) {
            self.waiting.remove(at).into_iter().for_each(|mut s| s.end(finish));
        } else if let Some(slot) = self.slot_of(id) {
            self.finish(slot, finish);
        }
    }

    /// Lands one step, and launches as many as the engine wants to have, for the caller that waits for `output`.
    pub fn step_for(&mut self, output: &Output) {
        if output.lock().is_ready() {
            return;
        }
        let done = match self.step(false) {
            // Only sequences with too many unread pieces can continue, and they hold the resources that this one needs.
            Ok(false) if !output.lock().is_ready() => self.step(true),
            done => done,
        };
        if let Err(error) = done {
            self.lose(error);
        }
    }

    /// Launches steps and lands the oldest one. Returns false if there was nothing to do. With `unread`, sequences with
    /// too many unread pieces continue.
    ///
    /// # Errors
    /// The states of the device are unknown.
    fn step(&mut self, unread: bool) -> Result<bool> {
        if let Some(error) = &self.closed {
            return Err(Error::Shared(error.clone()));
        }
        let mut active = self.sweep();
        self.admit()?;
        // A step with several windows lands before anything else is launched.
        while self.flights.len() < self.runner.ahead() && self.flights.back().is_none_or(|f| f.windows == 1) {
            self.compose(unread);
            if self.step.parts().is_empty() {
                break;
            }
            active = true;
            match self.runner.launch(&mut self.step) {
                Ok(flight) => self.launched(flight),
                Err(Failure::NotRun(error)) => self.not_run(error),
                Err(Failure::Lost(error)) => return Err(error),
            }
        }
        let Some(flight) = self.flights.pop_front() else { return Ok(active) };
        self.land(flight)?;
        Ok(true)
    }

    /// The slot of a running sequence.
    fn slot_of(&self, id: u64) -> Option<usize> {
        self.running.iter().position(|s| s.as_ref().is_some_and(|s| s.id == id))
    }

    /// Ends cancelled sequences and sequences past their deadline. Returns true if there was one.
    fn sweep(&mut self) -> bool {
        let mut any = false;
        for slot in 0..self.running.len() {
            if let Some(reason) = self.running[slot].as_ref().and_then(Sequence::interrupted) {
                self.finish(slot, reason);
                any = true;
            }
        }
        self.waiting.retain_mut(|s| match s.interrupted() {
            None => true,
            Some(reason) => {
                s.end(reason);
                any = true;
                false
            }
        });
        any
    }

    /// Admits waiting sequences in their order while slots and pages are free. A sequence gets all pages that it may
    /// need, so that it never stops half-way. Slot and pages may still be in use by steps of a sequence that has ended:
    /// the queue runs these first.
    fn admit(&mut self) -> Result<()> {
        while let Some(next) = self.waiting.front() {
            let Some(slot) = self.running.iter().position(Option::is_none) else { return Ok(()) };
            if !self.pool.can_grow(&next.table, next.reach) {
                return Ok(());
            }
            let Some(mut s) = self.waiting.pop_front() else { return Ok(()) };
            if let Err(error) = self.pool.grow(&mut s.table, s.reach) {
                s.fail(Arc::new(error.into()));
                continue;
            }
            // It has its slot first, so that it ends with the others if the engine fails.
            let s = self.running[slot].insert(s);
            let (left, ends) = match &s.goal {
                Goal::Draw(draw) => (draw.limit, draw.ends.as_slice()),
                Goal::Logits => (0, &[][..]),
            };
            self.runner.admit(slot, left, ends)?;
        }
        Ok(())
    }

    /// Composes a step. Decodes come first, so that a long prompt does not delay them; chunks of prompts fill the rest
    /// of the budget. A sequence that needs a step of its own comes before all others.
    fn compose(&mut self, unread: bool) {
        self.step.clear();
        while let Some(id) = self.alone.pop_front() {
            if let Some(slot) = self.slot_of(id) {
                self.compose_slot(slot, unread);
            }
            if !self.step.parts().is_empty() {
                return;
            }
        }
        for decode in [true, false] {
            for slot in 0..self.running.len() {
                if self.running[slot].as_ref().is_some_and(|s| decode == (s.fresh() == 0)) {
                    self.compose_slot(slot, unread);
                }
            }
        }
    }

    /// Adds the next rows of the sequence in a slot to the step, if there is room and the sequence can continue.
    fn compose_slot(&mut self, slot: usize, unread: bool) {
        let Some(s) = &self.running[slot] else { return };
        let fresh = s.fresh();
        let rows = fresh.max(1).min(s.chunk()).min(self.budget - self.step.rows());
        if rows == 0 || !s.can_continue() || (!unread && s.is_full()) {
            return;
        }
        let whole = rows >= fresh;
        let (logits, wish, sampler) = match &s.goal {
            Goal::Draw(draw) if whole && draw.limit > 0 => {
                let wish = if draw.logprobs.is_some() { Wish::Scores } else { Wish::Nothing };
                (LogitWish::Last, wish, Some(draw.sampler.as_slice()))
            }
            Goal::Draw(_) => (LogitWish::None, Wish::Nothing, None),
            Goal::Logits => (LogitWish::All, Wish::Logits, None),
        };
        let tokens = if fresh == 0 { &[LAST][..] } else { &s.prompt[s.fed..s.fed + rows] };
        let tables = &[s.table.pages()];
        self.step.push(s.id, s.fed, whole, wish, &SeqStep { slot, tokens, tables, logits, sampler });
    }

    /// Counts a step that was launched: its sequences continue behind it.
    fn launched(&mut self, flight: Flight) {
        for part in &flight.parts {
            if let Some(s) = &mut self.running[part.slot] {
                s.fed += part.rows;
                s.steps += 1;
                s.draws += u64::from(part.draws);
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
        let Scheduler { runner, running, step, .. } = self;
        runner.land(&flight, step, &mut |part, values, fetch| {
            let s = running[part.slot].as_ref().filter(|s| s.id == part.id);
            s.map_or(Ok(()), |s| s.output.lock().take_logits(values, fetch))
        })?;
        for (i, part) in flight.parts.iter().enumerate() {
            let Some(s) = self.running[part.slot].as_mut().filter(|s| s.id == part.id) else { continue };
            let ended = match part.draws {
                true => s.take(&self.runner.drawn(&flight, i), &self.tokenizer),
                // Otherwise it is a prompt: its logits are requested, or no token is drawn after it.
                false => part.whole && s.ends_with_its_prompt(),
            };
            if ended {
                self.free(part.slot);
            }
        }
        self.runner.reuse(flight);
        Ok(())
    }

    fn finish(&mut self, slot: usize, reason: FinishReason) {
        if let Some(s) = &mut self.running[slot] {
            s.end(reason);
        }
        self.free(slot);
    }

    fn free(&mut self, slot: usize) {
        if let Some(mut s) = self.running[slot].take() {
            self.pool.release(&mut s.table);
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
            if let Some(s) = &mut self.running[slot] {
                s.fail(error.clone());
            }
            self.free(slot);
        }
        if self.closed.is_none() {
            let begun = catch_unwind(AssertUnwindSafe(|| self.runner.begin_anew())).unwrap_or(Err(Error::Panicked));
            self.closed = begun.err().map(|error| Arc::new(Error::Closed(Box::new(error))));
        }
        if let Some(closed) = &self.closed {
            self.waiting.drain(..).for_each(|mut s| s.fail(closed.clone()));
        }
        error
    }

    /// Whether no sequence is running or waiting, and steps can run.
    pub fn is_idle(&self) -> bool {
        self.closed.is_none() && self.waiting.is_empty() && self.running.iter().all(Option::is_none)
    }

    /// The device, for a caller that runs steps itself while the scheduler is idle.
    pub fn device(&mut self) -> Device<'_> {
        Device { runner: &mut self.runner, pool: &mut self.pool, step: &mut self.step }
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

    /// The number of free pages, and of all pages.
    pub fn pages(&self) -> (usize, usize) {
        (self.pool.available(), self.pool.capacity())
    }
}

/// The parts of a scheduler with which a caller runs steps.
pub(crate) struct Device<'s> {
    pub runner: &'s mut Runner,
    pub pool: &'s mut Pool,
    /// A step to compose.
    pub step: &'s mut Step,
}
