//! Many rows of a step: some groups are unpacked into memory that stays in the first cache, then all rows use them.

use super::super::formats::{Format, Packed, each_group};
use super::super::product::first;
use super::shared::{ahead, far};
use super::side::{Columns, GROUPS, Side};
use super::step::{InMemory, begin, end, step};
use super::{PANELS, Unpacked};
use crate::isa::{F16x, LANES, Words};
use crate::panel::ROWS;
use std::marker::PhantomData;
use std::sync::atomic::{Ordering, compiler_fence};

/// The columns of the result that some panels give. Sums lie as they are used: of each block of rows those of a panel together,
/// panel after panel.
///
/// All rows take so long with the groups at hand that the memory would stop meanwhile. So what comes next is asked for, a few
/// lines with each tile: more of them at once would hold up what is wanted now.
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
        for (panel, unpacked) in panels.chunks_exact(bytes).zip(unpacked.chunks_exact_mut(count)) {
            let columns = &panel[from / F::GROUPS * ROWS * F::BYTES..][..size];
            for (blocks, unpacked) in columns.chunks_exact(ROWS * F::BYTES).zip(unpacked.chunks_exact_mut(F::GROUPS)) {
                let head = F::head(isa, blocks);
                each_group!(F, |first, at| {
                    let q = Packed { blocks, head: &head, first, at, format: PhantomData::<F> };
                    unpacked[first + at].put::<I, F>(isa, q, &F::scales(isa, &head, first + at));
                });
            }
        }
        // What a panel, or the one in its place of the next panels, has then.
        let next = if from + count < all { from / F::GROUPS * ROWS * F::BYTES + size } else { panels.len() };
        let (lines, of) = (size.div_ceil(64), x.blocks().count());
        for (j, (row, n)) in x.blocks().enumerate() {
            let sums = &mut sums[row * wide..];
            if !I::KEEPS {
                // The sums of the next rows come out of the second cache.
                ahead(isa, bytemuck::cast_slice(sums), n * wide * 64, n * wide * 64);
            }
            let (begin, end) = (j * lines / of, (j + 1) * lines / of);
            let tiles = panels.chunks_exact(bytes).zip(unpacked.chunks_exact(count)).zip(sums.chunks_exact_mut(n));
            for (i, ((panel, unpacked), sums)) in tiles.enumerate() {
                far(isa, panel, next, 64 * begin, 64 * (end - begin));
                x.ahead(isa, from, count, row + n, i, PANELS);
                tile::<I, F>(isa, unpacked, x, from, row, n, sums);
            }
        }
    }
}

/// Rows that lie side by side: one of `BLOCKS`, to [`Words::SIDE`].
#[inline(always)]
fn tile<I: Words, F: Format>(
    isa: I,
    unpacked: &[Unpacked],
    x: &Side,
    from: usize,
    row: usize,
    n: usize,
    sums: &mut [F16x],
) {
    macro_rules! rows {
        ($($n:literal)*) => {
            match n {
                $($n if const { $n <= I::SIDE } => {
                    if let Some(sums) = sums.first_chunk_mut() {
                        add::<I, F, $n>(isa, unpacked, x.groups(from, unpacked.len(), row), sums);
                    }
                })*
                _ => {}
            }
        };
    }
    rows!(1 2 3 4 6 8 12);
}

/// All groups of these rows: whole blocks, since [`GROUPS`] are a multiple of those of each format.
#[inline(always)]
fn add<I: Words, F: Format, const N: usize>(isa: I, unpacked: &[Unpacked], x: &[Columns<N>], sums: &mut [F16x; N]) {
    let blocks = unpacked.chunks_exact(F::GROUPS).zip(x.chunks_exact(F::GROUPS));
    if I::KEEPS {
        let mut found = load(isa, sums);
        for (unpacked, x) in blocks {
            let before = found;
            found = begin::<I, F, N>(isa, before);
            for (unpacked, x) in unpacked.iter().zip(x) {
                step::<I, F, N>(isa, &unpacked.q, &unpacked.scales::<I, F>(isa), x, &mut found);
            }
            found = end::<I, F, N>(isa, found, isa.floats(&unpacked[0].d), before);
        }
        store(isa, found, sums);
        return;
    }
    if !F::LATE {
        return in_memory::<I, F, N>(isa, unpacked, x, sums);
    }
    for (unpacked, x) in blocks {
        let mut block = [[0.0; LANES]; N];
        in_memory::<I, F, N>(isa, unpacked, x, &mut block);
        let found = end::<I, F, N>(isa, load(isa, &block), isa.floats(&unpacked[0].d), load(isa, sums));
        store(isa, found, sums);
    }
}

#[inline(always)]
fn in_memory<I: Words, F: Format, const N: usize>(
    isa: I,
    unpacked: &[Unpacked],
    x: &[Columns<N>],
    sums: &mut [F16x; N],
) {
    let mut sums = InMemory(sums);
    for (unpacked, x) in unpacked.iter().zip(x) {
        step::<I, F, N>(isa, &unpacked.q, &unpacked.scales::<I, F>(isa), x, &mut sums);
        // The compiler would load all sums before the loop, into registers that are not there.
        compiler_fence(Ordering::SeqCst);
    }
}

#[inline(always)]
fn load<I: Words, const N: usize>(isa: I, sums: &[F16x; N]) -> [I::F; N] {
    let mut found = [isa.splat_float(0.0); N];
    for n in 0..N {
        found[n] = isa.floats(&sums[n]);
    }
    found
}

#[inline(always)]
fn store<I: Words, const N: usize>(isa: I, found: [I::F; N], sums: &mut [F16x; N]) {
    for n in 0..N {
        sums[n] = isa.lanes(found[n]);
    }
}
