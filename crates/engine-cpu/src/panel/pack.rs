//! Rows into panels: 16 rows of four words at a time are turned in registers.

use super::{Form, ROWS, Run, THREES, fours, items, moved, runs};
#[cfg(target_arch = "x86_64")]
use crate::isa::{Avx2, Avx512};
use crate::isa::{Body, Isa, Portable, Words};
use inkstone_tensor::DType;

/// Bytes that are turned at once, of each row.
const TURN: usize = 16;
/// Bytes of 16 words.
const LINE: usize = 4 * ROWS;

/// Packs consecutive rows of a matrix, at most 16, into a panel or into some of its columns of blocks. `row` is the
/// distance of two rows in bytes.
pub(crate) fn pack(dtype: DType, rows: &[u8], row: usize, panel: &mut [u8]) {
    pack_before(dtype, rows, row, &[], panel);
}

/// The same for who goes on with the rows `next`: they are asked for in the order of their bytes meanwhile. Machines
/// see that a thread reads on, but not where 16 rows that it reads at once go on.
pub(crate) fn pack_before(dtype: DType, rows: &[u8], row: usize, next: &[u8], panel: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(isa) = Avx512::detect() {
        return isa.run(Call { isa, dtype, rows, row, next, panel });
    } else if let Some(isa) = Avx2::detect() {
        return isa.run(Call { isa, dtype, rows, row, next, panel });
    }
    Call { isa: Portable, dtype, rows, row, next, panel }.call();
}

struct Call<'c, I> {
    isa: I,
    dtype: DType,
    rows: &'c [u8],
    row: usize,
    next: &'c [u8],
    panel: &'c mut [u8],
}

impl<I: Words> Body for Call<'_, I> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Call { isa, dtype, rows, row, next, panel } = self;
        columns(isa, dtype, rows, row, next, panel);
    }
}

#[inline(always)]
fn columns<I: Words>(isa: I, dtype: DType, rows: &[u8], row: usize, next: &[u8], panel: &mut [u8]) {
    let Some(runs) = runs(dtype) else { unreachable!("{dtype} has no panels, which load and prepare check") };
    let block = dtype.block_bytes();
    let count = rows.len().div_ceil(row.max(1)).min(ROWS);
    if count < ROWS {
        panel.fill(0);
    }
    let mut next = next.chunks(ROWS * block);
    for (b, column) in panel.chunks_exact_mut(ROWS * block).enumerate() {
        isa.prefetch(next.next().unwrap_or(&[]));
        let rows = &rows[b * block..];
        if count < ROWS || block < TURN {
            one_by_one(runs, rows, row, count, column);
        } else {
            lines(isa, runs, rows, row, block, column);
        }
        after(isa, runs, column);
    }
}

/// Packs several items together.
#[inline(always)]
fn after<I: Words>(isa: I, runs: &[Run], column: &mut [u8]) {
    let mut to = 0;
    for run in runs {
        let size = run.count * run.from.len() * ROWS * run.bytes;
        if run.form == Form::Threes {
            column[to..][..size].as_chunks_mut().0.as_chunks_mut().0.iter_mut().for_each(|three| threes(isa, three));
        }
        to += size;
    }
}

/// Packs a column of 16 rows with vectors.
#[inline(always)]
fn lines<I: Words>(isa: I, runs: &[Run], rows: &[u8], row: usize, block: usize, column: &mut [u8]) {
    let mut to = 0;
    for run in runs {
        let (item, turns) = (ROWS * run.bytes, run.from.len());
        for (i, from) in run.from.iter().enumerate() {
            let lines = Lines { from: *from, to: to + i * item, step: turns * item, run };
            match run.bytes {
                4 => lines.words(isa, rows, row, block, column),
                2 => lines.halves(isa, rows, row, block, column),
                _ => lines.one_by_one(rows, row, column),
            }
        }
        to += run.count * turns * item;
    }
}

/// See [`THREES`].
#[inline(always)]
fn threes<I: Words>(isa: I, lines: &mut [[u8; LINE]; 3]) {
    let given = [isa.load(&lines[0]), isa.load(&lines[1]), isa.load(&lines[2])];
    let mut out = [isa.splat(0); 3];
    for (from, bits, to, up) in THREES {
        let mask = isa.splat(u32::from_le_bytes([moved(*bits, *up); 4]));
        let n = up.unsigned_abs();
        let words = if *up < 0 { isa.shr(given[*from], n) } else { isa.shl(given[*from], n) };
        out[*to] = isa.or(out[*to], isa.and(words, mask));
    }
    for (line, out) in lines.iter_mut().zip(out) {
        *line = isa.bytes(out);
    }
}

/// The items of a run, which are consecutive in a block, from its byte `from` on. In a column they are `step` bytes
/// apart.
struct Lines<'r> {
    from: usize,
    to: usize,
    step: usize,
    run: &'r Run,
}

impl Lines<'_> {
    #[inline(always)]
    fn words<I: Words>(&self, isa: I, rows: &[u8], row: usize, block: usize, column: &mut [u8]) {
        for first in (0..self.run.count).step_by(4) {
            let from = self.from + 4 * first;
            if from + TURN > block {
                return self.one_by_one(rows, row, column);
            }
            for (i, line) in isa.turn(&rows[from..], row).into_iter().take(self.run.count - first).enumerate() {
                let Some(to) = column[self.to + (first + i) * self.step..].first_chunk_mut() else { return };
                self.store(isa, line, to);
            }
        }
    }

    #[inline(always)]
    fn store<I: Words>(&self, isa: I, line: I::W, to: &mut [u8; LINE]) {
        match self.run.form {
            Form::Same | Form::Threes => *to = isa.bytes(line),
            Form::Unsigned => {
                let sign = isa.splat(0x8080_8080);
                *to = isa.bytes(isa.sub(isa.or(line, sign), isa.and(line, sign)));
            }
            Form::Fours => {
                *to = isa.bytes(line);
                for word in to.as_chunks_mut().0 {
                    *word = fours(u32::from_le_bytes(*word)).to_le_bytes();
                }
            }
        }
    }

    /// An item of two bytes.
    #[inline(always)]
    fn halves<I: Words>(&self, isa: I, rows: &[u8], row: usize, block: usize, column: &mut [u8]) {
        let start = self.from.min(block - TURN);
        let (word, bits) = ((self.from - start) / 4, (self.from - start) % 4 * 8);
        if self.run.count != 1 || bits % 16 != 0 {
            return self.one_by_one(rows, row, column);
        }
        let line = isa.bytes(isa.turn(&rows[start..], row)[word]);
        let to = column[self.to..][..2 * ROWS].as_chunks_mut().0;
        for (to, word) in to.iter_mut().zip(line.as_chunks().0) {
            *to = ((u32::from_le_bytes(*word) >> bits) as u16).to_le_bytes();
        }
    }

    fn one_by_one(&self, rows: &[u8], row: usize, column: &mut [u8]) {
        let bytes = self.run.bytes;
        for i in 0..self.run.count {
            for (lane, to) in column[self.to + i * self.step..][..ROWS * bytes].chunks_exact_mut(bytes).enumerate() {
                item(self.run.form, &rows[lane * row + self.from + i * bytes..][..bytes], to);
            }
        }
    }
}

/// A column of `count` rows, without vectors.
fn one_by_one(runs: &[Run], rows: &[u8], row: usize, count: usize, column: &mut [u8]) {
    items(runs, |from, bytes, to, form| {
        for (lane, to) in column[to..][..ROWS * bytes].chunks_exact_mut(bytes).take(count).enumerate() {
            item(form, &rows[lane * row + from..][..bytes], to);
        }
    });
}

fn item(form: Form, from: &[u8], to: &mut [u8]) {
    match (form, from.first_chunk(), to.first_chunk_mut()) {
        (Form::Unsigned, Some(from), Some(to)) => *to = from.map(|b: u8| b ^ 0x80),
        (Form::Fours, Some(from), Some(to)) => *to = fours(u32::from_le_bytes(*from)).to_le_bytes(),
        _ => to.copy_from_slice(from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::RUNS;

    fn packed<I: Words>(isa: I, dtype: DType, rows: &[u8], row: usize, len: usize) -> Vec<u8> {
        let mut panel = vec![7; len];
        isa.run(Call { isa, dtype, rows, row, next: rows, panel: &mut panel });
        panel
    }

    #[test]
    fn every_set_packs_as_one_item_after_the_other() {
        for (dtype, runs) in RUNS {
            let (block, blocks) = (dtype.block_bytes(), 3);
            let (row, len) = (blocks * block, ROWS * blocks * block);
            let rows: Vec<u8> = (0..len).map(|i| (i * i * 73 / 8) as u8).collect();
            let mut wanted = vec![0; len];
            for (b, column) in wanted.chunks_exact_mut(ROWS * block).enumerate() {
                one_by_one(runs, &rows[b * block..], row, ROWS, column);
                after(Portable, runs, column);
            }
            assert_eq!(packed(Portable, *dtype, &rows, row, len), wanted, "{dtype}");
            #[cfg(target_arch = "x86_64")]
            if let Some(isa) = Avx2::detect() {
                assert_eq!(packed(isa, *dtype, &rows, row, len), wanted, "{dtype} on AVX2");
            }
            #[cfg(target_arch = "x86_64")]
            if let Some(isa) = Avx512::detect() {
                assert_eq!(packed(isa, *dtype, &rows, row, len), wanted, "{dtype} on AVX-512");
            }
            // A column of blocks out of wider rows.
            let end = len - row + 2 * block;
            let found = packed(Portable, *dtype, &rows[block..end], row, ROWS * block);
            assert_eq!(found, wanted[ROWS * block..2 * ROWS * block], "{dtype}");
        }
    }
}
