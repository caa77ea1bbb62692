//! The one place where floats of these products are summed.

use super::super::formats::{Format, Scales};
use super::Unpacked;
use super::side::{Columns, FIRST, SCALES, Wide};
use crate::isa::{F16x, Quads, Words};
use bytemuck::Pod;
use std::ops::Range;
use std::sync::atomic::{Ordering, compiler_fence};

/// Sums of 16 columns of the result, by row.
pub(super) trait Sums<I: Words> {
    /// `floats[n] = fma(u, da, floats[n])`
    fn add(&mut self, isa: I, n: usize, u: I::F, da: f32);
    /// `words[n] += scaled`, of a block with [`Format::WHOLE`].
    fn add_words(&mut self, isa: I, n: usize, scaled: I::W);
}

/// In registers.
#[derive(Clone, Copy)]
pub(super) struct InRegisters<I: Words, const N: usize> {
    pub(super) floats: [I::F; N],
    pub(super) words: [I::W; N],
}

impl<I: Words, const N: usize> InRegisters<I, N> {
    /// The initial sums of a block: with [`Format::LATE`] and [`Format::WHOLE`] zero, else the sums so far.
    #[inline(always)]
    pub(super) fn begin<F: Format>(isa: I, before: [I::F; N]) -> InRegisters<I, N> {
        let floats = if F::LATE || F::WHOLE { [isa.splat_float(0.0); N] } else { before };
        InRegisters { floats, words: [isa.splat(0); N] }
    }

    /// Adds the sums of such a block, whose activations are `x`, to the sums so far.
    #[inline(always)]
    pub(super) fn end<F: Format>(&self, isa: I, block: &Scales<I>, x: &[Columns<N>], before: [I::F; N]) -> [I::F; N] {
        let mut sums = self.floats;
        if F::LATE {
            for n in 0..N {
                sums[n] = isa.fma(sums[n], block.d, before[n]);
            }
        }
        if F::WHOLE {
            for n in 0..N {
                let mut u = isa.product(block.d, isa.to_floats(self.words[n]));
                if F::MINIMUM {
                    u = isa.fma(block.m, isa.to_floats(minima(isa, block.minimum, x, n)), u);
                }
                sums[n] = isa.fma(u, isa.splat_float(f32::from_bits(x[0][SCALES][n])), before[n]);
            }
        }
        sums
    }
}

impl<I: Words, const N: usize> Sums<I> for InRegisters<I, N> {
    #[inline(always)]
    fn add(&mut self, isa: I, n: usize, u: I::F, da: f32) {
        OfPanel { floats: &mut self.floats, words: &mut self.words }.add(isa, n, u, da);
    }

    #[inline(always)]
    fn add_words(&mut self, isa: I, n: usize, scaled: I::W) {
        OfPanel { floats: &mut self.floats, words: &mut self.words }.add_words(isa, n, scaled);
    }
}

/// Where the sums of some panels take turns in registers: they come and go where they are added to, not before and
/// after.
pub(super) struct OfPanel<'a, I: Words, const N: usize> {
    pub(super) floats: &'a mut [I::F; N],
    pub(super) words: &'a mut [I::W; N],
}

impl<I: Words, const N: usize> Sums<I> for OfPanel<'_, I, N> {
    #[inline(always)]
    fn add(&mut self, isa: I, n: usize, u: I::F, da: f32) {
        self.floats[n] = isa.fma(u, isa.splat_float(da), self.floats[n]);
    }

    #[inline(always)]
    fn add_words(&mut self, isa: I, n: usize, scaled: I::W) {
        self.words[n] = isa.add(self.words[n], scaled);
    }
}

/// In memory.
pub(super) struct InMemory<'a, const N: usize> {
    pub(super) floats: &'a mut [F16x; N],
    pub(super) words: &'a mut [[u8; 64]; N],
}

impl<I: Words, const N: usize> Sums<I> for InMemory<'_, N> {
    #[inline(always)]
    fn add(&mut self, isa: I, n: usize, u: I::F, da: f32) {
        let at = &mut self.floats[n];
        *at = isa.lanes(isa.fma(u, isa.splat_float(da), isa.floats(at)));
    }

    #[inline(always)]
    fn add_words(&mut self, isa: I, n: usize, scaled: I::W) {
        let at = &mut self.words[n];
        *at = isa.bytes(isa.add(scaled, isa.load(at)));
    }
}

impl<const N: usize> InMemory<'_, N> {
    #[inline(always)]
    pub(super) fn load<I: Words>(&self, isa: I) -> InRegisters<I, N> {
        let mut words = [isa.splat(0); N];
        for (found, words) in words.iter_mut().zip(&*self.words) {
            *found = isa.load(words);
        }
        InRegisters { floats: load(isa, self.floats), words }
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

/// The minima of a block of eight groups times the sums of their activations. A word holds the sums of two groups.
#[inline(always)]
fn minima<I: Words, const N: usize>(isa: I, minimum: [I::W; 2], x: &[Columns<N>], n: usize) -> I::W {
    let mut sum = isa.splat(0);
    macro_rules! pairs {
        ($($g:literal)*) => {$(
            sum = isa.add(sum, isa.weighted_bytes(minimum[$g / 4], $g % 4, x[$g][FIRST][n]));
        )*};
    }
    pairs!(0 2 4 6);
    sum
}

/// A group of 16 rows of a weight that is unpacked, in each of `P` panels, times one of `N` rows of a step.
pub(super) trait Step<const N: usize>: Pod {
    /// Adds them to `sums`.
    fn add<I: Words, F: Format, const P: usize>(&self, isa: I, groups: [&Unpacked; P], sums: &mut [impl Sums<I>; P]);

    /// See [`InRegisters::end`]; blocks of one group have nothing that comes last.
    #[inline(always)]
    fn end<I: Words, F: Format>(
        _isa: I,
        sums: &InRegisters<I, N>,
        _block: &Scales<I>,
        _x: &[Self],
        _before: [I::F; N],
    ) -> [I::F; N] {
        sums.floats
    }
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

    #[inline(always)]
    fn end<I: Words, F: Format>(
        isa: I,
        sums: &InRegisters<I, N>,
        block: &Scales<I>,
        x: &[Self],
        before: [I::F; N],
    ) -> [I::F; N] {
        sums.end::<F>(isa, block, x, before)
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
    // Scales of 16 values need two sums per row in addition to the float sum, so registers hold only half of the rows.
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
    let mut scale = [groups[0].scale; P];
    for p in 0..P {
        scale[p] = groups[p].scale;
    }
    if F::WHOLE {
        let scaled = F::scaled_words(isa, q, scale, x, rows.clone(), [first, second]);
        for p in 0..P {
            for n in rows.clone() {
                sums[p].add_words(isa, n, scaled[p][n]);
            }
        }
        return;
    }
    let dots = match F::HALVES {
        true => F::scaled_dots(isa, q, scale, x, rows.clone(), [first, second]),
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
