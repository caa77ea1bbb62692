//! The layout of float weights: four rows together, with one cache line of each row in turn.
//!
//! A kernel uses four rows at once, and reads memory in one stream instead of four short ones. The rest of rows that
//! are not whole lines is stored after the lines of all four rows. The last group is padded with rows of zeros.

use inkstone_compute::Layout;
use inkstone_tensor::DType;
use std::ops::Range;

/// The layout.
pub const LINES4: Layout = Layout("lines4");

/// The number of rows that are stored together.
pub(crate) const ROWS: usize = 4;

/// The number of contiguous bytes of a row: a cache line.
pub(crate) const LINE: usize = 64;

/// Whether a dtype has the layout.
pub(crate) fn packs(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F16 | DType::BF16)
}

/// The place of byte `at` of row `lane` in a group, with the following bytes of its line. `row` is the size of a row in
/// bytes.
pub(crate) fn place(row: usize, lane: usize, at: usize) -> Range<usize> {
    let line = at / LINE * LINE;
    let width = LINE.min(row - line);
    let start = line * ROWS + lane * width;
    start + (at - line)..start + width
}

/// Puts rows of so many bytes, one after the other and four at most, into a group.
pub(crate) fn pack(rows: &[u8], row: usize, group: &mut [u8]) {
    if rows.len() < group.len() {
        group.fill(0);
    }
    for (lane, bytes) in rows.chunks_exact(row).enumerate() {
        for (i, line) in bytes.chunks(LINE).enumerate() {
            group[place(row, lane, i * LINE)].copy_from_slice(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_group_has_one_place() {
        for row in [1, 2, 63, 64, 66, 128, 1000] {
            for count in 1..=ROWS {
                let rows: Vec<u8> = (0..count * row).map(|i| (i * 73 / 8) as u8 | 1).collect();
                let mut group = vec![7; ROWS * row];
                pack(&rows, row, &mut group);
                for (lane, wanted) in rows.chunks(row).enumerate() {
                    let found: Vec<u8> = (0..row).map(|at| group[place(row, lane, at)][0]).collect();
                    assert_eq!(found, wanted, "row {lane} of {count} of {row} bytes");
                }
                let zeros = group.iter().filter(|byte| **byte == 0).count();
                assert_eq!(zeros, (ROWS - count) * row, "{count} rows of {row} bytes");
            }
        }
    }
}
