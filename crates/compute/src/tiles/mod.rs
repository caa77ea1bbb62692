//! A plan as tiles that wait for steps instead of barriers. Tiles are claimed in plan order; before it runs, a tile
//! waits until the steps that its own step waits for are done. The waits follow from the byte ranges of the finished
//! plan, so plans can be linked and share an arena; waits that follow from other waits are omitted.

mod check;
mod counters;
mod set;
mod touched;

pub use counters::{Counters, MAX_TILES, Turn, Worker};

use crate::plan::{Grid, Plan, Step};
use inkstone_tensor::{Dim, Sizes};
use set::StepSet;
use smallvec::SmallVec;
use std::fmt;
use touched::Touched;

/// A step of a [`TileProgram`], or the work before a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Which step of the plan.
    pub step: usize,
    /// Whether it is done before this step, for it ([`TileProgram::before`]).
    pub before: bool,
    /// Name of its op.
    pub op: String,
    /// Its tiles.
    pub grid: Grid,
    /// Indices of the work that must be done before one of its tiles runs; all are earlier, the latest first.
    pub waits: SmallVec<[usize; 4]>,
}

/// The tiles of a plan and their waits: one counter per step, no barrier.
#[derive(Clone, Debug, PartialEq)]
pub struct TileProgram {
    work: Vec<Work>,
    bucket: Sizes,
}

impl Work {
    /// For people.
    fn name(&self) -> String {
        if self.before { format!("before {}", self.op) } else { self.op.clone() }
    }
}

/// When a step has tiles. Each case implies those before it, because every logit row is a row of the step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Presence {
    Always,
    WithRows,
    WithLogitRows,
    Never,
}

impl Presence {
    const ALL: [Presence; 4] = [Presence::Always, Presence::WithRows, Presence::WithLogitRows, Presence::Never];

    fn of(step: &Step, bucket: &Sizes) -> Presence {
        match step.grid.rows {
            _ if step.grid.tiles(bucket) == 0 => Presence::Never,
            Dim::N(_) | Dim::Slots { .. } => Presence::Always,
            Dim::Rows => Presence::WithRows,
            Dim::LogitRows => Presence::WithLogitRows,
        }
    }
}

impl TileProgram {
    /// Derives the waits. Two steps that touch a common byte, of which one writes it, run in plan order.
    ///
    /// A wait is left out if it follows from others. A step without tiles is done at once and passes no order on, so
    /// step k orders i after j only if it has tiles whenever both i and j have.
    pub fn new(plan: &Plan) -> TileProgram {
        let count = plan.steps.len();
        let presence: Vec<Presence> = plan.steps.iter().map(|s| Presence::of(s, &plan.bucket)).collect();
        // For each presence p: the steps that have tiles only if the steps of presence p have tiles.
        let implying = Presence::ALL.map(|p| {
            let mut set = StepSet::new(count);
            (0..count).filter(|k| presence[*k] >= p).for_each(|k| set.insert(k));
            set
        });
        let mut ordered: Vec<StepSet> = Vec::with_capacity(count);
        let mut work = Vec::with_capacity(count);
        let mut touched = Touched::default();
        for (i, step) in plan.steps.iter().enumerate() {
            let (mut waits, mut done) = (SmallVec::new(), StepSet::new(count));
            for j in touched.add(i, step, &presence, &plan.bucket) {
                if !done.contains(j) {
                    waits.push(j);
                    done.insert(j);
                }
                if presence[j] <= presence[i] {
                    done.extend(&ordered[j]);
                } else {
                    done.extend_among(&ordered[j], &implying[presence[j] as usize]);
                }
            }
            work.push(Work { step: i, before: false, op: step.op.name().to_owned(), grid: step.grid, waits });
            ordered.push(done);
        }
        TileProgram { work, bucket: plan.bucket }
    }

    /// Adds work before some steps; `grid` returns its tiles. These tiles have the waits of the step, and the step
    /// waits for them. Their results are stored in `places` places of memory in turn, so they also wait for the last
    /// step that reads the previous content of the place. All these tiles and steps must be cut along the same rows, so
    /// that either all or none have tiles: a step without tiles would not pass on the order.
    pub fn before(self, places: usize, grid: impl Fn(usize) -> Option<Grid>) -> TileProgram {
        let mut all: Vec<Work> = Vec::with_capacity(self.work.len());
        // Where steps are now; those that had work before them.
        let (mut now, mut read): (Vec<usize>, Vec<usize>) = (Vec::with_capacity(self.work.len()), Vec::new());
        for mut work in self.work {
            work.waits.iter_mut().for_each(|wait| *wait = now[*wait]);
            if let Some(grid) = grid(work.step) {
                let own = SmallVec::from_slice(&[all.len()]);
                let mut waits = std::mem::replace(&mut work.waits, own);
                waits.extend(read.len().checked_sub(places).map(|last| read[last]));
                waits.sort_unstable_by(|a, b| b.cmp(a));
                waits.dedup();
                all.push(Work { before: true, grid, waits, ..work.clone() });
                read.push(all.len());
            }
            now.push(all.len());
            all.push(work);
        }
        TileProgram { work: all, ..self }
    }

    /// Its steps, and the work before steps.
    pub fn work(&self) -> &[Work] {
        &self.work
    }
}

impl fmt::Display for TileProgram {
    /// Prints one line per step: its index, op, tiles at the bucket and waits.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (i, w) in self.work.iter().enumerate() {
            let tiles = w.grid.tiles(&self.bucket);
            let unit = if tiles == 1 { "tile" } else { "tiles" };
            write!(f, "{i:4} {:14} {tiles:4} {unit}", w.name())?;
            if !w.waits.is_empty() {
                write!(f, "{:1$} after", "", 5 - unit.len())?;
                w.waits.iter().rev().try_for_each(|j| write!(f, " {j}"))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
