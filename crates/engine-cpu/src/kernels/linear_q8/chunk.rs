//! Many rows of a step: some groups are unpacked into memory that stays in the first cache, then all rows use them.

use super::super::formats::Format;
use super::super::product::first;
use super::Unpacked;
use super::side::{Columns, GROUPS, Side};
use super::step::{InMemory, step};
use crate::isa::{F16x, Words};
use crate::panel::ROWS;
use std::sync::atomic::{Ordering, compiler_fence};

/// The columns of the result that some panels give: of each row 16 a panel.
#[inline(always)]
pub(super) fn panels<I: Words, F: Format>(
    isa: I,
    panels: &[u8],
    x: &Side,
    unpacked: &mut Vec<Unpacked>,
    sums: &mut [F16x],
) {
    sums.as_flattened_mut().fill(0.0);
    let count = x.count();
    let bytes = ROWS * F::BYTES * (count / F::GROUPS);
    let wide = panels.len() / bytes.max(1);
    for from in (0..count).step_by(GROUPS) {
        let count = GROUPS.min(count - from);
        let unpacked = first(unpacked, wide * count);
        for (panel, unpacked) in panels.chunks_exact(bytes).zip(unpacked.chunks_exact_mut(count)) {
            let columns = &panel[from / F::GROUPS * ROWS * F::BYTES..];
            for (blocks, unpacked) in columns.chunks_exact(ROWS * F::BYTES).zip(unpacked.chunks_exact_mut(F::GROUPS)) {
                for (g, unpacked) in unpacked.iter_mut().enumerate() {
                    unpacked.put::<I, F>(isa, &F::group(isa, blocks, g));
                }
            }
        }
        for (row, n) in x.blocks() {
            for (i, unpacked) in unpacked.chunks_exact(count).enumerate() {
                block::<I, F>(isa, unpacked, x, from, row, n, &mut sums[row * wide + i..], wide);
            }
        }
    }
}

/// Rows that lie side by side: one of `BLOCKS`, to [`Words::SIDE`].
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn block<I: Words, F: Format>(
    isa: I,
    unpacked: &[Unpacked],
    x: &Side,
    from: usize,
    row: usize,
    n: usize,
    sums: &mut [F16x],
    wide: usize,
) {
    macro_rules! rows {
        ($($n:literal)*) => {
            match n {
                $($n if const { $n <= I::SIDE } => {
                    add::<I, F, $n>(isa, unpacked, x.groups(from, unpacked.len(), row), sums, wide)
                })*
                _ => {}
            }
        };
    }
    rows!(1 2 3 4 6 8 12);
}

#[inline(always)]
fn add<I: Words, F: Format, const N: usize>(
    isa: I,
    unpacked: &[Unpacked],
    x: &[Columns<N>],
    sums: &mut [F16x],
    wide: usize,
) {
    if !I::KEEPS {
        let mut sums = InMemory(sums, wide);
        for (unpacked, x) in unpacked.iter().zip(x) {
            step::<I, F, N>(isa, &unpacked.get::<I, F>(isa), x, &mut sums);
            // The compiler would load all sums before the loop, into registers that are not there.
            compiler_fence(Ordering::SeqCst);
        }
        return;
    }
    let mut found = [isa.splat_float(0.0); N];
    for n in 0..N {
        found[n] = isa.floats(&sums[n * wide]);
    }
    for (unpacked, x) in unpacked.iter().zip(x) {
        step::<I, F, N>(isa, &unpacked.get::<I, F>(isa), x, &mut found);
    }
    for n in 0..N {
        sums[n * wide] = isa.lanes(found[n]);
    }
}
