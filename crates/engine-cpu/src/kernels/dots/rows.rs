//! The rows of a weight in any layout.

use super::Line;
use crate::lines::{self, LINE, LINES4};
use crate::memory::View;
use std::ops::Range;

/// Rows of a weight.
#[derive(Clone, Copy)]
pub(in crate::kernels) struct Rows<'a> {
    bytes: &'a [u8],
    /// Bytes of each.
    row: usize,
    pub(super) count: usize,
    /// Whether they are stored in [`LINES4`], instead of one after the other.
    pub(super) lines4: bool,
}

impl<'a> Rows<'a> {
    /// Some rows of a weight; of one in groups they begin with a group.
    pub(in crate::kernels) fn of(w: &View<'a>, rows: Range<usize>) -> Rows<'a> {
        let (row, count, lines4) = (w.stride(), rows.len(), w.layout == LINES4);
        let bytes = match lines4 {
            true => w.groups(lines::ROWS, rows.start / lines::ROWS, count.div_ceil(lines::ROWS)),
            false => w.rows_from(rows.start, count),
        };
        Rows { bytes, row, count, lines4 }
    }

    /// Rows of floats, one after the other.
    pub(in crate::kernels) fn decoded(values: &'a [f32], cols: usize) -> Rows<'a> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        Rows { bytes, row: 4 * cols, count: values.len() / cols.max(1), lines4: false }
    }

    /// Bytes of each.
    pub(super) fn row_bytes(self) -> usize {
        self.row
    }

    /// Whole lines of each.
    #[inline(always)]
    pub(super) fn lines(self) -> usize {
        self.row / LINE
    }

    /// Row `i` of rows that are stored in groups of `T`.
    #[inline(always)]
    pub(super) fn row<const T: usize>(self, i: usize) -> Row<'a, T> {
        let group = &self.bytes[i / T * T * self.row..][..T * self.row];
        let (lines, rest) = group.split_at(self.row / LINE * LINE * T);
        Row {
            lines: lines.as_chunks().0.as_chunks().0,
            rest: &rest[i % T * (rest.len() / T)..][..rest.len() / T],
            at: i % T,
        }
    }
}

/// A row of rows that are stored in groups of `T`.
#[derive(Clone, Copy)]
pub(super) struct Row<'a, const T: usize> {
    /// Whole lines, of all of them.
    pub(super) lines: &'a [[Line; T]],
    /// The rest of this row.
    pub(super) rest: &'a [u8],
    /// Which of them it is.
    pub(super) at: usize,
}
