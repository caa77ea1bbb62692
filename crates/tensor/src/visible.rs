//! The positions that rows of attention see.

use std::ops::Range;

/// The positions `0..first` and `from..end` of a sequence, where `first <= from <= end`; `from` is 0 if there is no position
/// in between. An end equal to `from` means that only the first ones are seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visible {
    /// The end of the first positions.
    pub first: usize,
    /// The first position of the others.
    pub from: usize,
    /// The end of the others.
    pub end: usize,
}

impl Visible {
    /// No position.
    pub const NONE: Visible = Visible { first: 0, from: 0, end: 0 };

    /// The positions `0..first` and `from..end`, which may overlap.
    pub fn new(first: usize, from: usize, end: usize) -> Visible {
        let first = first.min(end);
        match (from < end, from <= first) {
            (true, true) => Visible { first: 0, from: 0, end },
            (true, false) => Visible { first, from, end },
            (false, _) => Visible { first: 0, from: 0, end: first },
        }
    }

    /// Both ranges, in ascending order; either may be empty.
    pub fn ranges(self) -> [Range<usize>; 2] {
        [0..self.first, self.from..self.end]
    }

    /// Whether it has no position.
    pub fn is_empty(self) -> bool {
        self.end == 0
    }

    /// The first position.
    pub fn begin(self) -> usize {
        if self.first > 0 { 0 } else { self.from }
    }

    /// The positions of both, and those between two ranges that begin late.
    #[must_use]
    pub fn join(self, other: Visible) -> Visible {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => other,
            (_, true) => self,
            _ if self.begin().min(other.begin()) > 0 => {
                Visible::new(0, self.from.min(other.from), self.end.max(other.end))
            }
            _ => {
                // A range from 0 on may be the first positions of the other.
                let first = |v: Visible| if v.from == 0 { v.end } else { v.first };
                let late = |v: Visible| if v.from == 0 { usize::MAX } else { v.from };
                Visible::new(first(self).max(first(other)), late(self).min(late(other)), self.end.max(other.end))
            }
        }
    }

    /// The positions from `begin` up to `begin + count`, as distances from `begin`.
    #[must_use]
    pub fn cut(self, begin: usize, count: usize) -> Visible {
        let at = |position: usize| position.saturating_sub(begin).min(count);
        Visible::new(at(self.first), at(self.from), at(self.end))
    }

    /// The indices of the pages that hold them, with `size` positions each, in ascending order; one may come twice.
    pub fn pages(self, size: usize) -> impl Iterator<Item = usize> {
        self.ranges().into_iter().filter(|r| !r.is_empty()).flat_map(move |r| r.start / size..r.end.div_ceil(size))
    }

    /// The first position at or after `position`.
    pub fn next(self, position: usize) -> Option<usize> {
        let of = |range: Range<usize>| (position < range.end).then(|| position.max(range.start));
        self.ranges().into_iter().find_map(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{Attend, Window};

    fn positions(v: Visible) -> Vec<usize> {
        v.ranges().into_iter().flatten().collect()
    }

    /// All small windows at all early positions.
    fn all() -> Vec<(Visible, Vec<usize>)> {
        let mut all = vec![(Visible::NONE, vec![])];
        for size in [1, 2, 3, 5, 9, 30] {
            for first in [0, 1, 4, 7, 30] {
                let attend = Attend { heads: 1, kv_heads: 1, scale: 1.0, window: Some(Window { size, first }) };
                assert_eq!(Window { size, first }.most(), size + first);
                for row in 0..20 {
                    let sees = |p: &usize| *p < first || p + size > row;
                    all.push((attend.visible(row), (0..=row).filter(sees).collect()));
                }
            }
        }
        all
    }

    #[test]
    fn a_row_sees_itself_the_rows_before_it_and_the_first() {
        let all = all();
        for (visible, wanted) in &all {
            assert_eq!(&positions(*visible), wanted);
            assert_eq!(
                (visible.is_empty(), visible.begin()),
                (wanted.is_empty(), wanted.first().copied().unwrap_or(0))
            );
            let mut pages: Vec<usize> = visible.pages(3).collect();
            pages.dedup();
            let mut wanted_pages: Vec<usize> = wanted.iter().map(|p| p / 3).collect();
            wanted_pages.dedup();
            assert_eq!(pages, wanted_pages);
            for position in 0..22 {
                assert_eq!(visible.next(position), wanted.iter().copied().find(|p| *p >= position), "{visible:?}");
                for count in [1, 4, 30] {
                    let within = wanted.iter().filter(|p| (position..position + count).contains(*p));
                    let wanted: Vec<usize> = within.map(|p| p - position).collect();
                    assert_eq!(positions(visible.cut(position, count)), wanted, "{visible:?}, {position}, {count}");
                }
            }
            // Nothing is hidden from a row without a window, nor by one that reaches the beginning.
            if wanted.len() == visible.end {
                assert_eq!(*visible, Visible::new(0, 0, visible.end));
            }
        }
        // Joined: at least both, and of neighbouring rows no more.
        for (i, (a, a_positions)) in all.iter().enumerate() {
            for (j, (b, b_positions)) in all.iter().enumerate() {
                let joined = positions(a.join(*b));
                let mut both: Vec<usize> = a_positions.iter().chain(b_positions).copied().collect();
                both.sort_unstable();
                both.dedup();
                assert!(both.iter().all(|p| joined.contains(p)), "{a:?} {b:?}");
                if i + 1 == j && i % 20 != 0 {
                    assert_eq!(joined, both, "{a:?} {b:?}");
                }
            }
        }
    }
}
