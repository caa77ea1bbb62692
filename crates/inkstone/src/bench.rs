//! The speed of a model, compared with the peak rates of its machine at the same time.
//!
//! The memory of some machines has states: with several threads its bandwidth is at one of two levels that are far
//! apart, and it may switch within a second. Therefore decodes are timed in slices of a tenth of a second, with a read
//! of memory before and after each slice. A slice whose reads differ is dropped, and the remaining slices are grouped
//! by state.

mod scheduler;
mod slice;
mod summary;

pub use scheduler::{Bound, Ratio, Round, SchedulerBench, SchedulerTest, Sizes};
pub use slice::{Slice, State};
pub use summary::Summary;

use crate::{Model, Result};
use inkstone_compute::Gauge;
use inkstone_generate::{Steps, Traffic};
use std::time::Duration;

/// The longest slice of a decode.
pub const SLICE: Duration = Duration::from_millis(100);

/// The number of sweeps that measure the read rate of one thread.
const ALONE_SWEEPS: usize = 5;

/// Measures the peak rates of the machine, and keeps the first results. It allocates memory for this
/// ([`Meter::bytes`]).
pub struct Meter {
    gauge: Box<dyn Gauge>,
    threads: usize,
    /// The highest read rate of one thread that was measured, in bytes per second. Other readers can only reduce it.
    alone: f64,
    /// The highest rate of multiply-adds of bytes that was measured, per second.
    products: f64,
}

impl Meter {
    /// Measures the rates that do not change: reads of one thread, and products of bytes. `None` if the engine does not
    /// support it, or if memory or threads can't be allocated.
    pub fn new(model: &Model) -> Option<Meter> {
        let threads = model.engine().caps().threads;
        let mut gauge = model.engine().gauge(threads)?;
        let alone: Vec<f64> = (0..ALONE_SWEEPS).map(|_| gauge.read_alone()).collect::<Option<_>>()?;
        let products = gauge.products()?;
        Some(Meter { alone: alone.into_iter().fold(0.0, f64::max), products, gauge, threads })
    }

    /// The current read rate of all threads in bytes per second: the faster of two sweeps of some milliseconds, because
    /// threads that have not gone to sleep after a step may disturb the first sweep.
    pub fn sweep(&mut self) -> Option<f64> {
        self.alone = self.alone.max(self.gauge.read_alone()?);
        Some(self.gauge.read()?.max(self.gauge.read()?))
    }

    /// The highest read rate of one thread that was measured, in bytes per second.
    pub fn alone(&self) -> f64 {
        self.alone
    }

    /// The multiply-adds of bytes per second of all threads, in the fastest loop for the instruction set.
    pub fn products(&self) -> f64 {
        self.products
    }

    /// Measures the products again and keeps the higher rate.
    pub fn measure_products(&mut self) -> Option<f64> {
        self.products = self.products.max(self.gauge.products()?);
        Some(self.products)
    }

    /// The number of positions at which each thread reads concurrently in a sweep.
    pub fn streams(&self) -> usize {
        self.gauge.streams()
    }

    /// The memory of the meter in bytes.
    pub fn bytes(&self) -> u64 {
        self.gauge.bytes()
    }

    /// The state of memory with this read rate in bytes per second.
    pub fn state(&self, read: f64) -> State {
        State::of(read, self.alone, self.threads)
    }
}

/// A model under test, with its sequences and a meter of the machine.
pub struct Bench<'a> {
    steps: Steps<'a>,
    meter: Option<&'a mut Meter>,
}

impl<'a> Bench<'a> {
    /// Takes exclusive use of the model for `sequences` sequences of at most `tokens` tokens. Other requests wait until
    /// it is dropped.
    ///
    /// # Errors
    /// The numbers exceed the options of the model, or other sequences are running.
    pub fn new(model: &'a Model, sequences: usize, tokens: usize, meter: Option<&'a mut Meter>) -> Result<Bench<'a>> {
        Ok(Bench { steps: model.generator().steps(sequences, tokens)?, meter })
    }

    /// The token that each sequence drew last.
    pub fn drawn(&self) -> &[u32] {
        self.steps.drawn()
    }

    /// The bytes and multiply-adds of its steps.
    pub fn traffic(&self) -> &Traffic {
        self.steps.traffic()
    }

    /// Sets the length of each sequence, by feeding or removing tokens.
    ///
    /// # Errors
    /// The sequences have no room for the tokens, or a step fails.
    pub fn fill(&mut self, tokens: usize) -> Result<Duration> {
        self.steps.truncate(tokens)?;
        let missing = tokens - self.steps.len();
        Ok(if missing == 0 { Duration::ZERO } else { self.steps.prompt(missing)? })
    }

    /// Feeds a prompt of this length to each sequence, draws a token, and removes the tokens again.
    ///
    /// # Errors
    /// The sequences have no room for the tokens, or a step fails.
    pub fn prompt(&mut self, tokens: usize) -> Result<Slice> {
        let (before, sequences) = (self.steps.len(), self.steps.sequences());
        let first = self.sweep();
        let time = self.steps.prompt(tokens)?;
        let last = self.sweep();
        self.steps.truncate(before)?;
        let macs = self.traffic().prompt_macs(tokens, before).saturating_mul(sequences as u64);
        Ok(Slice { tokens: (tokens * sequences) as u64, steps: 0, time, bytes: 0, macs, reads: first.zip(last) })
    }

    /// Decodes this number of tokens of each sequence, in slices of at most `limit` but at least one step, and removes
    /// the tokens again.
    ///
    /// # Errors
    /// The sequences have no room for the tokens, or a step fails.
    pub fn decode(&mut self, tokens: usize, limit: Duration) -> Result<Vec<Slice>> {
        let depth = self.steps.len();
        let end = depth + tokens;
        self.steps.truncate(depth)?;
        let mut slices = Vec::new();
        let mut read = self.sweep();
        while self.steps.len() < end {
            let mut slice = self.steps_within(limit, end)?;
            let next = self.sweep();
            slice.reads = read.zip(next);
            slices.push(slice);
            read = next;
        }
        self.steps.truncate(depth)?;
        Ok(slices)
    }

    /// Decodes as many tokens as fit in one slice, and removes them again.
    ///
    /// # Errors
    /// Like [`Bench::decode`].
    pub fn decode_for(&mut self, limit: Duration) -> Result<Slice> {
        let depth = self.steps.len();
        self.steps.truncate(depth)?;
        let slice = self.steps_within(limit, usize::MAX)?;
        self.steps.truncate(depth)?;
        Ok(slice)
    }

    /// The current read rate of memory in bytes per second.
    pub fn sweep(&mut self) -> Option<f64> {
        self.meter.as_mut()?.sweep()
    }

    /// Runs steps until the next one would end after `limit`, or the sequences have `end` tokens.
    fn steps_within(&mut self, limit: Duration, end: usize) -> Result<Slice> {
        let sequences = self.steps.sequences();
        let mut slice = Slice::default();
        loop {
            let step = self.steps.decode()?;
            // A row also attends to itself.
            let tokens = self.steps.len();
            slice.tokens += sequences as u64;
            slice.steps += 1;
            slice.time += step;
            slice.bytes = slice.bytes.saturating_add(self.traffic().decode_bytes(sequences, tokens));
            slice.macs = slice.macs.saturating_add(self.traffic().decode_macs(sequences, tokens));
            if tokens >= end || tokens >= self.steps.room() || slice.time + step > limit {
                return Ok(slice);
            }
        }
    }
}
