//! Whether the waits of a tile program suffice. This knows nothing of how they were derived: it cuts each memory into
//! pieces that no argument divides, and walks the plan with the last writer and the later readers of every piece.

use super::set::StepSet;
use super::{TileProgram, Work};
use crate::plan::{Arg, Plan, Region, Step};
use crate::{Error, Result};
use inkstone_tensor::Sizes;
use std::collections::BTreeMap;

/// The steps that used a range of memory. The next writer must run after all of them, the next reader after `writer`.
#[derive(Clone, Default)]
struct Piece {
    writer: Option<usize>,
    readers: Vec<usize>,
}

struct Touch<'a> {
    step: usize,
    arg: &'a Arg,
    end: u64,
}

impl TileProgram {
    /// Checks, for a step of these sizes, that every two tiles of which one writes what the other touches are ordered.
    ///
    /// # Errors
    /// [`Error::Hazard`] with the two steps and the argument; [`Error::BadPlan`] if this is the program of another
    /// plan.
    pub fn check(&self, plan: &Plan, sizes: &Sizes) -> Result<()> {
        let steps = plan.steps.len();
        if self.work.len() != steps {
            let fault = format!("{steps} steps, but the tile program has {}", self.work.len());
            return Err(Error::BadPlan { plan: plan.name.clone(), step: 0, op: "plan".to_owned(), fault });
        }
        self.only_earlier(plan)?;
        let after = self.order(sizes);
        let mut touches: BTreeMap<Region, Vec<Touch>> = BTreeMap::new();
        for (step, s) in plan.steps.iter().enumerate().filter(|(_, s)| s.grid.tiles(sizes) > 0) {
            within(step, s, sizes)?;
            for arg in &s.args {
                let end = arg.offset.saturating_add(arg.ty.bytes(sizes));
                touches.entry(arg.region).or_default().push(Touch { step, arg, end });
            }
        }
        touches.values().filter(|t| t.iter().any(|t| t.arg.write)).try_for_each(|t| between(t, &after))
    }

    /// Steps wait for earlier ones only, so there is no cycle.
    fn only_earlier(&self, plan: &Plan) -> Result<()> {
        let later = |(step, work): (usize, &Work)| work.waits.iter().find(|w| **w >= step).map(|w| (step, *w));
        let Some((step, wait)) = self.work.iter().enumerate().find_map(later) else { return Ok(()) };
        let (plan, op) = (plan.name.clone(), self.work[step].op.clone());
        Err(Error::BadPlan { plan, step, op, fault: format!("it waits for step {wait}, allowed: earlier ones") })
    }

    /// For each step the steps that are done when one of its tiles runs. The waits of a step without tiles do not
    /// count.
    fn order(&self, sizes: &Sizes) -> Vec<StepSet> {
        let mut after: Vec<StepSet> = Vec::with_capacity(self.work.len());
        for work in &self.work {
            let mut done = StepSet::new(self.work.len());
            for wait in work.waits.iter().copied().filter(|w| self.work[*w].grid.tiles(sizes) > 0) {
                done.insert(wait);
                done.extend(&after[wait]);
            }
            after.push(done);
        }
        after
    }
}

/// Tiles of different steps, in one memory.
fn between(touches: &[Touch], after: &[StepSet]) -> Result<()> {
    let mut borders: Vec<u64> = touches.iter().flat_map(|t| [t.arg.offset, t.end]).collect();
    borders.sort_unstable();
    borders.dedup();
    let at = |border: u64| borders.partition_point(|b| *b < border);
    let mut pieces = vec![Piece::default(); borders.len()];
    for t in touches {
        let hazard = |first: usize| Error::Hazard { first, second: t.step, bytes: t.arg.to_string() };
        for piece in &mut pieces[at(t.arg.offset)..at(t.end)] {
            let readers = if t.arg.write { piece.readers.as_slice() } else { &[] };
            let mut before = readers.iter().copied().chain(piece.writer);
            if let Some(first) = before.find(|first| *first != t.step && !after[t.step].contains(*first)) {
                return Err(hazard(first));
            }
            if t.arg.write {
                *piece = Piece { writer: Some(t.step), readers: Vec::new() };
            } else {
                piece.readers.push(t.step);
            }
        }
    }
    Ok(())
}

/// Tiles of one step do not wait for each other, so each must write a part of the results that no other tile uses.
/// Writes of states are scattered; the page tables of the step guarantee that their places differ.
fn within(step: usize, s: &Step, sizes: &Sizes) -> Result<()> {
    if s.grid.tiles(sizes) <= 1 {
        return Ok(());
    }
    let own = |a: &Arg| {
        let rows = s.grid.row_blocks(sizes) == 1 || a.cut.rows && a.ty.rows == s.grid.rows;
        rows && (s.grid.col_blocks == 1 || a.cut.cols)
    };
    let overlap = |a: &Arg, b: &Arg| {
        let end = |arg: &Arg| arg.offset.saturating_add(arg.ty.bytes(sizes));
        a.region == b.region && a.offset < end(b) && b.offset < end(a)
    };
    for (i, a) in s.args.iter().enumerate().filter(|(_, a)| a.write && !a.ty.state) {
        let alike = |b: &Arg| !b.write && (b.offset, b.ty, b.cut) == (a.offset, a.ty, a.cut);
        let others = s.args.iter().enumerate().filter(|(j, _)| *j != i);
        if !own(a) || others.into_iter().any(|(_, b)| overlap(a, b) && !alike(b)) {
            return Err(Error::Hazard { first: step, second: step, bytes: a.to_string() });
        }
    }
    Ok(())
}
