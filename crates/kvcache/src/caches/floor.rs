//! The largest length from which rows can be computed. A page counts as a whole: it has all rows of a text up to some place.

use inkstone_tensor::Group;

/// The rows of a sequence that are there: of each page, by its index, so many first places.
pub(super) struct Rows<P: Fn(usize) -> usize> {
    pub page: usize,
    pub places: P,
}

impl<P: Fn(usize) -> usize> Rows<P> {
    /// The first page that is missing or incomplete, of those that a sequence of `len` tokens needs: pages with rows that its
    /// next row sees, and the page in which it goes on. A page is complete with all its rows before `len`.
    pub fn incomplete(&self, group: Group, len: usize) -> Option<usize> {
        let Group::Window(window) = group else { return None };
        let last = (len + 1).saturating_sub(window.size).min(len / self.page * self.page) / self.page;
        let (first, last) = (0..window.first.min(len).div_ceil(self.page), last..len.div_ceil(self.page));
        first.chain(last).find(|&index| (self.places)(index) < self.page.min(len - index * self.page))
    }

    /// The floor of `len` in a group. A shorter sequence needs the same incomplete page, until it ends with its rows.
    fn floor(&self, group: Group, mut len: usize) -> usize {
        while let Some(index) = self.incomplete(group, len) {
            len = index * self.page + (self.places)(index);
        }
        len
    }
}

/// The floor of `len` in all groups: each is asked with the lowest answer so far, until none lowers it.
pub(super) fn common<P: Fn(usize) -> usize>(
    groups: &[Group],
    mut len: usize,
    rows: impl Fn(usize) -> Rows<P>,
) -> usize {
    loop {
        let lowest = groups.iter().enumerate().fold(len, |len, (i, group)| rows(i).floor(*group, len));
        if lowest == len {
            return len;
        }
        len = lowest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_tensor::ops::Window;

    /// By the definition: from `len` down, the first length whose next row sees only rows that are there, of pages that are
    /// complete up to it.
    fn plain(places: &[usize; 5], window: Window, len: usize) -> usize {
        let group = Group::Window(window);
        let complete = |m: usize, row: usize| places[row / 3] >= 3.min(m - row / 3 * 3);
        let fits = |m: &usize| {
            let mut rows = group.sees(*m).ranges().into_iter().flatten().chain(m / 3 * 3..*m);
            rows.all(|row| complete(*m, row))
        };
        (0..=len).rev().find(fits).unwrap_or(0)
    }

    #[test]
    fn floors_are_those_of_the_definition() {
        // All places of five pages of three rows.
        for places in (0..4usize.pow(5)).map(|n| [0, 1, 2, 3, 4].map(|i| n / 4usize.pow(i) % 4)) {
            let there: Vec<bool> = (0..15).map(|row| row % 3 < places[row / 3]).collect();
            for size in [1, 2, 3, 4, 6, 20] {
                for first in [0, 1, 4] {
                    let window = Window { size, first };
                    for len in 0..=15 {
                        let rows = Rows { page: 3, places: |i: usize| places[i] };
                        let found = rows.floor(Group::Window(window), len);
                        assert_eq!(found, plain(&places, window, len), "{places:?} {window:?} {len}");
                        let sees = Group::Window(window).sees(found).ranges();
                        assert!(sees.into_iter().flatten().all(|row| there[row]), "{places:?} {window:?} {len}");
                    }
                }
            }
        }
    }
}
