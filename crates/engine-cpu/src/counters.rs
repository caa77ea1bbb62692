//! The counters of a running tile program: the claims of tiles, and the finished tiles.
//!
//! The tiles of a phase are divided into shares, one per worker. A worker claims its own share from the front, so that
//! it reads its part of the memory in order, and then steals from the back of other shares. A tile is claimed only when
//! it may run, so a worker that the system suspends while it waits delays no other worker.

use inkstone_compute::{Phase, TileProgram};
use inkstone_tensor::Sizes;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Bits of a tile's index in a share.
const INDEX: u32 = 18;
/// The part of the remaining tiles that is claimed at once: from the only share of a phase, from the own share of a
/// worker, or from another share. Each claim interrupts a stream of reads, so there are few claims; the last ones are
/// small, so that workers finish at the same time.
const ONLY: Part = Part(1, 1);
const OWN: Part = Part(3, 4);
/// The part of the own share if tiles have many rows: the time of a claim is then negligible.
const OWN_LONG: Part = Part(1, 4);
const ANOTHERS: Part = Part(1, 2);
/// Rows of a plan up to which tiles are short.
const SHORT: usize = 64;
/// Most blocks of a claim.
const MOST: usize = 64;

/// So many of so many.
#[derive(Clone, Copy)]
struct Part(usize, usize);

/// Most tiles of a phase.
pub(crate) const MAX_TILES: usize = (1 << INDEX) - 1;

/// The unclaimed tiles of a share: the run that they belong to (28 bits), the first (18), the end (18). The value of an
/// earlier run never recurs in the next run, so a late worker claims nothing. Each value has its own cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Share(AtomicU64);

impl Share {
    fn of(run: u32, tiles: Range<usize>) -> u64 {
        (u64::from(run) << (2 * INDEX)) | (tiles.start as u64) << INDEX | tiles.end as u64
    }

    fn tiles(word: u64) -> Range<usize> {
        let index = |word: u64| word as usize & MAX_TILES;
        index(word >> INDEX)..index(word)
    }

    /// Its tiles, if it is of this run.
    fn left(&self, run: u32) -> Range<usize> {
        let word = self.0.load(Ordering::Acquire);
        if word >> (2 * INDEX) == u64::from(run) { Share::tiles(word) } else { 0..0 }
    }

    /// Takes a part of the tiles, but a block of them at least, from the front or from the back.
    fn take(&self, run: u32, block: usize, part: Part, front: bool) -> Option<Range<usize>> {
        loop {
            let Range { start, end } = self.left(run);
            if start >= end {
                return None;
            }
            let count = (end - start) * part.0 / part.1;
            let count = count.clamp(block, MOST.saturating_mul(block)).min(end - start);
            let (taken, rest) =
                if front { (start..start + count, start + count..end) } else { (end - count..end, start..end - count) };
            let (old, new) = (Share::of(run, start..end), Share::of(run, rest));
            if self.0.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return Some(taken);
            }
        }
    }
}

/// A phase, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Counter {
    /// Tiles that have not run.
    open: AtomicUsize,
    /// Shares in this run.
    shares: AtomicUsize,
    /// Where its shares begin, and how many it can have.
    first: usize,
    most: usize,
    /// Fewest tiles that are claimed at once.
    block: usize,
}

/// Which tiles of a program are claimed and which are done. Made once, used for run after run without allocating.
#[derive(Debug)]
pub(crate) struct Counters {
    phases: Box<[Counter]>,
    shares: Box<[Share]>,
    run: AtomicU32,
    /// Steps of this run that are not done.
    left: AtomicUsize,
}

impl Counters {
    /// Counters for so many workers. `block` tells for each phase how many of its tiles are worth the trouble of a
    /// claim; a phase of no more has one share.
    pub(crate) fn new(program: &TileProgram, workers: usize, block: impl Fn(usize) -> usize) -> Counters {
        let mut first = 0;
        let counter = |(index, phase): (usize, &Phase)| {
            let block = block(index).clamp(1, MAX_TILES);
            let most = phase.grid.tiles(&program.bucket()).div_ceil(block).clamp(1, workers.max(1));
            first += most;
            Counter { first: first - most, most, block, ..Counter::default() }
        };
        let phases: Box<[Counter]> = program.phases().iter().enumerate().map(counter).collect();
        let shares = (0..first).map(|_| Share::default()).collect();
        Counters { phases, shares, run: AtomicU32::new(0), left: AtomicUsize::new(0) }
    }

    /// Sets everything back, for a step of these sizes, when all that was claimed has run. Gives the number of the new
    /// run, and whether there is work in it for more than one worker.
    pub(crate) fn begin(&self, program: &TileProgram, sizes: &Sizes) -> (u32, bool) {
        let run = self.run.load(Ordering::Relaxed).wrapping_add(1) & ((1 << (64 - 2 * INDEX)) - 1);
        self.run.store(run, Ordering::Relaxed);
        let (mut left, mut wide) = (0, false);
        for (counter, phase) in self.phases.iter().zip(program.phases()) {
            let tiles = phase.grid.tiles(sizes).min(MAX_TILES);
            let shares = tiles.div_ceil(counter.block).clamp(1, counter.most);
            counter.open.store(tiles, Ordering::Relaxed);
            counter.shares.store(shares, Ordering::Relaxed);
            left += usize::from(tiles > 0);
            wide |= shares > 1;
            let border = |i: usize| tiles * i / shares;
            for (i, share) in self.shares[counter.first..][..shares].iter().enumerate() {
                share.0.store(Share::of(run, border(i)..border(i + 1)), Ordering::Release);
            }
        }
        self.left.store(left, Ordering::Release);
        (run, wide)
    }

    /// A worker of a run; those with the same index share their first choice of tiles.
    pub(crate) fn worker<'a>(&'a self, program: &'a TileProgram, run: u32, index: usize) -> Worker<'a> {
        Worker { counters: self, program, run, index, phase: 0, held: 0, completed: false }
    }

    /// Whether all tiles of this run have run. If no other run has begun since, their writes are visible.
    pub(crate) fn is_finished(&self, run: u32) -> bool {
        self.left.load(Ordering::Acquire) == 0 || self.is_past(run)
    }

    fn is_past(&self, run: u32) -> bool {
        self.run.load(Ordering::Relaxed) != run
    }

    /// Whether a phase is cut into shares in this run.
    pub(crate) fn is_shared(&self, phase: usize) -> bool {
        self.phases[phase].shares.load(Ordering::Relaxed) > 1
    }

    /// Whether all tiles of `phase` have run. If so, their writes are visible.
    fn is_done(&self, phase: usize) -> bool {
        self.phases[phase].open.load(Ordering::Acquire) == 0
    }

    fn shares(&self, phase: usize) -> &[Share] {
        let Counter { first, shares, .. } = &self.phases[phase];
        &self.shares[*first..][..shares.load(Ordering::Relaxed)]
    }

    fn unclaimed(&self, phase: usize) -> usize {
        let run = self.run.load(Ordering::Relaxed);
        self.shares(phase).iter().map(|s| s.left(run).len()).sum()
    }

    /// The unfinished phases of the run and their waits, one line per phase, for debugging a run that hangs.
    pub(crate) fn progress<'a>(&'a self, program: &'a TileProgram) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| {
            for (at, phase) in program.phases().iter().enumerate().filter(|(at, _)| !self.is_done(*at)) {
                let open = self.phases[at].open.load(Ordering::Relaxed);
                let unclaimed = self.unclaimed(at);
                write!(f, "phase {at} ({phase}): {open} tiles open, {unclaimed} of them unclaimed")?;
                for wait in phase.waits.iter().filter(|wait| !self.is_done(**wait)) {
                    write!(f, ", waits for {wait}")?;
                }
                writeln!(f)?;
            }
            Ok(())
        })
    }
}

/// The next action of a worker.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Turn {
    /// These tiles of a phase. They count as run when the worker asks again.
    Run {
        /// The phase.
        phase: usize,
        /// Its tiles.
        tiles: Range<usize>,
    },
    /// Nothing yet: others must finish something first.
    Wait,
    /// Nothing more: all tiles of the run are claimed, or it is past.
    Over,
}

/// The progress of a worker through the phases of a run. Steps are entered in plan order and wait only for earlier
/// phases, so there is no deadlock: of the phases with unclaimed tiles, the earliest waits only for tiles that are
/// running.
#[derive(Debug)]
pub(crate) struct Worker<'a> {
    counters: &'a Counters,
    program: &'a TileProgram,
    run: u32,
    index: usize,
    /// The phase that it is in, and its tiles there that are not counted yet.
    phase: usize,
    held: usize,
    completed: bool,
}

impl Worker<'_> {
    /// Its next turn; the tiles of the one before have run.
    pub(crate) fn next_turn(&mut self) -> Turn {
        while self.phase < self.counters.phases.len() {
            if !self.can_go_on() {
                return Turn::Wait;
            }
            if let Some(tiles) = self.claim() {
                self.held += tiles.len();
                return Turn::Run { phase: self.phase, tiles };
            }
            self.count();
            self.phase += 1;
        }
        Turn::Over
    }

    /// Whether waiting is over: the phase may run, or is done, or another run has begun, in which this worker has no
    /// part (it must not wait for workers of that run, which may wait for it). The writes of the phases that it waits
    /// for are then visible. No tile of a phase that may not run is claimed.
    pub(crate) fn can_go_on(&self) -> bool {
        let done = |phase: usize| self.counters.is_done(phase);
        let may_run = || self.program.phases()[self.phase].waits.iter().all(|wait| done(*wait));
        self.held > 0 || done(self.phase) || may_run() || self.counters.is_past(self.run)
    }

    /// Whether this worker has completed phases since it was asked last, so that others may have something to do.
    pub(crate) fn take_completed(&mut self) -> bool {
        std::mem::take(&mut self.completed)
    }

    /// Of the own share first, then of the others'.
    fn claim(&self) -> Option<Range<usize>> {
        let shares = self.counters.shares(self.phase);
        let block = self.counters.phases[self.phase].block;
        (0..shares.len()).find_map(|i| {
            let part = match i {
                0 if shares.len() == 1 => ONLY,
                0 if self.program.bucket().rows <= SHORT => OWN,
                0 => OWN_LONG,
                _ => ANOTHERS,
            };
            shares[(self.index + i) % shares.len()].take(self.run, block, part, i == 0)
        })
    }

    /// Counts the tiles that have run.
    fn count(&mut self) {
        let held = std::mem::take(&mut self.held);
        if held > 0 && self.counters.phases[self.phase].open.fetch_sub(held, Ordering::AcqRel) == held {
            self.counters.left.fetch_sub(1, Ordering::AcqRel);
            self.completed = true;
        }
    }
}

impl Drop for Worker<'_> {
    /// Tiles of a worker that gives up are counted, so that nobody waits for them.
    fn drop(&mut self) {
        self.count();
    }
}

#[cfg(test)]
mod hazards;
#[cfg(test)]
mod tests;
