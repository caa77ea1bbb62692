//! Many rows of a step: some groups are unpacked into memory that stays in the first cache, then all rows use them.

use super::super::formats::{Format, Packed, each_group};
use super::super::product::first;
use super::Unpacked;
use super::shared::far;
use super::side::{Columns, GROUPS, Side, Wide, with_rows};
use super::step::{InMemory, InRegisters, Step, load, store};
use super::unpacked::is_wide;
use crate::isa::{Ahead, Body, Cache, F16x, LANES, Words};
use crate::panel::ROWS;
use bytemuck::Pod;
use std::marker::PhantomData;
use std::slice;
use std::sync::atomic::{Ordering, compiler_fence};

/// Computes the columns of the result for some panels. Sums are stored in the order of use: for each block of rows the
/// sums of a panel together, panel after panel.
///
/// The computation of all rows with the current groups takes so long that the memory would be idle meanwhile. Therefore
/// the next bytes are prefetched, a few lines with each tile: more lines at once would delay the current reads.
#[inline(always)]
pub(super) fn panels<I: Words, F: Format>(
    isa: I,
    panels: &[u8],
    x: Side,
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
        // The bytes that this panel, or its successor among the next panels, has next.
        let next = if from + count < all { from / F::GROUPS * ROWS * F::BYTES + size } else { panels.len() };
        let next = Ahead { bytes: next, into: Cache::Second };
        let lines = size.div_ceil(64);
        let mut asks = Asks { panels, bytes, next, lines, each: lines.div_ceil(x.blocks().count().max(1)), asked: 0 };
        for (row, n, blocks) in x.runs() {
            let sums = &mut sums[row * wide..][..blocks * n * wide];
            macro_rules! run {
                ($f:ty, $x:ty, $n:literal) => {{
                    let (x, sums) = (x.groups::<$n, $x>(from, count, row, blocks), sums.as_chunks_mut::<$n>().0);
                    isa.run(Many { isa, unpacked, x, count, asks: &mut asks, sums, format: PhantomData::<$f> });
                }};
                ($n:literal) => {
                    // Compiled once for all formats whose unpacked groups are used in the same way.
                    if const { is_wide::<I, F>() } {
                        run!(F::Like, Wide<$n>, $n);
                    } else if const { I::BY_BITS } {
                        run!(F, Columns<$n>, $n);
                    } else {
                        run!(F::Like, Columns<$n>, $n);
                    }
                };
            }
            with_rows!(n, I::SIDE, run: 1 2 3 4 6);
        }
    }
}

/// The prefetches while tiles are computed: some lines of each panel with each block of rows.
struct Asks<'p> {
    panels: &'p [u8],
    /// Of a panel.
    bytes: usize,
    next: Ahead,
    lines: usize,
    each: usize,
    asked: usize,
}

impl Asks<'_> {
    #[inline(always)]
    fn block<I: Words>(&mut self, isa: I) {
        let count = self.each.min(self.lines - self.asked);
        for panel in self.panels.chunks_exact(self.bytes) {
            far(isa, panel, self.next, 64 * self.asked, 64 * count);
        }
        self.asked += count;
    }
}

/// Blocks of `N` rows, each with `count` groups in `x`. A separate function, like the functions for few rows.
struct Many<'a, 'p, I, F, X, const N: usize> {
    isa: I,
    unpacked: &'a [Unpacked],
    x: &'a [X],
    count: usize,
    asks: &'a mut Asks<'p>,
    sums: &'a mut [[F16x; N]],
    format: PhantomData<F>,
}

impl<I: Words, F: Format, X: Step<N>, const N: usize> Body for Many<'_, '_, I, F, X, N> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Many { isa, unpacked, x, count, asks, sums, .. } = self;
        let wide = unpacked.len() / count;
        for (x, sums) in x.chunks_exact(count).zip(sums.chunks_exact_mut(wide)) {
            asks.block(isa);
            // A condition that is known, so that the other way is not even compiled.
            if const { I::KEEPS } {
                ask(isa, x, size_of_val(x), Cache::Second);
                asks.block(isa);
                for (unpacked, sums) in unpacked.chunks(count * I::PANELS).zip(sums.chunks_mut(I::PANELS)) {
                    match sums.len() {
                        2 if const { I::PANELS == 2 } => add::<I, F, X, N, 2>(isa, unpacked, x, sums),
                        _ => add::<I, F, X, N, 1>(isa, unpacked, x, sums),
                    }
                }
            } else {
                asks.block(isa);
                // The next rows come from the second cache: their activations are prefetched with the first panel.
                let mut next = size_of_val(x);
                for (unpacked, sums) in unpacked.chunks_exact(count).zip(sums) {
                    ask(isa, slice::from_ref(sums), wide * size_of_val(sums), Cache::First);
                    add_in_memory::<I, F, X, N>(isa, unpacked, x, next, sums);
                    next = 0;
                }
            }
        }
    }
}

/// Prefetches an equal number of bytes at a distance behind this slice, if the distance is not 0.
#[inline(always)]
fn ask<I: Words, T: Pod>(isa: I, this: &[T], bytes: usize, into: Cache) {
    let this = bytemuck::cast_slice(this);
    far(isa, this, Ahead { bytes, into }, 0, this.len());
}

/// All groups of these rows. They form whole blocks, because [`GROUPS`] is a multiple of the groups of a block in each
/// format.
#[inline(always)]
fn add<I: Words, F: Format, X: Step<N>, const N: usize, const P: usize>(
    isa: I,
    unpacked: &[Unpacked],
    x: &[X],
    sums: &mut [[F16x; N]],
) {
    let Some(sums) = sums.first_chunk_mut::<P>() else { return };
    let mut panels = [unpacked; P];
    for p in 0..P {
        panels[p] = &unpacked[p * x.len()..][..x.len()];
    }
    let mut floats = [[isa.splat_float(0.0); N]; P];
    for p in 0..P {
        floats[p] = load(isa, &sums[p]);
    }
    for (block, x) in x.chunks_exact(F::GROUPS).enumerate() {
        let mut found = [InRegisters::begin::<F>(isa, floats[0]); P];
        for p in 1..P {
            found[p] = InRegisters::begin::<F>(isa, floats[p]);
        }
        for (g, x) in x.iter().enumerate() {
            let mut groups = [&panels[0][block * F::GROUPS + g]; P];
            for p in 1..P {
                groups[p] = &panels[p][block * F::GROUPS + g];
            }
            x.add::<I, F, P>(isa, groups, &mut found);
        }
        for p in 0..P {
            let scales = panels[p][block * F::GROUPS].scales::<I, F>(isa);
            // Registers hold integers meanwhile.
            let before = if F::WHOLE { load(isa, &sums[p]) } else { floats[p] };
            floats[p] = X::end::<I, F>(isa, &found[p], &scales, x, before);
            if F::WHOLE {
                store(isa, floats[p], &mut sums[p]);
            }
        }
    }
    if F::WHOLE {
        return;
    }
    for p in 0..P {
        store(isa, floats[p], &mut sums[p]);
    }
}

/// The same for a panel whose sums do not fit in registers. With each group an equal part of the activations at a
/// distance of `next` bytes is prefetched, if this is not 0: all of them at once would delay the current reads.
#[inline(always)]
fn add_in_memory<I: Words, F: Format, X: Step<N>, const N: usize>(
    isa: I,
    unpacked: &[Unpacked],
    x: &[X],
    next: usize,
    sums: &mut [F16x; N],
) {
    if !F::LATE && !F::WHOLE {
        let mut words = [[0; 64]; N];
        return in_memory::<I, F, N>(isa, unpacked, x, next, &mut [InMemory { floats: sums, words: &mut words }]);
    }
    for (unpacked, x) in unpacked.chunks_exact(F::GROUPS).zip(x.chunks_exact(F::GROUPS)) {
        let (mut floats, mut words) = ([[0.0; LANES]; N], [[0; 64]; N]);
        let mut found = [InMemory { floats: &mut floats, words: &mut words }];
        in_memory::<I, F, N>(isa, unpacked, x, next, &mut found);
        let (found, scales) = (found[0].load(isa), unpacked[0].scales::<I, F>(isa));
        store(isa, X::end::<I, F>(isa, &found, &scales, x, load(isa, sums)), sums);
    }
}

#[inline(always)]
fn in_memory<I: Words, F: Format, const N: usize>(
    isa: I,
    unpacked: &[Unpacked],
    x: &[impl Step<N>],
    next: usize,
    sums: &mut [InMemory<N>; 1],
) {
    for (unpacked, x) in unpacked.iter().zip(x) {
        ask(isa, slice::from_ref(x), next, Cache::First);
        x.add::<I, F, 1>(isa, [unpacked], sums);
        // The compiler would load all sums before the loop, into registers that are not there.
        compiler_fence(Ordering::SeqCst);
    }
}
