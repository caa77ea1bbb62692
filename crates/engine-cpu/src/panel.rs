//! The layout of quantised weights: panels of 16 rows side by side, in the order in which kernels read them.
//!
//! A panel is its rows' blocks, column of blocks after column; of a column, first the scales of its 16 rows, then their
//! values, as 16 neighbours of 4 bytes at a time: lane = row. It takes the bytes of the file's rows, just permuted; the
//! last panel is filled up with rows of zeros.

mod pack;

pub(crate) use pack::{pack, pack_before};

use inkstone_compute::Layout;
use inkstone_tensor::DType;

/// The layout.
pub const PANEL16: Layout = Layout("panel16");

/// Rows of a panel.
pub(crate) const ROWS: usize = 16;

/// A part of a block: so many items of so many bytes, from several places of the block in turns.
pub(crate) struct Run {
    count: usize,
    bytes: usize,
    from: &'static [usize],
    form: Form,
}

/// How the bytes of an item are stored.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// As they are.
    Same,
    /// Signed bytes with 128 added.
    Unsigned,
    /// 32 bits, of which those 4 i .. 4 i + 4 become bit i of the four bytes: 4 neighbours in a row at a time.
    Fours,
    /// Three items side by side, whose bytes exchange bits: see [`THREES`].
    Threes,
}

/// Values of three bits. In the file, the first byte has the lower two bits of the first four groups, the second byte
/// the lower two bits of the other groups, and the third byte the upper bits. In a panel, the first byte has the values
/// of groups 0 and 1 from bits 0 and 4 on, the second byte the values of groups 4 and 5, the third byte the values of
/// groups 6 and 7, and each byte has one bit of groups 2 and 3, in bits 3 and 7.
///
/// Each row has the source byte, its bits, the target byte, and the left shift.
static THREES: &[(usize, u8, usize, i32)] = &[
    (0, 0x03, 0, 0),
    (0, 0x0c, 0, 2),
    (0, 0x10, 0, -1),
    (0, 0x20, 1, -2),
    (0, 0x40, 0, 1),
    (0, 0x80, 1, 0),
    (1, 0x03, 1, 0),
    (1, 0x0c, 1, 2),
    (1, 0x30, 2, -4),
    (1, 0xc0, 2, -2),
    (2, 0x01, 0, 2),
    (2, 0x02, 0, 5),
    (2, 0x04, 2, 1),
    (2, 0x08, 2, 4),
    (2, 0x10, 1, -2),
    (2, 0x20, 1, 1),
    (2, 0x40, 2, -4),
    (2, 0x80, 2, -1),
];

/// A byte's bits moved up, or down.
const fn moved(bits: u8, up: i32) -> u8 {
    if up < 0 { bits >> -up } else { bits << up }
}

const fn run(count: usize, bytes: usize, from: &'static [usize]) -> Run {
    Run { count, bytes, from, form: Form::Same }
}

/// The order of a block's parts, by format.
static RUNS: &[(DType, &[Run])] = &[
    (DType::Q4_0, &[run(1, 2, &[0]), run(4, 4, &[2])]),
    (DType::Q4_1, &[run(1, 2, &[0, 2]), run(4, 4, &[4])]),
    (DType::Q5_0, &[run(1, 2, &[0]), Run { form: Form::Fours, ..run(1, 4, &[2]) }, run(4, 4, &[6])]),
    (DType::Q5_1, &[run(1, 2, &[0, 2]), Run { form: Form::Fours, ..run(1, 4, &[4]) }, run(4, 4, &[8])]),
    (DType::Q8_0, &[run(1, 2, &[0]), Run { form: Form::Unsigned, ..run(8, 4, &[2]) }]),
    (DType::Q2_K, &[run(1, 2, &[80, 82]), run(4, 4, &[0]), run(16, 4, &[16])]),
    (DType::Q3_K, &[run(1, 2, &[108]), run(3, 4, &[96]), Run { form: Form::Threes, ..run(8, 4, &[32, 64, 0]) }]),
    (DType::Q4_K, &[run(1, 2, &[0, 2]), run(3, 4, &[4]), run(32, 4, &[16])]),
    (DType::Q5_K, &[run(1, 2, &[0, 2]), run(3, 4, &[4]), run(8, 4, &[16]), run(32, 4, &[48])]),
    // Each upper part is next to the two lines of nibbles that it completes.
    (DType::Q6_K, &[run(1, 2, &[208]), run(4, 4, &[192]), run(8, 4, &[0, 32, 128]), run(8, 4, &[64, 96, 160])]),
    (DType::IQ4_NL, &[run(1, 2, &[0]), run(4, 4, &[2])]),
    (DType::IQ4_XS, &[run(1, 2, &[0, 2]), run(1, 4, &[4]), run(32, 4, &[8])]),
    (DType::MXFP4, &[run(1, 1, &[0]), run(4, 4, &[1])]),
];

fn runs(dtype: DType) -> Option<&'static [Run]> {
    RUNS.iter().find(|(d, _)| *d == dtype).map(|(_, runs)| *runs)
}

/// Whether a format has the layout.
pub(crate) fn packs(dtype: DType) -> bool {
    runs(dtype).is_some()
}

/// Each item of a block: its bytes in the block, where it is in a column of a panel for lane 0, and its form.
fn items(runs: &[Run], mut item: impl FnMut(usize, usize, usize, Form)) {
    let mut to = 0;
    for run in runs {
        for i in 0..run.count {
            for from in run.from {
                item(from + i * run.bytes, run.bytes, to, run.form);
                to += ROWS * run.bytes;
            }
        }
    }
}

/// A row out of a panel, as it was.
pub(crate) fn unpack(dtype: DType, panel: &[u8], lane: usize, row: &mut [u8]) {
    let Some(runs) = runs(dtype) else { unreachable!("{dtype} has no panels, which load and prepare check") };
    let block = dtype.block_bytes();
    for (column, row) in panel.chunks_exact(ROWS * block).zip(row.chunks_exact_mut(block)) {
        items(runs, |to, bytes, from, form| {
            let (from, to) = (&column[from + lane * bytes..][..bytes], &mut row[to..][..bytes]);
            match (form, from.first_chunk(), to.first_chunk_mut()) {
                (Form::Unsigned, Some(from), Some(to)) => *to = from.map(|b| b ^ 0x80),
                (Form::Fours, Some(from), Some(to)) => *to = eights(u32::from_le_bytes(*from)).to_le_bytes(),
                _ => to.copy_from_slice(from),
            }
        });
        for run in runs.iter().filter(|run| run.form == Form::Threes) {
            for i in 0..run.count * run.bytes {
                let packed = [0, 1, 2].map(|byte| row[run.from[byte] + i]);
                let mut bytes = [0; 3];
                for (from, bits, to, up) in THREES {
                    bytes[*from] |= moved(packed[*to], -up) & bits;
                }
                for (from, byte) in run.from.iter().zip(bytes) {
                    row[from + i] = byte;
                }
            }
        }
    }
}

/// See [`Form::Fours`]: bit 4 i + byte becomes bit 8 byte + i, so the two lowest bits of each bit's number become its
/// highest two.
#[inline(always)]
fn fours(bits: u32) -> u32 {
    unshuffle(unshuffle(bits))
}

/// The inverse of [`fours`].
fn eights(bits: u32) -> u32 {
    // Rotating the five bits of the number by two and then by three is none.
    unshuffle(unshuffle(unshuffle(bits)))
}

/// Even bits to the lower half, odd ones to the upper: the lowest bit of each bit's number becomes its highest (Warren,
/// Hacker's Delight, 7-2).
#[inline(always)]
fn unshuffle(bits: u32) -> u32 {
    [(1, 0x2222_2222), (2, 0x0c0c_0c0c), (4, 0x00f0_00f0), (8, 0x0000_ff00)].into_iter().fold(bits, |x, (n, mask)| {
        let changed = (x ^ x >> n) & mask;
        x ^ changed ^ changed << n
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_block_is_taken_once() {
        for (dtype, runs) in RUNS {
            let mut taken = vec![0; dtype.block_bytes()];
            let mut next = 0;
            items(runs, |from, bytes, to, _| {
                assert_eq!(to, next, "{dtype}");
                next = to + ROWS * bytes;
                taken[from..from + bytes].iter_mut().for_each(|n| *n += 1);
            });
            assert_eq!((taken, next), (vec![1; dtype.block_bytes()], ROWS * dtype.block_bytes()), "{dtype}");
        }
    }

    #[test]
    fn fours_are_bits_of_bytes() {
        for bits in [0u32, 1, 0x8000_0000, 0xdead_beef, 0x1234_5678, !0] {
            let wanted = (0..32).fold(0, |sum, n| sum | (bits >> n & 1) << (n % 4 * 8 + n / 4));
            assert_eq!((fours(bits), eights(wanted)), (wanted, bits), "{bits:x}");
        }
    }

    #[test]
    fn rows_come_out_as_they_went_in() {
        for (dtype, _) in RUNS {
            let row = 3 * dtype.block_bytes();
            for count in [1, 5, 16] {
                let rows: Vec<u8> = (0..count * row).map(|i| (i * 73 / 8) as u8).collect();
                let mut panel = vec![7; ROWS * row];
                pack(*dtype, &rows, row, &mut panel);
                for (lane, wanted) in rows.chunks(row).enumerate() {
                    let mut found = vec![9; row];
                    unpack(*dtype, &panel, lane, &mut found);
                    assert_eq!(found, wanted, "{dtype}, row {lane} of {count}");
                }
            }
        }
    }
}
