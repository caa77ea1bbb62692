//! Many rows of a step: some groups are unpacked into memory that stays in the first cache, then all rows use them.

use super::super::formats::{Format, Packed, each_group};
use super::super::product::first;
use super::Unpacked;
use super::shared::{ahead, far};
use super::side::{Columns, GROUPS, Side};
use super::step::{InMemory, step};
use crate::isa::{F16x, Words};
use crate::panel::ROWS;
use std::marker::PhantomData;
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
    let all = x.count();
    let bytes = ROWS * F::BYTES * (all / F::GROUPS);
    let wide = panels.len() / bytes.max(1);
    for from in (0..all).step_by(GROUPS) {
        let count = GROUPS.min(all - from);
        let size = ROWS * F::BYTES * (count / F::GROUPS);
        let unpacked = first(unpacked, wide * count);
        // What a panel, or the one in its place of the next panels, has then: all rows take so long with the groups at hand
        // that the memory would stop meanwhile.
        let next = if from + count < all { from / F::GROUPS * ROWS * F::BYTES + size } else { panels.len() };
        for (panel, unpacked) in panels.chunks_exact(bytes).zip(unpacked.chunks_exact_mut(count)) {
            let columns = &panel[from / F::GROUPS * ROWS * F::BYTES..][..size];
            if I::KEEPS {
                ahead(isa, panel, next, size);
            }
            for (blocks, unpacked) in columns.chunks_exact(ROWS * F::BYTES).zip(unpacked.chunks_exact_mut(F::GROUPS)) {
                let head = F::head(isa, blocks);
                each_group!(F, |first, at| {
                    let q = Packed { blocks, head: &head, first, at, format: PhantomData::<F> };
                    unpacked[first + at].put::<I, F>(isa, q, &F::scales(isa, &head, first + at));
                });
            }
        }
        let (lines, of) = (size.div_ceil(64), x.blocks().count());
        for (j, (row, n)) in x.blocks().enumerate() {
            if !I::KEEPS {
                // The sums of the next rows come out of the second cache.
                ahead(isa, bytemuck::cast_slice(sums), (row + n) * wide * 64, n * wide * 64);
            }
            let (begin, end) = (j * lines / of, (j + 1) * lines / of);
            for (i, (panel, unpacked)) in panels.chunks_exact(bytes).zip(unpacked.chunks_exact(count)).enumerate() {
                if !I::KEEPS {
                    // A few lines at a time: there the first cache has no room for all of them.
                    far(isa, panel, next, 64 * begin, 64 * (end - begin));
                }
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
            step::<I, F, N>(isa, &unpacked.q, &unpacked.scales::<I, F>(isa), x, &mut sums);
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
        step::<I, F, N>(isa, &unpacked.q, &unpacked.scales::<I, F>(isa), x, &mut found);
    }
    for n in 0..N {
        sums[n * wide] = isa.lanes(found[n]);
    }
}
