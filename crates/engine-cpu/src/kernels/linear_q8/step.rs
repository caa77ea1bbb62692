//! The one place where floats of these products are summed.

use super::super::formats::{Format, Group};
use super::side::Columns;
use crate::isa::Words;

/// A group of 16 rows of a weight times one of `N` rows of a step, added to `sums`.
#[inline(always)]
pub(super) fn step<I: Words, F: Format, const N: usize>(
    isa: I,
    group: &Group<I>,
    x: &Columns<N>,
    mut sums: [I::F; N],
) -> [I::F; N] {
    let [x @ .., scales, totals, firsts] = x;
    let zero = [isa.splat(0); N];
    if F::HALVES {
        let [a, b, c, d, e, f, g, h] = group.q;
        let (Some(x0), Some(x1)) = (x.first_chunk(), x.last_chunk()) else { return sums };
        let low = F::dots(isa, zero, &[a, b, c, d], x0);
        let high = F::dots(isa, zero, &[e, f, g, h], x1);
        for n in 0..N {
            let first = isa.splat(firsts[n]);
            let second = isa.sub(isa.splat(totals[n]), first);
            let low = isa.mul(group.scale[0], F::less_offset(isa, low[n], first));
            let high = isa.mul(group.scale[1], F::less_offset(isa, high[n], second));
            let mut u = isa.product(group.d, isa.to_floats(isa.add(low, high)));
            if F::MINIMUM {
                let asum = isa.add(isa.mul(group.minimum[0], first), isa.mul(group.minimum[1], second));
                u = isa.fma(group.m, isa.to_floats(asum), u);
            }
            sums[n] = isa.fma(u, isa.splat_float(f32::from_bits(scales[n])), sums[n]);
        }
    } else {
        let dots = F::dots(isa, zero, &group.q, x);
        for n in 0..N {
            let total = isa.splat(totals[n]);
            let mut u = isa.product(group.d, isa.to_floats(F::less_offset(isa, dots[n], total)));
            if F::MINIMUM {
                u = isa.fma(group.m, isa.to_floats(total), u);
            }
            sums[n] = isa.fma(u, isa.splat_float(f32::from_bits(scales[n])), sums[n]);
        }
    }
    sums
}
