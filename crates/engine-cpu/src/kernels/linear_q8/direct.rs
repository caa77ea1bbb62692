//! A few rows of a step: each group is unpacked into registers and used by all of them.

use super::super::formats::Format;
use super::side::{GROUPS, Side};
use super::step::step;
use super::{LARGEST, column};
use crate::isa::{LANES, Words};
use crate::memory::View;

/// The 16 columns of the result from `first` on, of all rows.
#[inline(always)]
pub(super) fn panel<I: Words, F: Format>(isa: I, w: &View, first: usize, x: Side, sums: &mut [[f32; LANES]]) {
    macro_rules! rows {
        ($($n:literal)*) => {
            match sums.len() {
                $($n => sums.copy_from_slice(&direct::<I, F, $n>(isa, w, first, x)),)*
                _ => {}
            }
        };
    }
    rows!(1 2 3 4 5 6 7 8);
}

#[inline(always)]
fn direct<I: Words, F: Format, const N: usize>(isa: I, w: &View, first: usize, x: Side) -> [[f32; LANES]; N] {
    let mut sums = [isa.splat_float(0.0); N];
    let mut buffer = [0; LARGEST];
    let count = x.count();
    for from in (0..count).step_by(GROUPS) {
        let x = x.groups::<N>(from, GROUPS.min(count - from), 0);
        for (b, x) in x.chunks_exact(F::GROUPS).enumerate() {
            let blocks = column::<I, F>(isa, w, first, from / F::GROUPS + b, &mut buffer);
            for (g, x) in x.iter().enumerate() {
                step::<I, F, N>(isa, &F::group(isa, blocks, g), x, &mut sums);
            }
        }
    }
    let mut lanes = [[0.0; LANES]; N];
    for n in 0..N {
        lanes[n] = isa.lanes(sums[n]);
    }
    lanes
}
