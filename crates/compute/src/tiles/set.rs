//! Sets of phases of a plan, as bits.

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Set(Vec<u64>);

impl Set {
    /// An empty set of phases below `count`.
    pub(super) fn new(count: usize) -> Set {
        Set(vec![0; count.div_ceil(64)])
    }

    pub(super) fn insert(&mut self, phase: usize) {
        self.0[phase / 64] |= 1 << (phase % 64);
    }

    pub(super) fn contains(&self, phase: usize) -> bool {
        self.0[phase / 64] >> (phase % 64) & 1 != 0
    }

    pub(super) fn extend(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// Adds what is in `other` and in `among`.
    pub(super) fn extend_among(&mut self, other: &Set, among: &Set) {
        self.0.iter_mut().zip(&other.0).zip(&among.0).for_each(|((a, b), c)| *a |= b & c);
    }
}
