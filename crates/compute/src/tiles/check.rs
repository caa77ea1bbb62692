//! Whether the waits of a tile program suffice. This knows nothing of how they were derived: it cuts each memory into
//! pieces that no argument divides, and walks the plan with the last writer and the later readers of every piece.

use super::set::Set;
use super::{Phase, TileProgram, phases};
use crate::plan::{Arg, Plan, Region, Step};
use crate::{Error, Result};
use inkstone_tensor::Sizes;
use std::collections::BTreeMap;
use std::ops::Range;

/// The phases that used a range of memory. The next writer must run after all of them, the next reader after `writer`.
#[derive(Clone, Default)]
struct Piece {
    writer: Option<usize>,
    readers: Vec<usize>,
}

/// Bytes that a phase uses.
struct Touch<'a> {
    phase: usize,
    /// `None`: the scratch of its step.
    arg: Option<&'a Arg>,
    bytes: Range<u64>,
    write: bool,
}

impl TileProgram {
    /// Checks, for a step of these sizes, that every two tiles of which one writes what the other touches are ordered.
    ///
    /// # Errors
    /// [`Error::Hazard`] with the two steps and the argument; [`Error::BadPlan`] if this is the program of another
    /// plan.
    pub fn check(&self, plan: &Plan, sizes: &Sizes) -> Result<()> {
        if !phases(plan).eq(self.phases.iter().map(|p| (p.step, p.first, p.grid))) {
            let fault = format!("its tile program has the {} phases of another plan", self.phases.len());
            return Err(Error::BadPlan { plan: plan.name.clone(), step: 0, op: "plan".to_owned(), fault });
        }
        self.only_earlier(plan)?;
        let after = self.order(sizes);
        let mut touches: BTreeMap<Region, Vec<Touch>> = BTreeMap::new();
        for (phase, p) in self.phases.iter().enumerate().filter(|(_, p)| p.grid.tiles(sizes) > 0) {
            let step = &plan.steps[p.step];
            within(p.step, step, sizes)?;
            let arena = touches.entry(Region::Arena).or_default();
            arena.push(Touch { phase, arg: None, bytes: step.scratch.clone(), write: true });
            for arg in step.args.iter().filter(|a| !(p.first && a.write)) {
                let (bytes, write) = (arg.offset..end(arg, sizes), arg.write);
                touches.entry(arg.region).or_default().push(Touch { phase, arg: Some(arg), bytes, write });
            }
        }
        touches.values().filter(|t| t.iter().any(|t| t.write)).try_for_each(|t| self.between(t, &after))
    }

    /// Phases wait for earlier ones only, so there is no cycle.
    fn only_earlier(&self, plan: &Plan) -> Result<()> {
        let later = |(i, phase): (usize, &Phase)| phase.waits.iter().find(|w| **w >= i).map(|w| (i, *w));
        let Some((phase, wait)) = self.phases.iter().enumerate().find_map(later) else { return Ok(()) };
        let Phase { step, ref op, .. } = self.phases[phase];
        let fault = format!("its phase {phase} waits for phase {wait}, allowed: earlier ones");
        Err(Error::BadPlan { plan: plan.name.clone(), step, op: op.clone(), fault })
    }

    /// For each phase the phases that are done when one of its tiles runs. The waits of a phase without tiles do not
    /// count.
    fn order(&self, sizes: &Sizes) -> Vec<Set> {
        let mut after: Vec<Set> = Vec::with_capacity(self.phases.len());
        for phase in &self.phases {
            let mut done = Set::new(self.phases.len());
            for wait in phase.waits.iter().copied().filter(|w| self.phases[*w].grid.tiles(sizes) > 0) {
                done.insert(wait);
                done.extend(&after[wait]);
            }
            after.push(done);
        }
        after
    }

    /// Tiles of different phases, in one memory.
    fn between(&self, touches: &[Touch], after: &[Set]) -> Result<()> {
        let mut borders: Vec<u64> = touches.iter().flat_map(|t| [t.bytes.start, t.bytes.end]).collect();
        borders.sort_unstable();
        borders.dedup();
        let at = |border: u64| borders.partition_point(|b| *b < border);
        let mut pieces = vec![Piece::default(); borders.len()];
        for t in touches.iter().filter(|t| !t.bytes.is_empty()) {
            for piece in &mut pieces[at(t.bytes.start)..at(t.bytes.end)] {
                let readers = if t.write { piece.readers.as_slice() } else { &[] };
                let mut before = readers.iter().copied().chain(piece.writer);
                if let Some(first) = before.find(|first| *first != t.phase && !after[t.phase].contains(*first)) {
                    let [first, second] = [first, t.phase].map(|phase| self.phases[phase].step);
                    let bytes = t.arg.map_or_else(|| scratch(&t.bytes), Arg::to_string);
                    return Err(Error::Hazard { first, second, bytes });
                }
                if t.write {
                    *piece = Piece { writer: Some(t.phase), readers: Vec::new() };
                } else {
                    piece.readers.push(t.phase);
                }
            }
        }
        Ok(())
    }
}

/// The last byte of an argument, and one.
fn end(arg: &Arg, sizes: &Sizes) -> u64 {
    arg.offset.saturating_add(arg.ty.bytes(sizes))
}

/// For people.
fn scratch(bytes: &Range<u64>) -> String {
    format!("the scratch at arena+{}", bytes.start)
}

/// Tiles of one phase do not wait for each other, so each must write a part of the results that no other tile uses.
/// Writes of states are scattered; the page tables of the step guarantee that their places differ. Which part of the
/// scratch is whose is up to the engine, but no argument lies there.
fn within(step: usize, s: &Step, sizes: &Sizes) -> Result<()> {
    let on_scratch =
        |a: &&Arg| a.region == Region::Arena && a.offset < s.scratch.end && s.scratch.start < end(a, sizes);
    if !s.scratch.is_empty() && s.args.iter().any(|a| on_scratch(&a)) {
        return Err(Error::Hazard { first: step, second: step, bytes: scratch(&s.scratch) });
    }
    if s.grid.tiles(sizes) <= 1 {
        return Ok(());
    }
    let own = |a: &Arg| {
        let rows = s.grid.row_blocks(sizes) == 1 || a.cut.rows && a.ty.rows == s.grid.rows;
        rows && (s.grid.col_blocks == 1 || a.cut.cols)
    };
    let overlap = |a: &Arg, b: &Arg| a.region == b.region && a.offset < end(b, sizes) && b.offset < end(a, sizes);
    for (i, a) in s.args.iter().enumerate().filter(|(_, a)| a.write && !a.ty.state) {
        let alike = |b: &Arg| !b.write && (b.offset, b.ty, b.cut) == (a.offset, a.ty, a.cut);
        let others = s.args.iter().enumerate().filter(|(j, _)| *j != i);
        if !own(a) || others.into_iter().any(|(_, b)| overlap(a, b) && !alike(b)) {
            return Err(Error::Hazard { first: step, second: step, bytes: a.to_string() });
        }
    }
    Ok(())
}
