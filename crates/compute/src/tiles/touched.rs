//! The phases that used each range of memory of a plan, up to the current phase, which must run after them.

use super::Presence;
use crate::plan::{Region, Step};
use inkstone_tensor::Sizes;
use std::collections::BTreeMap;

/// A range of bytes that was used by the same phases: its end, and the phases with the information whether they wrote.
/// Phases before a later writer are omitted, because all phases after that writer also run after them.
#[derive(Clone, Debug)]
struct Stretch {
    end: u64,
    phases: Vec<(usize, bool)>,
}

/// Stretches by region, then by their first byte; they don't overlap.
#[derive(Debug, Default)]
pub(super) struct Touched(BTreeMap<Region, BTreeMap<u64, Stretch>>);

impl Touched {
    /// Adds a phase of a step; gives the earlier ones with which it has bytes in common that one of the two writes, the
    /// latest first.
    pub(super) fn add(
        &mut self,
        index: usize,
        first: bool,
        step: &Step,
        presence: &[Presence],
        bucket: &Sizes,
    ) -> Vec<usize> {
        let mut before = Vec::new();
        // Weights are never written, so they order nothing.
        let args = step.args.iter().filter(|a| !matches!(a.region, Region::Weight(_)));
        let args = args.filter(|a| !first || !a.write);
        let args = args.map(|a| (a.region, a.offset, a.offset.saturating_add(a.ty.bytes(bucket)), a.write));
        let scratch = (Region::Arena, step.scratch.start, step.scratch.end, true);
        for (region, start, end, write) in args.chain([scratch]).filter(|(_, start, end, _)| start < end) {
            let stretches = self.0.entry(region).or_default();
            cut(stretches, start);
            cut(stretches, end);
            fill(stretches, start, end);
            for (_, stretch) in stretches.range_mut(start..end) {
                let clash = |(j, wrote): &&(usize, bool)| (write || *wrote) && *j != index;
                before.extend(stretch.phases.iter().filter(clash).map(|(j, _)| *j));
                if write {
                    // Those that have tiles where this phase has none still order what follows.
                    stretch.phases.retain(|(j, _)| presence[*j] < presence[index]);
                }
                stretch.phases.push((index, write));
            }
        }
        before.sort_unstable_by(|a, b| b.cmp(a));
        before.dedup();
        before
    }
}

/// Makes a border at a byte.
fn cut(stretches: &mut BTreeMap<u64, Stretch>, at: u64) {
    let Some((_, stretch)) = stretches.range_mut(..at).next_back().filter(|(_, s)| s.end > at) else { return };
    let behind = stretch.clone();
    stretch.end = at;
    stretches.insert(at, behind);
}

/// Puts empty stretches where there are none.
fn fill(stretches: &mut BTreeMap<u64, Stretch>, start: u64, end: u64) {
    let mut free = Vec::new();
    let mut at = start;
    for (begin, stretch) in stretches.range(start..end) {
        free.push(at..*begin);
        at = stretch.end;
    }
    free.push(at..end);
    for gap in free.into_iter().filter(|gap| gap.start < gap.end) {
        stretches.insert(gap.start, Stretch { end: gap.end, phases: Vec::new() });
    }
}
