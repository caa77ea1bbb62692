//! Sets of steps of a plan, as bits.

#[derive(Clone, Debug, PartialEq)]
pub(super) struct StepSet(Vec<u64>);

impl StepSet {
    /// An empty set of steps below `steps`.
    pub(super) fn new(steps: usize) -> StepSet {
        StepSet(vec![0; steps.div_ceil(64)])
    }

    pub(super) fn insert(&mut self, step: usize) {
        self.0[step / 64] |= 1 << (step % 64);
    }

    pub(super) fn contains(&self, step: usize) -> bool {
        self.0[step / 64] >> (step % 64) & 1 != 0
    }

    pub(super) fn extend(&mut self, other: &StepSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// Adds what is in `other` and in `among`.
    pub(super) fn extend_among(&mut self, other: &StepSet, among: &StepSet) {
        self.0.iter_mut().zip(&other.0).zip(&among.0).for_each(|((a, b), c)| *a |= b & c);
    }
}
