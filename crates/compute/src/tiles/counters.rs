//! The counters of a tile program under way.

use super::TileProgram;
use inkstone_tensor::Sizes;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One counter pair a step, on a cache line of its own: workers write to different ones.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Counter {
    claimed: AtomicUsize,
    done: AtomicUsize,
    tiles: usize,
}

/// Which tiles of a program are claimed and which are done. Made once, used for step after step without allocating.
///
/// A worker keeps a cursor (0 at first) and repeats: [`Counters::claim`], wait until [`Counters::ready`], run the tile,
/// [`Counters::finish`]. Steps are entered in plan order, so the tiles that a claimed tile waits for are all claimed by
/// workers that run; nothing deadlocks.
#[derive(Debug)]
pub struct Counters {
    steps: Box<[Counter]>,
}

impl Counters {
    /// Counters of a program, before [`Counters::begin`].
    pub fn new(program: &TileProgram) -> Counters {
        Counters { steps: program.work().iter().map(|_| Counter::default()).collect() }
    }

    /// Sets everything back, for a step of these sizes.
    pub fn begin(&mut self, program: &TileProgram, sizes: &Sizes) {
        for (counter, work) in self.steps.iter_mut().zip(program.work()) {
            *counter = Counter { tiles: work.grid.tiles(sizes), ..Counter::default() };
        }
    }

    /// The next tile, as (step, tile), and moves the cursor to its step; `None` if all are claimed.
    pub fn claim(&self, cursor: &mut usize) -> Option<(usize, usize)> {
        while let Some(counter) = self.steps.get(*cursor) {
            if counter.claimed.load(Ordering::Relaxed) < counter.tiles {
                let tile = counter.claimed.fetch_add(1, Ordering::Relaxed);
                if tile < counter.tiles {
                    return Some((*cursor, tile));
                }
            }
            *cursor += 1;
        }
        None
    }

    /// Whether the steps that `step` waits for are done. What their tiles wrote is then visible.
    pub fn ready(&self, program: &TileProgram, step: usize) -> bool {
        program.work()[step].waits.iter().all(|wait| self.is_done(*wait))
    }

    /// A tile of `step` has run.
    pub fn finish(&self, step: usize) {
        self.steps[step].done.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether all tiles of `step` have run.
    pub fn is_done(&self, step: usize) -> bool {
        self.steps[step].done.load(Ordering::Acquire) >= self.steps[step].tiles
    }

    /// Whether all tiles have run.
    pub fn is_finished(&self) -> bool {
        (0..self.steps.len()).all(|step| self.is_done(step))
    }
}
