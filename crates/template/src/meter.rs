//! The limits of a rendering, and its use of steps, bytes and time.

use crate::error::{Fail, Kind, Result};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A step is this many ticks: an instruction, or as many bytes.
const TICKS: u64 = 256;
/// A value that is looked at is a sixteenth of a step.
const VALUE: u64 = TICKS / 16;
/// A byte that is searched, or changed by itself, takes as long as so many that are copied.
const SCAN: u64 = 4;
/// The ticks of writing a piece of a text of any length.
const PIECE: u64 = TICKS / 4;
/// The flag and the clock are looked at after this many steps.
const LOOK: u64 = 10_000 * TICKS;

/// The limits of a rendering.
///
/// ```
/// let limits = inkstone_template::Limits { steps: 1000, ..Default::default() };
/// let endless = inkstone_template::Template::new("{% for i in range(100000) %}{% endfor %}")?;
/// let error = endless.renderer(&limits).render().unwrap_err();
/// assert_eq!(error.limit(), Some(inkstone_template::Limit::Steps));
/// # Ok::<(), inkstone_template::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Limits {
    /// Steps. A step is an instruction, or 256 bytes or 16 values that an instruction visits. Slower work counts more:
    /// a searched or changed byte counts four times, a created or forwarded value eight times.
    pub steps: u64,
    /// Bytes of the values that are alive at a time, the conversation and the output among them.
    pub memory: usize,
    /// Bytes of the output.
    pub output: usize,
    /// Ends the rendering once it is set, within 10,000 steps.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Ends the rendering at this time, within 10,000 steps.
    pub deadline: Option<Instant>,
}

impl Default for Limits {
    /// The result of [`Limits::for_conversation`] for an empty conversation: a million steps, 32 MiB, an output of 4
    /// MiB. No flag, no deadline.
    fn default() -> Limits {
        Limits { steps: 1_000_000, memory: 32 << 20, output: 4 << 20, cancel: None, deadline: None }
    }
}

impl Limits {
    /// Limits that grow with the conversation, by its `entries` (messages, tools, documents), its `values` (each text,
    /// number, list, dict, key, however deep) and the `bytes` of its texts and keys:
    ///
    /// - steps: 1,000,000 + 1,000 entries + 64 values + 32 bytes + 32 entries² + entries × bytes / 64
    /// - memory: 32 MiB + 4 KiB × entries + 512 values + 32 bytes
    /// - output: 4 MiB + 1 KiB × entries + 8 bytes
    ///
    /// The square is for templates that visit all messages for each message: published templates take up to 8.2
    /// entries². A template that visits a text by characters takes 14 steps per byte, and any other published template
    /// at most 170 steps per entry. Values, texts and output of published templates need at most 1.25 × (150 values + 4
    /// bytes). So the limits allow four times as many steps, and seven times the memory. A conversation of few messages
    /// may take about a million steps, which take a tenth of a second.
    ///
    /// ```
    /// use inkstone_template::Limits;
    ///
    /// let limits = Limits::for_conversation(400, 2000, 100_000);
    /// assert_eq!(limits.steps, 1_000_000 + 400_000 + 128_000 + 3_200_000 + 5_120_000 + 625_000);
    /// ```
    pub fn for_conversation(entries: usize, values: usize, bytes: usize) -> Limits {
        let base = Limits::default();
        let (n, v, b) = (entries as u64, values as u64, bytes as u64);
        let sum = |base: u64, parts: &[u64]| parts.iter().fold(base, |sum, part| sum.saturating_add(*part));
        let of = |each: u64, what: u64| what.saturating_mul(each);
        let steps = sum(base.steps, &[of(1000, n), of(64, v), of(32, b), of(32, n.saturating_mul(n)), of(n, b) / 64]);
        let memory = sum(base.memory as u64, &[of(4096, n), of(512, v), of(32, b)]);
        let output = sum(base.output as u64, &[of(1024, n), of(8, b)]);
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        Limits { steps, memory: size(memory), output: size(output), ..base }
    }
}

/// Which limit ended a rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::steps`].
    Steps,
    /// [`Limits::memory`].
    Memory,
    /// [`Limits::output`].
    Output,
}

/// Counts steps and bytes of one rendering.
pub(crate) struct Meter {
    limits: Limits,
    ticks: Cell<u64>,
    /// At this many ticks there is something to look at.
    next: Cell<u64>,
    bytes: Cell<usize>,
    peak: Cell<usize>,
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Rc<Meter> {
        let meter = Meter {
            limits: limits.clone(),
            ticks: Cell::new(0),
            next: Cell::new(0),
            bytes: Cell::new(0),
            peak: Cell::new(0),
        };
        Rc::new(meter)
    }

    /// An instruction.
    #[inline]
    pub(crate) fn step(&self) -> Result<()> {
        self.spend(TICKS)
    }

    /// `n` bytes are read or written.
    #[inline]
    pub(crate) fn bytes(&self, n: usize) -> Result<()> {
        self.spend(n as u64)
    }

    /// `n` bytes are gone through one by one.
    #[inline]
    pub(crate) fn scan(&self, n: usize) -> Result<()> {
        self.spend((n as u64).saturating_mul(SCAN))
    }

    /// A piece of `n` bytes is written.
    #[inline]
    pub(crate) fn piece(&self, n: usize) -> Result<()> {
        self.spend(PIECE + n as u64)
    }

    /// `n` bytes were gone through where no error can be given: the next that is counted gives it.
    pub(crate) fn note(&self, n: usize) {
        self.ticks.set(self.ticks.get().saturating_add(n as u64));
    }

    /// A value is made, or handed over by another.
    #[inline]
    pub(crate) fn value(&self) -> Result<()> {
        self.spend(TICKS / 2)
    }

    /// `n` values are looked at.
    #[inline]
    pub(crate) fn values(&self, n: usize) -> Result<()> {
        self.spend((n as u64).saturating_mul(VALUE))
    }

    #[inline]
    fn spend(&self, ticks: u64) -> Result<()> {
        let now = self.ticks.get().saturating_add(ticks);
        self.ticks.set(now);
        if now < self.next.get() { Ok(()) } else { self.look(now) }
    }

    #[cold]
    fn look(&self, now: u64) -> Result<()> {
        let most = self.limits.steps.saturating_mul(TICKS);
        if now > most {
            return Err(Fail::new(Kind::Limit(Limit::Steps), format!("out of steps, allowed: {}", self.limits.steps)));
        }
        if self.limits.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Fail::new(Kind::Cancelled, "cancelled"));
        }
        if self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Fail::new(Kind::Deadline, "past its deadline"));
        }
        self.next.set(now.saturating_add(LOOK).min(most.saturating_add(1)));
        Ok(())
    }

    /// Bytes that are about to be allocated.
    pub(crate) fn take(&self, bytes: usize) -> Result<()> {
        let Some(now) = self.bytes.get().checked_add(bytes).filter(|now| *now <= self.limits.memory) else {
            let message = format!("values of more than {} bytes", self.limits.memory);
            return Err(Fail::new(Kind::Limit(Limit::Memory), message));
        };
        self.bytes.set(now);
        self.peak.set(self.peak.get().max(now));
        Ok(())
    }

    /// Bytes that were freed.
    pub(crate) fn give_back(&self, bytes: usize) {
        self.bytes.set(self.bytes.get().saturating_sub(bytes));
    }

    /// Bytes of an output.
    pub(crate) fn output(&self, bytes: usize) -> Result<()> {
        if bytes <= self.limits.output {
            return Ok(());
        }
        let message = format!("an output of more than {} bytes", self.limits.output);
        Err(Fail::new(Kind::Limit(Limit::Output), message))
    }

    pub(crate) fn steps_taken(&self) -> u64 {
        self.ticks.get() / TICKS
    }

    pub(crate) fn bytes_held(&self) -> usize {
        self.bytes.get()
    }

    pub(crate) fn peak(&self) -> usize {
        self.peak.get()
    }
}

/// Bytes of an allocation, given back when it is dropped.
pub(crate) struct Charge {
    meter: Rc<Meter>,
    bytes: usize,
}

impl Charge {
    pub(crate) fn new(meter: &Rc<Meter>, bytes: usize) -> Result<Charge> {
        meter.take(bytes)?;
        Ok(Charge { meter: meter.clone(), bytes })
    }

    /// A charge for an `Rc` of this type with `more` bytes behind it.
    pub(crate) fn of<T>(meter: &Rc<Meter>, more: usize) -> Result<Charge> {
        // The two counts of the `Rc` come before it.
        Charge::new(meter, size_of::<T>() + 2 * size_of::<usize>() + more)
    }

    pub(crate) fn meter(&self) -> &Rc<Meter> {
        &self.meter
    }

    pub(crate) fn add(&mut self, bytes: usize) -> Result<()> {
        self.meter.take(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    pub(crate) fn remove(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.meter.give_back(bytes);
        self.bytes -= bytes;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.meter.give_back(self.bytes);
    }
}
