//! Layout `planes32`: rows in panels of 32, in which words of the same place in each row are neighbours. So 32
//! neighbouring threads, one per row, read neighbouring words.
//!
//! A block is split into up to two planes. The first consists of words. The second has the bytes that fill no word,
//! such as the scale of two bytes of Q8_0; the bytes of successive blocks fill words together. Word i of a plane of
//! row r is word `(plane + i) * 32 + r` of the panel, where `plane` is 0 or [`Planes::second`]. In each plane rows are
//! padded to whole words, and rows of floats so that four values can be read at once. The last panel of a matrix is
//! filled up with rows of zeros.

use inkstone_tensor::DType;
use std::ops::Range;

/// Rows of a panel.
pub(crate) const PANEL: usize = 32;

/// A format: the bytes of its blocks that are in each plane, and the words that its readers read at once.
struct Format {
    dtype: DType,
    planes: [Range<usize>; 2],
    at_once: usize,
}

#[rustfmt::skip]
static FORMATS: [Format; 16] = [
    Format { dtype: DType::F32,    planes: [0..4, 0..0],       at_once: 4 },
    Format { dtype: DType::F16,    planes: [0..2, 0..0],       at_once: 2 },
    Format { dtype: DType::BF16,   planes: [0..2, 0..0],       at_once: 2 },
    Format { dtype: DType::Q4_0,   planes: [2..18, 0..2],      at_once: 1 },
    Format { dtype: DType::Q4_1,   planes: [0..20, 0..0],      at_once: 1 },
    Format { dtype: DType::Q5_0,   planes: [2..22, 0..2],      at_once: 1 },
    Format { dtype: DType::Q5_1,   planes: [0..24, 0..0],      at_once: 1 },
    Format { dtype: DType::Q8_0,   planes: [2..34, 0..2],      at_once: 1 },
    Format { dtype: DType::Q2_K,   planes: [0..84, 0..0],      at_once: 1 },
    Format { dtype: DType::Q3_K,   planes: [0..108, 108..110], at_once: 1 },
    Format { dtype: DType::Q4_K,   planes: [0..144, 0..0],     at_once: 1 },
    Format { dtype: DType::Q5_K,   planes: [0..176, 0..0],     at_once: 1 },
    Format { dtype: DType::Q6_K,   planes: [0..208, 208..210], at_once: 1 },
    Format { dtype: DType::IQ4_NL, planes: [2..18, 0..2],      at_once: 1 },
    Format { dtype: DType::IQ4_XS, planes: [0..136, 0..0],     at_once: 1 },
    Format { dtype: DType::MXFP4,  planes: [1..17, 0..1],      at_once: 1 },
];

fn format(dtype: DType) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.dtype == dtype)
}

/// The planes of rows of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planes {
    /// Words of a row before its second plane.
    pub(crate) second: usize,
    /// Words of a panel.
    pub(crate) panel_words: usize,
}

/// The planes of rows of `cols` values; none if this layout does not have the format, the row is not a whole number of
/// blocks, or a panel is too large to address.
pub(crate) fn planes(dtype: DType, cols: usize) -> Option<Planes> {
    let format = format(dtype)?;
    let (row, block) = (dtype.row_bytes(cols)?, dtype.block_bytes());
    let words = |plane: &Range<usize>| (row / block * plane.len()).div_ceil(4).checked_next_multiple_of(format.at_once);
    let (second, last) = (words(&format.planes[0])?, words(&format.planes[1])?);
    let panel_words = second.checked_add(last)?.checked_mul(PANEL)?;
    panel_words.checked_mul(4)?;
    Some(Planes { second, panel_words })
}

/// Writes a panel: up to 32 rows of `row` bytes each, as a file has them. `to` has the words of a panel.
pub(crate) fn pack(dtype: DType, rows: &[u8], row: usize, to: &mut [u32]) {
    to.fill(0);
    each_run(dtype, row, |from, at, len| {
        let words = if at % 4 == 0 { len / 4 } else { 0 };
        let lines = to.get_mut(at / 4 * PANEL..).unwrap_or_default();
        for (i, line) in lines.chunks_exact_mut(PANEL).take(words).enumerate() {
            for (bytes, word) in rows.chunks_exact(row).zip(line) {
                if let Some(&bytes) = bytes.get(from + 4 * i..).and_then(|bytes| bytes.first_chunk()) {
                    *word = u32::from_le_bytes(bytes);
                }
            }
        }
        for i in 4 * words..len {
            let line = to.get_mut((at + i) / 4 * PANEL..).unwrap_or_default();
            for (bytes, word) in rows.chunks_exact(row).zip(line) {
                *word |= u32::from(bytes[from + i]) << ((at + i) % 4 * 8);
            }
        }
    });
}

/// Calls a function for each run of neighbouring bytes of a row: the first byte in the row of the file, the first byte
/// in the row of the layout (all its planes, one after the other), and the number of bytes.
fn each_run(dtype: DType, row: usize, mut run: impl FnMut(usize, usize, usize)) {
    let block = dtype.block_bytes();
    let Some((format, planes)) = format(dtype).zip(planes(dtype, row / block * dtype.block())) else { return };
    for (plane, first) in format.planes.iter().zip([0, 4 * planes.second]) {
        if plane.len() == block {
            run(0, first, row);
            continue;
        }
        for i in 0..row / block {
            run(i * block + plane.start, first + i * plane.len(), plane.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The inverse of [`pack`].
    fn unpack(dtype: DType, panel: &[u32], row: usize, rows: &mut [u8]) {
        each_run(dtype, row, |from, at, len| {
            for (r, bytes) in rows.chunks_exact_mut(row).enumerate() {
                for i in 0..len {
                    bytes[from + i] = panel[(at + i) / 4 * PANEL + r].to_le_bytes()[(at + i) % 4];
                }
            }
        });
    }

    #[test]
    fn planes_have_every_byte_of_a_block_once() {
        for format in &FORMATS {
            let mut bytes: Vec<usize> = format.planes.iter().flat_map(|plane| plane.clone()).collect();
            bytes.sort_unstable();
            assert_eq!(bytes, (0..format.dtype.block_bytes()).collect::<Vec<_>>(), "{}", format.dtype);
        }
    }

    #[test]
    fn rows_come_out_as_they_went_in_and_missing_rows_are_zero() {
        for format in &FORMATS {
            let dtype = format.dtype;
            for (blocks, count) in
                [1, 2, 3, 7, 33].into_iter().flat_map(|blocks| [1, 5, 32].map(|count| (blocks, count)))
            {
                let planes = planes(dtype, blocks * dtype.block()).unwrap();
                let row = blocks * dtype.block_bytes();
                let rows: Vec<u8> = (0..count * row).map(|i| (i * i + i / 7 + 1) as u8).collect();
                let mut panel = vec![u32::MAX; planes.panel_words];
                pack(dtype, &rows, row, &mut panel);
                let mut again = vec![0xaa; PANEL * row];
                unpack(dtype, &panel, row, &mut again);
                assert_eq!(again[..rows.len()], rows, "{dtype}, {count} rows of {blocks} blocks");
                assert!(again[rows.len()..].iter().all(|byte| *byte == 0), "{dtype}, {count} rows of {blocks} blocks");
                let (sum, all) = (|bytes: &[u8]| bytes.iter().map(|b| u64::from(*b)).sum::<u64>(), panel.iter());
                let panel: Vec<u8> = all.flat_map(|word| word.to_le_bytes()).collect();
                assert_eq!(sum(&panel), sum(&rows), "{dtype}: the rest is zero");
            }
        }
    }

    #[test]
    fn words_are_where_shaders_read_them() {
        // Two blocks of Q8_0 in row 5: their bytes in 16 words, then both scales in one.
        let (row, planes) = (68, planes(DType::Q8_0, 64).unwrap());
        assert_eq!(planes, Planes { second: 16, panel_words: 17 * 32 });
        let mut rows = vec![0; 6 * row];
        rows[5 * row..].iter_mut().enumerate().for_each(|(i, byte)| *byte = i as u8);
        let mut panel = vec![0; planes.panel_words];
        pack(DType::Q8_0, &rows, row, &mut panel);
        let word = |bytes: [u8; 4]| u32::from_le_bytes(bytes);
        let found = [0, 7, 8, 16].map(|i| panel[i * 32 + 5]);
        assert_eq!(found, [[2, 3, 4, 5], [30, 31, 32, 33], [36, 37, 38, 39], [0, 1, 34, 35]].map(word));
    }

    #[test]
    fn rows_of_floats_end_with_whole_reads_of_four() {
        let second = |dtype, cols| planes(dtype, cols).map(|planes| planes.second);
        assert_eq!([1, 4, 5].map(|cols| second(DType::F32, cols)), [Some(4), Some(4), Some(8)]);
        assert_eq!([1, 4, 5].map(|cols| second(DType::F16, cols)), [Some(2), Some(2), Some(4)]);
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        for (dtype, cols) in [(DType::Q8_0, 33), (DType::Q4_K, 32), (DType::Q8_1, 32), (DType::F64, 4)] {
            assert_eq!(planes(dtype, cols), None, "{dtype} {cols}");
        }
        for format in &FORMATS {
            let most = usize::MAX / format.dtype.block() * format.dtype.block();
            assert_eq!(planes(format.dtype, most), None, "{}", format.dtype);
        }
        // 32 rows of so many words fit, but not their bytes.
        assert_eq!(planes(DType::F32, usize::MAX / 100), None);
    }
}
