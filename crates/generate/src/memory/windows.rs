//! The memory of layer groups with windows.

use super::sum;
use inkstone_tensor::{Group, RESERVE};

/// The pools of layer groups with windows. A sequence has the pages of its window, and some more for checkpoints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    groups: Vec<OfGroup>,
    sequences: u64,
    /// The wanted number of checkpoints of a sequence.
    pub checkpoints: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct OfGroup {
    /// The bytes of a page.
    bytes: u64,
    /// The tokens of a page.
    page: u64,
    /// The tokens of a checkpoint, or of a sequence without its largest step and its first tokens.
    window: u64,
    /// The tokens of the largest step and the first ones.
    step: u64,
}

/// Checkpoints of a sequence, if nothing else is asked for.
pub(crate) const CHECKPOINTS: usize = 8;

impl Windows {
    /// Of the windows among `groups`, with pages of `page` tokens of so many bytes per group, and steps of up to `rows` rows.
    pub(super) fn of(
        groups: &[Group],
        page: usize,
        rows: usize,
        sequences: usize,
        bytes: impl Fn(usize) -> u64,
    ) -> Windows {
        let of = |(index, group): (usize, &Group)| match group {
            Group::Full => None,
            Group::Window(window) => Some(OfGroup {
                bytes: bytes(index),
                page: page as u64,
                window: window.size.saturating_add(RESERVE).saturating_add(page) as u64,
                step: window.first.saturating_add(rows).saturating_add(page) as u64,
            }),
        };
        let groups = groups.iter().enumerate().filter_map(of).collect();
        Windows { groups, sequences: sequences as u64, checkpoints: CHECKPOINTS as u64 }
    }

    /// The bytes of one sequence without checkpoints, in contexts of so many pages.
    pub fn least(&self, context: u64) -> u64 {
        sum(self.groups.iter().map(|group| group.pages(context, 1, 0).saturating_mul(group.bytes)))
    }

    /// The pages of each group for contexts of `context` pages within `bytes`, at most `most`: for all sequences with their
    /// checkpoints; if memory is short with fewer checkpoints, then for fewer sequences, at least for one.
    pub(super) fn pages(&self, context: u64, bytes: u64, most: u64) -> Vec<u64> {
        let all = |(sequences, checkpoints): (u64, u64)| -> Vec<u64> {
            self.groups.iter().map(|group| group.pages(context, sequences, checkpoints).min(most)).collect()
        };
        let fits = |pages: &Vec<u64>| {
            sum(pages.iter().zip(&self.groups).map(|(pages, group)| pages.saturating_mul(group.bytes))) <= bytes
        };
        let fewer_checkpoints = (0..=self.checkpoints).rev().map(|checkpoints| (self.sequences, checkpoints));
        let fewer_sequences = (1..self.sequences).rev().map(|sequences| (sequences, 0));
        fewer_checkpoints.chain(fewer_sequences).map(all).find(fits).unwrap_or_else(|| all((1, 0)))
    }
}

impl OfGroup {
    /// The pages of so many sequences, each with so many checkpoints, and at most its context.
    fn pages(&self, context: u64, sequences: u64, checkpoints: u64) -> u64 {
        let tokens = self.window.saturating_mul(checkpoints.saturating_add(1)).saturating_add(self.step);
        tokens.div_ceil(self.page).min(context).saturating_mul(sequences)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_tensor::ops::Window;

    #[test]
    fn checkpoints_go_before_sequences() {
        let groups = [Group::Full, Group::Window(Window { size: 96, first: 16 })];
        let windows = Windows::of(&groups, 16, 64, 4, |group| [1000, 10][group]);
        // 8 pages for a window or a checkpoint, 6 for the step: 78 with all checkpoints.
        let pages = |context, bytes| windows.pages(context, bytes, 1000)[0];
        assert_eq!((pages(1000, u64::MAX), pages(50, u64::MAX)), (4 * 78, 4 * 50));
        assert_eq!((pages(1000, 3119), pages(1000, 3120), pages(1000, 900)), (4 * 70, 4 * 78, 4 * 22));
        assert_eq!((pages(1000, 560), pages(1000, 559), pages(1000, 140), pages(1000, 0)), (56, 42, 14, 14));
        assert_eq!((windows.least(1000), windows.least(5)), (140, 50));
        assert_eq!(windows.pages(1000, u64::MAX, 100), [100]);
        let none = Windows { checkpoints: 0, ..windows };
        assert_eq!(none.pages(1000, u64::MAX, 1000), [4 * 14]);
        assert!(Windows::of(&groups[..1], 16, 64, 4, |_| 1).pages(10, 0, 10).is_empty());
    }
}
