//! A few rows of a step: each group is unpacked into registers and used by all of them.

use super::super::formats::{Format, Packed, each_group};
use super::shared::{self, far, fits, part};
use super::side::{Columns, Side};
use super::step::{begin, end, step};
use crate::isa::{self, Ahead, F16x, Quads, Words};
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
    macro_rules! rows {
        ($row:ident, $rows:ident: $($n:literal)*) => {
            match $rows {
                $($n if const { $n <= I::DIRECT } => {
                    let found = direct::<I, F, $n>(isa, panel, x.groups(0, x.count(), $row));
                    sums[$row..][..$n].copy_from_slice(&found);
                })*
                _ => {}
            }
        };
    }
    for (row, rows) in x.blocks() {
        rows!(row, rows: 1 2 4 8);
    }
}

#[inline(always)]
fn direct<I: Words, F: Format, const N: usize>(isa: I, panel: &[u8], x: &[Columns<N>]) -> [F16x; N] {
    let mut sums = [isa.splat_float(0.0); N];
    let (here, format) = (isa::far(), PhantomData::<F>);
    let from = match (N, F::GROUPS) {
        (1 | 2, 1) => here.single,
        (1 | 2, _) => here.blocks,
        _ => here.many,
    };
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
    let mut lanes = [[0.0; ROWS]; N];
    for n in 0..N {
        lanes[n] = isa.lanes(sums[n]);
    }
    lanes
}
