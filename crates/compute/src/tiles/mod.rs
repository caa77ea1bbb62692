//! A plan as tiles that wait for steps instead of barriers. Tiles are claimed in plan order; before it runs, a tile
//! waits until the phases that its own phase waits for are done. The waits follow from the byte ranges of the finished
//! plan, so plans can be linked and share an arena; waits that follow from other waits are omitted.

mod check;
mod set;
mod touched;

use crate::plan::{Grid, Plan};
use inkstone_tensor::{Dim, Sizes};
use set::Set;
use smallvec::SmallVec;
use std::fmt;
use touched::Touched;

/// A phase of a step: its first phase, if it has one, or its own tiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Which step of the plan.
    pub step: usize,
    /// Whether it is the first phase of the step.
    pub first: bool,
    /// Name of its op.
    pub op: String,
    /// Its tiles.
    pub grid: Grid,
    /// Indices of the phases that must be done before one of its tiles runs; all are earlier, the latest first.
    pub waits: SmallVec<[usize; 4]>,
}

/// The tiles of a plan and their waits: one counter per phase, no barrier.
#[derive(Clone, Debug, PartialEq)]
pub struct TileProgram {
    phases: Vec<Phase>,
    bucket: Sizes,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(&if self.first { format!("first {}", self.op) } else { self.op.clone() })
    }
}

/// The phases of a plan in order, and their tiles.
fn phases(plan: &Plan) -> impl Iterator<Item = (usize, bool, Grid)> {
    plan.steps.iter().enumerate().flat_map(|(i, step)| {
        let first = step.first.map(|grid| (i, true, grid));
        first.into_iter().chain([(i, false, step.grid)])
    })
}

/// When a phase has tiles. Each case implies those before it, because every logit row is a row of the step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Presence {
    Always,
    WithRows,
    WithLogitRows,
    Never,
}

impl Presence {
    const ALL: [Presence; 4] = [Presence::Always, Presence::WithRows, Presence::WithLogitRows, Presence::Never];

    fn of(grid: &Grid, bucket: &Sizes) -> Presence {
        match grid.rows {
            _ if grid.tiles(bucket) == 0 => Presence::Never,
            Dim::N(_) | Dim::Slots { .. } => Presence::Always,
            Dim::Rows => Presence::WithRows,
            Dim::LogitRows => Presence::WithLogitRows,
        }
    }
}

impl TileProgram {
    /// Derives the waits. Two phases that touch a common byte, of which one writes it, run in plan order. A first phase
    /// reads the operands of its step and uses its scratch; the tiles of the step use both and write the results.
    ///
    /// A wait is left out if it follows from others. A phase without tiles is done at once and passes no order on, so
    /// phase k orders i after j only if it has tiles whenever both i and j have.
    pub fn new(plan: &Plan) -> TileProgram {
        let all: Vec<(usize, bool, Grid)> = phases(plan).collect();
        let count = all.len();
        let presence: Vec<Presence> = all.iter().map(|(.., grid)| Presence::of(grid, &plan.bucket)).collect();
        // For each presence p: the phases that have tiles only if the phases of presence p have tiles.
        let implying = Presence::ALL.map(|p| {
            let mut set = Set::new(count);
            (0..count).filter(|k| presence[*k] >= p).for_each(|k| set.insert(k));
            set
        });
        let mut ordered: Vec<Set> = Vec::with_capacity(count);
        let mut phases = Vec::with_capacity(count);
        let mut touched = Touched::default();
        for (i, (step, first, grid)) in all.into_iter().enumerate() {
            let (mut waits, mut done) = (SmallVec::new(), Set::new(count));
            for j in touched.add(i, first, &plan.steps[step], &presence, &plan.bucket) {
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
            phases.push(Phase { step, first, op: plan.steps[step].op.name().to_owned(), grid, waits });
            ordered.push(done);
        }
        TileProgram { phases, bucket: plan.bucket }
    }

    /// The phases of all steps, in order.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// Upper bounds of a step.
    pub fn bucket(&self) -> Sizes {
        self.bucket
    }
}

impl fmt::Display for TileProgram {
    /// Prints one line per phase: its index, op, tiles at the bucket and waits.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (i, phase) in self.phases.iter().enumerate() {
            let tiles = phase.grid.tiles(&self.bucket);
            let unit = if tiles == 1 { "tile" } else { "tiles" };
            write!(f, "{i:4} {phase:14} {tiles:4} {unit}")?;
            if !phase.waits.is_empty() {
                write!(f, "{:1$} after", "", 5 - unit.len())?;
                phase.waits.iter().rev().try_for_each(|j| write!(f, " {j}"))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
