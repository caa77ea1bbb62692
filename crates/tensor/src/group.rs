//! Layer groups: which positions the caches of a layer keep.

use crate::Visible;
use crate::ops::Window;

/// The positions that the caches of a group of layers keep. Group 0 is always [`Group::Full`]: it has the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Group {
    /// All positions.
    #[default]
    Full,
    /// What a row sees through a window, and [`RESERVE`] rows more.
    Window(Window),
}

/// Rows that a window group keeps beyond those that the next row sees, so that a sequence can go back a little: when a
/// prompt is asked again, when a reply ends with steps under way, when the host draws a token anew.
pub const RESERVE: usize = 16;

impl Group {
    /// The positions that a sequence of at least `len` tokens keeps; it has no end.
    pub fn keeps(self, len: usize) -> Visible {
        match self {
            Group::Full => Visible::new(0, 0, usize::MAX),
            Group::Window(Window { size, first }) => {
                Visible::new(first, len.saturating_sub(size.saturating_add(RESERVE - 1)), usize::MAX)
            }
        }
    }

    /// The positions before `len` that a row at this position sees: without them no row can be computed there.
    pub fn sees(self, len: usize) -> Visible {
        match self {
            Group::Full => Visible::new(0, 0, len),
            Group::Window(Window { size, first }) => Visible::new(first, (len + 1).saturating_sub(size), len),
        }
    }

    /// The most positions of a sequence that it keeps while a step computes so many rows: pages may hold more.
    pub fn most(self, rows: usize) -> usize {
        match self {
            Group::Full => usize::MAX,
            Group::Window(window) => window.most().saturating_add(RESERVE).saturating_add(rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_keeps_what_the_next_row_sees_and_the_reserve() {
        let group = Group::Window(Window { size: 4, first: 2 });
        for len in 0..60 {
            let [keeps, sees] = [group.keeps(len), group.sees(len)].map(|v| v.ranges());
            let has = |ranges: &[std::ops::Range<usize>; 2], p: usize| ranges.iter().any(|r| r.contains(&p));
            for p in 0..len {
                assert_eq!(has(&sees, p), p < 2 || p + 3 >= len, "{len}, {p}");
                assert_eq!(has(&keeps, p), p < 2 || p + 4 + 15 >= len, "{len}, {p}");
            }
            assert!(has(&keeps, len) && !has(&sees, len));
        }
        assert_eq!(Group::Full.keeps(100), Visible::new(0, 0, usize::MAX));
        assert_eq!(Group::Full.sees(100), Visible::new(0, 0, 100));
        assert_eq!((group.most(8), Group::Full.most(8)), (4 + 2 + 16 + 8, usize::MAX));
    }
}
