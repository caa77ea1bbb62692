//! A few rows of a step: each group is unpacked into registers and used by all of them.

use super::super::formats::Format;
use super::side::{Columns, Side};
use super::step::{four_steps, step};
use crate::isa::{F16x, Words};
use crate::panel::ROWS;
use std::sync::atomic::{Ordering, compiler_fence};

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
        rows!(row, rows: 1 2 3 4 6 8);
    }
}

#[inline(always)]
fn direct<I: Words, F: Format, const N: usize>(isa: I, panel: &[u8], x: &[Columns<N>]) -> [F16x; N] {
    let mut sums = [isa.splat_float(0.0); N];
    for (blocks, x) in panel.chunks_exact(ROWS * F::BYTES).zip(x.chunks_exact(F::GROUPS)) {
        // Written out for one or two rows, so that shifts and places are constants. Groups are kept apart: the compiler
        // would mix the loads of all of them, and memory is only read at its speed if it is read in order.
        macro_rules! groups {
            ($($g:literal)*) => {{
                $(
                    step::<I, F, N>(isa, &F::group(isa, blocks, $g), &x[$g], &mut sums);
                    compiler_fence(Ordering::SeqCst);
                )*
            }};
        }
        match F::GROUPS {
            1 => {
                isa.fetch(blocks);
                groups!(0);
            }
            _ if const { F::FOUR && I::KEEPS && N <= 2 } => {
                if let [first, second] = x.as_chunks::<4>().0 {
                    four_steps::<I, F, N>(isa, blocks, 0, first, &mut sums);
                    four_steps::<I, F, N>(isa, blocks, 1, second, &mut sums);
                }
            }
            _ if N <= 2 => groups!(0 1 2 3 4 5 6 7),
            _ => {
                for (g, x) in x.iter().enumerate() {
                    step::<I, F, N>(isa, &F::group(isa, blocks, g), x, &mut sums);
                }
            }
        }
    }
    let mut lanes = [[0.0; ROWS]; N];
    for n in 0..N {
        lanes[n] = isa.lanes(sums[n]);
    }
    lanes
}
