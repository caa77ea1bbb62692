//! A few rows of a step: each group is unpacked into registers and used by all of them.

use super::super::formats::{Format, Head, Packed, each_group};
use super::shared::{self, Column, far, fits, part};
use super::side::{Columns, GROUPS, Side, has_code};
use super::step::{InRegisters, OfPanel, load, step, store};
use crate::isa::{self, Ahead, Body, Cache, F16x, LANES, Quads, STREAMS, Words};
use crate::panel::ROWS;
use std::array::from_mut;
use std::marker::PhantomData;
use std::sync::atomic::{Ordering, compiler_fence};

/// The q of group `g`, which prefetches its share of the following bytes when a vector is unpacked.
#[derive(Clone, Copy)]
struct Asking<'a, I: Words, F> {
    q: Packed<'a, I, F>,
    from: Ahead,
    g: usize,
}

impl<'a, I: Words, F: Format> Quads<I> for Asking<'a, I, F> {
    const SIGNED: bool = Packed::<'a, I, F>::SIGNED;

    #[inline(always)]
    fn quad(self, isa: I, k: usize) -> I::W {
        part(isa, self.q.blocks, self.from, self.g, F::GROUPS, k);
        self.q.quad(isa, k)
    }

    #[inline(always)]
    fn signed(self, isa: I, k: usize) -> I::W {
        part(isa, self.q.blocks, self.from, self.g, F::GROUPS, k);
        self.q.signed(isa, k)
    }
}

/// How many panels so many rows go through at once.
#[inline(always)]
pub(super) fn streams<I: Words, F: Format>(rows: usize) -> usize {
    if is_side_by_side::<I, F>(rows) { isa::streams() } else { 1 }
}

/// Whether some panels can go through so many rows side by side.
pub(super) const fn is_side_by_side<I: Words, F: Format>(rows: usize) -> bool {
    match rows {
        1 => I::STREAMS && (F::GROUPS == 1 || fits::<I, F, 1>()),
        2 => I::STREAMS && (F::GROUPS == 1 || fits::<I, F, 2>()),
        _ => false,
    }
}

/// Computes the columns of the result for this number of panels, for all rows. For each block of rows, the columns of a
/// panel are stored together, panel after panel. `heads` is scratch memory.
#[inline(always)]
pub(super) fn panels<I: Words, F: Format>(
    isa: I,
    panels: &[u8],
    count: usize,
    x: Side,
    heads: &mut [Head<I>; STREAMS],
    sums: &mut [F16x],
) {
    sums.fill([0.0; LANES]);
    let all = x.count();
    // Rows that are not all side by side use some groups in turns, so that these come from memory once.
    let few = if x.blocks().count() == 1 { all } else { GROUPS };
    for from in (0..all).step_by(few.max(1)) {
        let groups = from..all.min(from + few);
        for (row, rows) in x.blocks() {
            let ahead = if row == 0 { ahead::<F>(x.rows()) } else { NOTHING };
            macro_rules! rows {
                ($($n:literal)*) => {
                    match rows {
                        $($n if const { has_code::<I, F>($n) } => {
                            let x = &x.groups::<$n, Columns<$n>>(0, all, row, 1)[groups.clone()];
                            let sums = &mut sums[row * count..].as_chunks_mut().0[..count];
                            let work = Few { isa, panels, first: from, x, ahead, sums, format: PhantomData::<F> };
                            // One panel of blocks of several groups needs less: its sums and scales stay in registers.
                            if const { is_side_by_side::<I, F>($n) } && (F::GROUPS == 1 || count > 1) {
                                isa.run(SideBySide(work, &mut *heads));
                            } else if const { F::GROUPS > 1 || !is_side_by_side::<I, F>($n) } {
                                isa.run(Alone(work));
                            }
                        })*
                        _ => {}
                    }
                };
            }
            rows!(1 2 4 8);
        }
    }
}

/// Some groups from `first` on of panels times `N` rows.
struct Few<'a, I, F, const N: usize> {
    isa: I,
    panels: &'a [u8],
    first: usize,
    x: &'a [Columns<N>],
    ahead: Ahead,
    /// One of each panel.
    sums: &'a mut [[F16x; N]],
    format: PhantomData<F>,
}

/// One panel.
struct Alone<'a, I, F, const N: usize>(Few<'a, I, F, N>);

impl<I: Words, F: Format, const N: usize> Body for Alone<'_, I, F, N> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Few { isa, panels, first, x, ahead, sums, .. } = self.0;
        let bytes = |group: usize| group / F::GROUPS * ROWS * F::BYTES;
        if let Some(sums) = sums.first_mut() {
            add::<I, F, N>(isa, &panels[bytes(first)..bytes(first + x.len())], x, ahead, sums);
        }
    }
}

/// Panels of which a piece of each is used in turns; with memory for their heads.
struct SideBySide<'a, I: Words, F, const N: usize>(Few<'a, I, F, N>, &'a mut [Head<I>; STREAMS]);

impl<I: Words, F: Format, const N: usize> Body for SideBySide<'_, I, F, N> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        side_by_side(self.0, self.1);
    }
}

/// Nothing is asked for.
const NOTHING: Ahead = Ahead { bytes: 0, into: Cache::First };

/// The prefetch distance for this number of rows.
#[inline(always)]
fn ahead<F: Format>(rows: usize) -> Ahead {
    let here = isa::far();
    match (rows, F::GROUPS) {
        (1 | 2, 1) => here.single,
        (1 | 2, _) => here.blocks,
        _ => here.many,
    }
}

/// Adds some groups of a panel times rows that are side by side.
#[inline(always)]
fn add<I: Words, F: Format, const N: usize>(isa: I, panel: &[u8], x: &[Columns<N>], from: Ahead, out: &mut [F16x; N]) {
    let (mut sums, format) = (load(isa, out), PhantomData::<F>);
    let (mut head, mut totals) = (Head::none(isa), [[isa.splat(0); N]; 4]);
    for (blocks, x) in panel.chunks_exact(ROWS * F::BYTES).zip(x.chunks_exact(F::GROUPS)) {
        // A condition that is known, so that the rest is not even compiled.
        if const { fits::<I, F, N>() } {
            if let Some(x) = x.first_chunk() {
                let (length, size) = (blocks.len(), blocks.len());
                let column = Column { panels: blocks, count: 1, length, at: 0, size, ahead: from };
                let (head, totals, sums) = (from_mut(&mut head), from_mut(&mut totals), from_mut(&mut sums));
                shared::block::<I, F, N, 1>(isa, column, x, head, totals, sums);
            }
            continue;
        }
        if const { F::GROUPS == 1 && N <= 2 } {
            single::<I, F, N>(isa, blocks, &x[0], from, &mut sums);
            continue;
        }
        let head = F::head(isa, blocks);
        let mut found = InRegisters::begin::<F>(isa, sums);
        // Written out for one or two rows, so that shifts and places are constants. Groups are kept apart: the compiler
        // would mix the loads of all of them.
        macro_rules! groups {
            ($($g:literal)*) => {{$(
                let q = Packed { blocks, head: &head, first: $g / F::SHARED * F::SHARED, at: $g % F::SHARED, format };
                let q = Asking { q, from, g: $g };
                step::<I, F, N, 1>(isa, [q], &[F::scales(isa, &head, $g)], &x[$g], from_mut(&mut found));
                compiler_fence(Ordering::SeqCst);
            )*}};
        }
        match N {
            1 | 2 => groups!(0 1 2 3 4 5 6 7),
            _ => each_group!(F, |first, at| {
                let (g, q) = (first + at, Packed { blocks, head: &head, first, at, format });
                far(isa, blocks, from, g * blocks.len() / F::GROUPS, blocks.len() / F::GROUPS);
                step::<I, F, N, 1>(isa, [q], &[F::scales(isa, &head, g)], &x[g], from_mut(&mut found));
                compiler_fence(Ordering::SeqCst);
            }),
        }
        sums = found.end::<F>(isa, &head.whole(), x, sums);
    }
    store(isa, sums, out);
}

/// Adds a block of one group times one or two rows.
#[inline(always)]
fn single<I: Words, F: Format, const N: usize>(
    isa: I,
    blocks: &[u8],
    x: &Columns<N>,
    from: Ahead,
    sums: &mut [I::F; N],
) {
    if const { !I::ONCE } {
        isa.prefetch(blocks);
    }
    let head = F::head(isa, blocks);
    let q = Packed { blocks, head: &head, first: 0, at: 0, format: PhantomData::<F> };
    let sums = &mut [OfPanel { floats: sums, words: &mut [isa.splat(0); N] }];
    step::<I, F, N, 1>(isa, [Asking { q, from, g: 0 }], &[F::scales(isa, &head, 0)], x, sums);
    compiler_fence(Ordering::SeqCst);
}

/// Adds groups from `first` on of some panels, of which a piece of each is used in turns: see [`Column`].
#[inline(always)]
fn side_by_side<I: Words, F: Format, const N: usize>(few: Few<I, F, N>, heads: &mut [Head<I>; STREAMS]) {
    let Few { isa, panels, first, x, ahead, sums: out, .. } = few;
    let (count, size) = (out.len().min(STREAMS), ROWS * F::BYTES);
    let length = panels.len() / count.max(1);
    let mut column = Column { panels, count, length, at: first / F::GROUPS * size, size, ahead };
    let (mut sums, mut totals) = ([[isa.splat_float(0.0); N]; STREAMS], [[[isa.splat(0); N]; 4]; STREAMS]);
    for (sums, out) in sums.iter_mut().zip(&*out) {
        *sums = load(isa, out);
    }
    for x in x.chunks_exact(F::GROUPS) {
        if const { F::GROUPS == 1 } {
            let from = column.ahead(0);
            for (p, sums) in sums[..count].iter_mut().enumerate() {
                single::<I, F, N>(isa, column.blocks(p), &x[0], from, sums);
            }
        } else if let Some(x) = x.first_chunk() {
            shared::block::<I, F, N, STREAMS>(isa, column, x, heads, &mut totals, &mut sums);
        }
        column.at += size;
    }
    for (sums, out) in sums.iter().zip(out) {
        store(isa, *sums, out);
    }
}
