//! Many rows of a step: some groups are unpacked into memory that stays in the first cache, then all rows use them.

use super::super::formats::Format;
use super::super::product::first as room;
use super::side::{Columns, GROUPS, Side};
use super::step::step;
use super::{LARGEST, Unpacked, column};
use crate::isa::{LANES, Words};
use crate::memory::View;
use std::sync::atomic::{Ordering, compiler_fence};

/// The 16 columns of the result from `first` on, of all rows.
#[inline(always)]
pub(super) fn panel<I: Words, F: Format>(
    isa: I,
    w: &View,
    first: usize,
    x: Side,
    unpacked: &mut Vec<Unpacked>,
    sums: &mut [[f32; LANES]],
) {
    let mut buffer = [0; LARGEST];
    sums.as_flattened_mut().fill(0.0);
    let count = x.count();
    for from in (0..count).step_by(GROUPS) {
        let count = GROUPS.min(count - from);
        let unpacked = room(unpacked, count);
        for (b, unpacked) in unpacked.chunks_mut(F::GROUPS).enumerate() {
            let blocks = column::<I, F>(isa, w, first, from / F::GROUPS + b, &mut buffer);
            for (g, unpacked) in unpacked.iter_mut().enumerate() {
                unpacked.put::<I, F>(isa, &F::group(isa, blocks, g));
            }
        }
        for (row, n) in x.blocks() {
            block::<I, F>(isa, unpacked, x, from, row, &mut sums[row..][..n]);
        }
    }
}

/// Rows that lie side by side: 1 to [`Words::SIDE`].
#[inline(always)]
fn block<I: Words, F: Format>(
    isa: I,
    unpacked: &[Unpacked],
    x: Side,
    from: usize,
    row: usize,
    sums: &mut [[f32; LANES]],
) {
    macro_rules! rows {
        ($($n:literal)*) => {
            match sums.len() {
                $($n if const { $n <= I::SIDE } => {
                    add::<I, F, $n>(isa, unpacked, x.groups(from, unpacked.len(), row), sums)
                })*
                _ => {}
            }
        };
    }
    rows!(1 2 3 4 5 6 7 8 9 10 11 12);
}

#[inline(always)]
fn add<I: Words, F: Format, const N: usize>(
    isa: I,
    unpacked: &[Unpacked],
    x: &[Columns<N>],
    sums: &mut [[f32; LANES]],
) {
    if !I::KEEPS {
        for (unpacked, x) in unpacked.iter().zip(x) {
            step::<I, F, N>(isa, &unpacked.get::<I, F>(isa), x, &mut sums[..N]);
            // The compiler would load all sums before the loop, into registers that are not there.
            compiler_fence(Ordering::SeqCst);
        }
        return;
    }
    let mut found = [isa.splat_float(0.0); N];
    for n in 0..N {
        found[n] = isa.floats(&sums[n]);
    }
    for (unpacked, x) in unpacked.iter().zip(x) {
        step::<I, F, N>(isa, &unpacked.get::<I, F>(isa), x, &mut found);
    }
    for n in 0..N {
        sums[n] = isa.lanes(found[n]);
    }
}
