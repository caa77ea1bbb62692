//! The steps that used each range of memory of a plan, up to the current step, which must run after them.

use super::Presence;
use crate::plan::{Region, Step};
use inkstone_tensor::Sizes;
use std::collections::BTreeMap;

/// A range of bytes that was used by the same steps: its end, and the steps with the information whether they wrote.
/// Steps before a later writer are omitted, because all steps after that writer also run after them.
#[derive(Clone, Debug)]
struct Stretch {
    end: u64,
    steps: Vec<(usize, bool)>,
}

/// Stretches by region, then by their first byte; they don't overlap.
#[derive(Debug, Default)]
pub(super) struct Touched(BTreeMap<Region, BTreeMap<u64, Stretch>>);

impl Touched {
    /// Adds a step; gives the earlier ones with which it has bytes in common that one of the two writes, the latest
    /// first.
    pub(super) fn add(&mut self, index: usize, step: &Step, presence: &[Presence], bucket: &Sizes) -> Vec<usize> {
        let mut before = Vec::new();
        // Weights are never written, so they order nothing.
        for a in step.args.iter().filter(|a| !matches!(a.region, Region::Weight(_))) {
            let (start, end) = (a.offset, a.offset.saturating_add(a.ty.bytes(bucket)));
            let stretches = self.0.entry(a.region).or_default();
            cut(stretches, start);
            cut(stretches, end);
            fill(stretches, start, end);
            for (_, stretch) in stretches.range_mut(start..end) {
                let clash = |(j, wrote): &&(usize, bool)| (a.write || *wrote) && *j != index;
                before.extend(stretch.steps.iter().filter(clash).map(|(j, _)| *j));
                if a.write {
                    // Those that have tiles where this step has none still order what follows.
                    stretch.steps.retain(|(j, _)| presence[*j] < presence[index]);
                }
                stretch.steps.push((index, a.write));
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
        stretches.insert(gap.start, Stretch { end: gap.end, steps: Vec::new() });
    }
}
