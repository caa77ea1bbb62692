//! How fast a model runs, held against what its machine can do in the same moment.
//!
//! Memory has states: with several threads its bandwidth may be one of two, far apart, and switch within a second. So decodes
//! are timed in slices of a tenth of a second with a read of memory on either side; a slice whose reads differ is dropped,
//! and what remains is told apart by state.

mod slice;
mod summary;

pub use slice::{Slice, State};
pub use summary::Summary;

use crate::{Model, Result};
use inkstone_compute::Gauge;
use inkstone_generate::{Steps, Traffic};
use std::time::Duration;

/// Longest slice of a decode.
pub const SLICE: Duration = Duration::from_millis(100);

/// Sweeps that say what one thread reads.
const ALONE_SWEEPS: usize = 5;

/// What measures the machine, and what it found at first. It holds memory of its own ([`Meter::bytes`]).
pub struct Meter {
    gauge: Box<dyn Gauge>,
    threads: usize,
    /// Bytes a second that one thread reads, the most that was seen: others that read meanwhile only take of it.
    alone: f64,
    /// Multiply-adds of bytes a second, the same.
    products: f64,
}

impl Meter {
    /// Measures what does not change: what one thread reads, and products of bytes. `None` from an engine that does not
    /// measure, or without memory or threads to do so.
    pub fn new(model: &Model) -> Option<Meter> {
        let threads = model.engine().caps().threads;
        let mut gauge = model.engine().gauge(threads)?;
        let alone: Vec<f64> = (0..ALONE_SWEEPS).map(|_| gauge.read_alone()).collect::<Option<_>>()?;
        let products = gauge.products()?;
        Some(Meter { alone: alone.into_iter().fold(0.0, f64::max), products, gauge, threads })
    }

    /// Bytes a second that all threads read now: the faster of two sweeps of some milliseconds, since the first one after a step
    /// may meet threads that are not asleep yet.
    pub fn sweep(&mut self) -> Option<f64> {
        self.alone = self.alone.max(self.gauge.read_alone()?);
        Some(self.gauge.read()?.max(self.gauge.read()?))
    }

    /// Bytes a second that one thread reads: the most that was seen.
    pub fn alone(&self) -> f64 {
        self.alone
    }

    /// Multiply-adds of bytes a second that all threads do in the fastest loop of the instruction set.
    pub fn products(&self) -> f64 {
        self.products
    }

    /// Measures them again; the faster counts.
    pub fn measure_products(&mut self) -> Option<f64> {
        self.products = self.products.max(self.gauge.products()?);
        Some(self.products)
    }

    /// Places at which each thread reads at once in a sweep.
    pub fn streams(&self) -> usize {
        self.gauge.streams()
    }

    /// Bytes of memory that it holds.
    pub fn bytes(&self) -> u64 {
        self.gauge.bytes()
    }

    /// The state of memory that reads at so many bytes a second.
    pub fn state(&self, read: f64) -> State {
        State::of(read, self.alone, self.threads)
    }
}

/// A model under test: some sequences of some tokens, and what measures the machine meanwhile.
pub struct Bench<'a> {
    steps: Steps<'a>,
    meter: Option<&'a mut Meter>,
}

impl<'a> Bench<'a> {
    /// Takes the model for so many sequences of at most so many tokens. Requests of others wait until it is dropped.
    ///
    /// # Errors
    /// Numbers beyond what the model was opened for; sequences of others under way.
    pub fn new(model: &'a Model, sequences: usize, tokens: usize, meter: Option<&'a mut Meter>) -> Result<Bench<'a>> {
        Ok(Bench { steps: model.generator().steps(sequences, tokens)?, meter })
    }

    /// The token that each sequence drew last.
    pub fn drawn(&self) -> &[u32] {
        self.steps.drawn()
    }

    /// What its steps read and multiply.
    pub fn traffic(&self) -> &Traffic {
        self.steps.traffic()
    }

    /// Makes each sequence so many tokens long: what is missing is fed, what is too much forgotten.
    ///
    /// # Errors
    /// No room, or what fails in a step.
    pub fn fill(&mut self, tokens: usize) -> Result<Duration> {
        self.steps.truncate(tokens)?;
        let missing = tokens - self.steps.len();
        Ok(if missing == 0 { Duration::ZERO } else { self.steps.prompt(missing)? })
    }

    /// Feeds each sequence so many tokens, draws one, and forgets them again.
    ///
    /// # Errors
    /// No room, or what fails in a step.
    pub fn prompt(&mut self, tokens: usize) -> Result<Slice> {
        let (before, sequences) = (self.steps.len(), self.steps.sequences());
        let first = self.sweep();
        let time = self.steps.prompt(tokens)?;
        let last = self.sweep();
        self.steps.truncate(before)?;
        let macs = self.traffic().prompt_macs(tokens, before).saturating_mul(sequences as u64);
        Ok(Slice { tokens: (tokens * sequences) as u64, steps: 0, time, bytes: 0, macs, reads: first.zip(last) })
    }

    /// Decodes so many tokens of each sequence in slices of at most `limit`, or one step, and forgets them again.
    ///
    /// # Errors
    /// No room, or what fails in a step.
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

    /// The same for as many tokens as fit into one slice.
    ///
    /// # Errors
    /// As [`Bench::decode`].
    pub fn decode_for(&mut self, limit: Duration) -> Result<Slice> {
        let depth = self.steps.len();
        self.steps.truncate(depth)?;
        let slice = self.steps_within(limit, usize::MAX)?;
        self.steps.truncate(depth)?;
        Ok(slice)
    }

    /// Bytes a second that memory is read at now.
    pub fn sweep(&mut self) -> Option<f64> {
        self.meter.as_mut()?.sweep()
    }

    /// Steps until the next would end after `limit`, or sequences have `end` tokens.
    fn steps_within(&mut self, limit: Duration, end: usize) -> Result<Slice> {
        let sequences = self.steps.sequences();
        let mut slice = Slice::default();
        loop {
            let step = self.steps.decode()?;
            // The row sees itself.
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
