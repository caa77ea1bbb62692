//! The one place where floats of these products are summed.

use super::super::formats::{Format, Scales};
use super::Unpacked;
use super::side::{Columns, Wide};
use crate::isa::{F16x, Quads, Words};
use bytemuck::Pod;
use std::ops::Range;
use std::sync::atomic::{Ordering, compiler_fence};

/// Sums of 16 columns of the result, by row.
pub(super) trait Sums<I: Words> {
    /// `sums[n] = fma(u, da, sums[n])`
    fn add(&mut self, isa: I, n: usize, u: I::F, da: f32);
}

/// In registers.
impl<I: Words, const N: usize> Sums<I> for [I::F; N] {
    #[inline(always)]
    fn add(&mut self, isa: I, n: usize, u: I::F, da: f32) {
        self[n] = isa.fma(u, isa.splat_float(da), self[n]);
    }
}

/// In memory.
pub(super) struct InMemory<'a, const N: usize>(pub(super) &'a mut [F16x; N]);

impl<I: Words, const N: usize> Sums<I> for InMemory<'_, N> {
    #[inline(always)]
    fn add(&mut self, isa: I, n: usize, u: I::F, da: f32) {
        let at = &mut self.0[n];
        *at = isa.lanes(isa.fma(u, isa.splat_float(da), isa.floats(at)));
    }
}

/// Sums out of memory.
#[inline(always)]
pub(super) fn load<I: Words, const N: usize>(isa: I, sums: &[F16x; N]) -> [I::F; N] {
    let mut found = [isa.splat_float(0.0); N];
    for n in 0..N {
        found[n] = isa.floats(&sums[n]);
    }
    found
}

/// Sums into memory.
#[inline(always)]
pub(super) fn store<I: Words, const N: usize>(isa: I, found: [I::F; N], sums: &mut [F16x; N]) {
    for n in 0..N {
        sums[n] = isa.lanes(found[n]);
    }
}

/// What the groups of a block are added to: with [`Format::LATE`] to nothing, else to all that was before.
#[inline(always)]
pub(super) fn begin<I: Words, F: Format, const N: usize>(isa: I, before: [I::F; N]) -> [I::F; N] {
    if F::LATE { [isa.splat_float(0.0); N] } else { before }
}

/// What was before with the sums of a block that [`begin`] began, whose scale is `d`.
#[inline(always)]
pub(super) fn end<I: Words, F: Format, const N: usize>(
    isa: I,
    mut sums: [I::F; N],
    d: I::F,
    before: [I::F; N],
) -> [I::F; N] {
    if F::LATE {
        for n in 0..N {
            sums[n] = isa.fma(sums[n], d, before[n]);
        }
    }
    sums
}

/// A group of 16 rows of a weight that is unpacked, in each of `P` panels, times one of `N` rows of a step.
pub(super) trait Step<const N: usize>: Pod {
    /// Adds them to `sums`.
    fn add<I: Words, F: Format, const P: usize>(&self, isa: I, groups: [&Unpacked; P], sums: &mut [impl Sums<I>; P]);
}

impl<const N: usize> Step<N> for Columns<N> {
    #[inline(always)]
    fn add<I: Words, F: Format, const P: usize>(&self, isa: I, groups: [&Unpacked; P], sums: &mut [impl Sums<I>; P]) {
        let (mut q, mut scales) = ([groups[0].quads(); P], [groups[0].scales::<I, F>(isa); P]);
        for p in 1..P {
            q[p] = groups[p].quads();
            scales[p] = groups[p].scales::<I, F>(isa);
        }
        step::<I, F, N, P>(isa, q, &scales, self, sums);
    }
}

/// Values of so many bits have neither minima nor scales of 16 values.
impl<const N: usize> Step<N> for Wide<N> {
    #[inline(always)]
    fn add<I: Words, F: Format, const P: usize>(&self, isa: I, groups: [&Unpacked; P], sums: &mut [impl Sums<I>; P]) {
        let [x @ .., scales] = self;
        for p in 0..P {
            let (dots, d) = (isa.wide_dots(&groups[p].q, x), isa.floats(&groups[p].d));
            for n in 0..N {
                sums[p].add(isa, n, isa.product(d, isa.to_floats(dots[n])), f32::from_bits(scales[n]));
            }
        }
    }
}

/// A group of 16 rows of a weight, in each of `P` panels, times one of `N` rows of a step, added to `sums`.
#[inline(always)]
pub(super) fn step<I: Words, F: Format, const N: usize, const P: usize>(
    isa: I,
    q: [impl Quads<I>; P],
    groups: &[Scales<I>; P],
    x: &Columns<N>,
    sums: &mut [impl Sums<I>; P],
) {
    // Scales of 16 values take two sums a row beside that of floats: registers have them for half of so many rows.
    if F::HALVES && N * P > 8 {
        rows::<I, F, N, P>(isa, q, groups, x, sums, 0..N / 2);
        // The compiler would mix them again.
        compiler_fence(Ordering::SeqCst);
        rows::<I, F, N, P>(isa, q, groups, x, sums, N / 2..N);
    } else {
        rows::<I, F, N, P>(isa, q, groups, x, sums, 0..N);
    }
}

/// The same for some of the rows.
#[inline(always)]
fn rows<I: Words, F: Format, const N: usize, const P: usize>(
    isa: I,
    q: [impl Quads<I>; P],
    groups: &[Scales<I>; P],
    x: &Columns<N>,
    sums: &mut [impl Sums<I>; P],
    rows: Range<usize>,
) {
    let [x @ .., scales, _, first, second, halves] = x;
    let dots = match F::HALVES {
        true => {
            let mut scale = [groups[0].scale; P];
            for p in 0..P {
                scale[p] = groups[p].scale;
            }
            F::scaled_dots(isa, q, scale, x, rows.clone(), [first, second], halves)
        }
        false => floats(isa, &F::dots(isa, q, x, first)),
    };
    for p in 0..P {
        let group = &groups[p];
        for n in rows.clone() {
            let mut u = if F::LATE { dots[p][n] } else { isa.product(group.d, dots[p][n]) };
            if F::MINIMUM {
                let asum = match F::HALVES {
                    true => isa.to_floats(isa.weighted(group.minimum, halves[n])),
                    false => isa.splat_float(f32::from_bits(first[n])),
                };
                u = isa.fma(group.m, asum, u);
            }
            sums[p].add(isa, n, u, f32::from_bits(scales[n]));
        }
    }
}

#[inline(always)]
fn floats<I: Words, const N: usize, const P: usize>(isa: I, words: &[[I::W; N]; P]) -> [[I::F; N]; P] {
    let mut floats = [[isa.splat_float(0.0); N]; P];
    for p in 0..P {
        for n in 0..N {
            floats[p][n] = isa.to_floats(words[p][n]);
        }
    }
    floats
}
