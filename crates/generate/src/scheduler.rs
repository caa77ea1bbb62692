//! The generation loop, which all entry points use. A step computes any mixture of prompts and decodes, and each
//! sequence receives its part of the results.

use crate::output::Output;
use crate::runner::Runner;
use crate::sequence::{Goal, Sequence};
use crate::{Error, FinishReason, PlanTimes, Result};
use inkstone_kvcache::Pool;
use inkstone_tensor::step::{LAST, LogitWish, SEQS, SeqStep};
use inkstone_text::Tokenizer;
use std::collections::VecDeque;
use std::sync::Arc;

/// The running and waiting sequences, and the device that runs them. The scheduler has no thread: callers take turns.
pub(crate) struct Scheduler {
    runner: Runner,
    pool: Pool,
    tokenizer: Arc<Tokenizer>,
    /// The running sequences, by slot of the carry.
    running: Vec<Option<Sequence>>,
    waiting: VecDeque<Sequence>,
    /// The parts of the current step, kept to reuse their memory.
    parts: Vec<Part>,
    /// The largest number of rows in a step.
    budget: usize,
    next_id: u64,
    /// The error of the engine, after which no step runs.
    broken: Option<Arc<Error>>,
}

/// The part of a sequence in the current step.
#[derive(Clone, Copy)]
struct Part {
    slot: usize,
    rows: usize,
    draws: bool,
}

impl Scheduler {
    pub fn new(runner: Runner, pool: Pool, tokenizer: Arc<Tokenizer>, sequences: usize) -> Scheduler {
        let budget = runner.most_rows();
        let running: Vec<_> = (0..sequences.clamp(1, SEQS)).map(|_| None).collect();
        let (waiting, parts) = (VecDeque::new(), Vec::with_capacity(running.len()));
        Scheduler { runner, pool, tokenizer, running, waiting, parts, budget, next_id: 0, broken: None }
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
        } else if let Some(slot) = self.running.iter().position(|s| s.as_ref().is_some_and(|s| s.id == id)) {
            self.finish(slot, finish);
        }
    }

    /// Stops all further steps after a thread panicked in a step, because the state of the device is unknown.
    pub fn cut_short(&mut self) {
        self.broken.get_or_insert_with(|| Arc::new(Error::Panicked));
    }

    /// Runs one step for the caller that waits for `output`. An error of the step is reported to all sequences.
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
            self.fail_all(Arc::new(error));
        }
    }

    /// Runs one step. Returns false if there was nothing to do.
    fn step(&mut self, unread: bool) -> Result<bool> {
        if let Some(error) = &self.broken {
            return Err(Error::Shared(error.clone()));
        }
        let swept = self.sweep();
        self.admit()?;
        self.compose(unread);
        if self.parts.is_empty() {
            return Ok(swept);
        }
        let scored = self.parts.iter().any(|p| p.draws && self.wants_scores(p.slot));
        let logits = self.parts.iter().any(|p| matches!(self.sequence(p.slot).goal, Goal::Logits));
        self.runner.run(scored, logits)?;
        for i in 0..self.parts.len() {
            self.collect(self.parts[i]);
        }
        Ok(true)
    }

    fn sequence(&self, slot: usize) -> &Sequence {
        self.running[slot].as_ref().expect("a part of a step is of a running sequence")
    }

    fn wants_scores(&self, slot: usize) -> bool {
        matches!(&self.sequence(slot).goal, Goal::Draw(d) if d.logprobs.is_some())
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
    /// need, so that it never stops half-way.
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
            let (left, ends) = match &s.goal {
                Goal::Draw(draw) => (draw.limit, draw.ends.as_slice()),
                Goal::Logits => (0, &[][..]),
            };
            let admitted = self.runner.admit(slot, left, ends);
            self.running[slot] = Some(s);
            admitted?;
        }
        Ok(())
    }

    /// Composes a step. Decodes come first, so that a long prompt does not delay them; chunks of prompts fill the rest
    /// of the budget.
    fn compose(&mut self, unread: bool) {
        self.runner.step.clear();
        self.runner.cached = 0;
        self.parts.clear();
        for decode in [true, false] {
            for (slot, s) in self.running.iter_mut().enumerate() {
                let Some(s) = s else { continue };
                let fresh = s.fresh();
                let rows = fresh.max(1).min(s.chunk()).min(self.budget - self.runner.step.rows());
                if decode != (fresh == 0) || rows == 0 || (!unread && s.output.lock().is_full()) {
                    continue;
                }
                let whole = rows >= fresh;
                let (logits, sampler) = match &s.goal {
                    Goal::Draw(draw) if whole && draw.limit > 0 => (LogitWish::Last, Some(draw.sampler.as_slice())),
                    Goal::Draw(_) => (LogitWish::None, None),
                    Goal::Logits => (LogitWish::All, None),
                };
                let tokens = if decode { &[LAST][..] } else { &s.prompt[s.fed..s.fed + rows] };
                let tables = &[s.table.pages()];
                self.runner.step.push(&SeqStep { slot, tokens, tables, logits, sampler });
                self.runner.cached += s.fed + rows;
                self.parts.push(Part { slot, rows, draws: sampler.is_some() });
            }
        }
    }

    /// Passes the results of a part to its sequence.
    fn collect(&mut self, part: Part) {
        let Some(s) = &mut self.running[part.slot] else { return };
        s.fed += part.rows;
        s.steps += 1;
        let ended = match &s.goal {
            Goal::Logits => {
                self.runner.logits_of(part.slot, &mut s.output.lock().logits);
                s.ends_with_its_prompt()
            }
            Goal::Draw(draw) if draw.limit == 0 => s.ends_with_its_prompt(),
            Goal::Draw(_) => part.draws && s.take(&self.runner.drawn(part.slot), &self.tokenizer),
        };
        if ended {
            self.free(part.slot);
        }
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

    /// Ends all sequences with an error of the engine.
    fn fail_all(&mut self, error: Arc<Error>) {
        self.broken.get_or_insert_with(|| error.clone());
        for slot in 0..self.running.len() {
            if let Some(s) = &mut self.running[slot] {
                s.fail(error.clone());
            }
            self.free(slot);
        }
        self.waiting.drain(..).for_each(|mut s| s.fail(error.clone()));
    }

    /// Whether no sequence is running or waiting, and no step was interrupted by a panic.
    pub fn is_idle(&self) -> bool {
        self.broken.is_none() && self.waiting.is_empty() && self.running.iter().all(Option::is_none)
    }

    /// The runner and the cache pages, for a caller that runs steps itself while the scheduler is idle.
    pub fn device(&mut self) -> (&mut Runner, &mut Pool) {
        (&mut self.runner, &mut self.pool)
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
