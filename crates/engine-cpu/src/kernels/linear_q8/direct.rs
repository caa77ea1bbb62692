//! A few rows of a step: each group is unpacked into registers and used by all of them.

use super::super::formats::{Format, Packed, each_group};
use super::shared::{self, far, fits, part};
use super::side::{Columns, GROUPS, Side};
use super::step::{begin, end, load, step, store};
use crate::isa::{self, Ahead, Cache, F16x, LANES, Quads, Words};
use crate::panel::ROWS;
use std::array::from_mut;
use std::marker::PhantomData;
use std::sync::atomic::{Ordering, compiler_fence};

/// The q of group `g`, which asks for its share of what lies behind when a vector is made.
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

/// The 16 columns of the result that a panel gives, of all rows.
#[inline(always)]
pub(super) fn panel<I: Words, F: Format>(isa: I, panel: &[u8], x: &Side, sums: &mut [F16x]) {
    sums.fill([0.0; LANES]);
    let all = x.count();
    // Rows that are not all side by side use some groups in turns, so that these come from memory once.
    let few = if x.blocks().count() == 1 { all } else { GROUPS };
    for from in (0..all).step_by(few.max(1)) {
        let groups = from..all.min(from + few);
        let bytes = |group: usize| group / F::GROUPS * ROWS * F::BYTES;
        let panel = &panel[bytes(groups.start)..bytes(groups.end)];
        for (row, rows) in x.blocks() {
            let ahead = if row == 0 { ahead::<F>(x.rows()) } else { NOTHING };
            macro_rules! rows {
                ($($n:literal)*) => {
                    match rows {
                        $($n if const { $n <= I::DIRECT } => {
                            if let Some(sums) = sums[row..].first_chunk_mut() {
                                add::<I, F, $n>(isa, panel, &x.groups::<$n, Columns<$n>>(0, all, row, 1)[groups.clone()], ahead, sums);
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

/// Nothing is asked for.
const NOTHING: Ahead = Ahead { bytes: 0, into: Cache::First };

/// What so many rows ask for.
#[inline(always)]
fn ahead<F: Format>(rows: usize) -> Ahead {
    let here = isa::far();
    match (rows, F::GROUPS) {
        (1 | 2, 1) => here.single,
        (1 | 2, _) => here.blocks,
        _ => here.many,
    }
}

/// Adds some groups of a panel times rows that lie side by side.
#[inline(always)]
fn add<I: Words, F: Format, const N: usize>(isa: I, panel: &[u8], x: &[Columns<N>], from: Ahead, out: &mut [F16x; N]) {
    let (mut sums, format) = (load(isa, out), PhantomData::<F>);
    for (blocks, x) in panel.chunks_exact(ROWS * F::BYTES).zip(x.chunks_exact(F::GROUPS)) {
        // A condition that is known, so that the rest is not even compiled.
        if const { fits::<I, F, N>() } {
            if let Some(x) = x.first_chunk() {
                shared::block::<I, F, N>(isa, blocks, x, from, &mut sums);
            }
            continue;
        }
        if F::GROUPS == 1 && N <= 2 {
            isa.prefetch(blocks);
        }
        let head = F::head(isa, blocks);
        let before = sums;
        sums = begin::<I, F, N>(isa, before);
        // Written out for one or two rows, so that shifts and places are constants. Groups are kept apart: the compiler
        // would mix the loads of all of them.
        macro_rules! groups {
            ($($g:literal)*) => {{$(
                let q = Packed { blocks, head: &head, first: $g / F::SHARED * F::SHARED, at: $g % F::SHARED, format };
                let q = Asking { q, from, g: $g };
                step::<I, F, N, 1>(isa, [q], &[F::scales(isa, &head, $g)], &x[$g], from_mut(&mut sums));
                compiler_fence(Ordering::SeqCst);
            )*}};
        }
        match (F::GROUPS, N) {
            (1, 1 | 2) => groups!(0),
            (_, 1 | 2) => groups!(0 1 2 3 4 5 6 7),
            _ => each_group!(F, |first, at| {
                let (g, q) = (first + at, Packed { blocks, head: &head, first, at, format });
                far(isa, blocks, from, g * blocks.len() / F::GROUPS, blocks.len() / F::GROUPS);
                step::<I, F, N, 1>(isa, [q], &[F::scales(isa, &head, g)], &x[g], from_mut(&mut sums));
                compiler_fence(Ordering::SeqCst);
            }),
        }
        sums = end::<I, F, N>(isa, sums, head.d, before);
    }
    store(isa, sums, out);
}
