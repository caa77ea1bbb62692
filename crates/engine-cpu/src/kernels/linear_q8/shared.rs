//! Blocks whose groups share bytes, and few rows of a step: these groups are unpacked together, so that memory is read
//! in order.
//!
//! Scales of one or two rows are multiplied with sums of integers here, and as floats in [`step`](super::step):
//! `d f32(scale isum)` is `(d scale) f32(isum)`, bit by bit, since what stands in parentheses is exact. `d` has 11 bits
//! and a scale 7; a product of `scale` and `isum` has at most 24.

use super::super::formats::{Format, Head};
use super::side::{Columns, FIRST, SCALES};
use super::step::{InRegisters, OfPanel, Sums};
use crate::isa::{Ahead, Words};
use std::sync::atomic::{Ordering, compiler_fence};

/// Where [`Columns`] have what minima of halves take.
const HALVES: usize = 12;

/// Calls a macro with each of some numbers: written out, so that everything stays in registers.
macro_rules! each {
    ($f:ident: $($a:literal),*) => {{ $($f!($a);)* }};
}

/// Whether this is for so many rows: if registers hold the sums.
pub(super) const fn fits<I: Words, F: Format, const N: usize>() -> bool {
    // The sums of halves are next to the sums of groups.
    let sums = if F::HALVES { 2 * F::SHARED } else { F::SHARED };
    F::SHARED > 1 && sums * N <= I::WHOLE
}

/// Prefetches `count` bytes from `at` on at a distance behind these bytes. Any address is valid. Many rows take so long
/// that the memory would be idle meanwhile. With few rows, some processors read ahead best without prefetches, others
/// need them (see [`isa::far`]).
///
/// [`isa::far`]: crate::isa::far
#[inline(always)]
pub(super) fn far<I: Words>(isa: I, blocks: &[u8], from: Ahead, at: usize, count: usize) {
    if from.bytes == 0 {
        return;
    }
    let next = blocks.as_ptr().wrapping_add(from.bytes + at);
    for line in 0..count.div_ceil(64) {
        isa.prefetch_into(next.wrapping_add(64 * line), from.into);
    }
}

/// Asks with [`far`] for what vector `i` of eight has its share of: of those groups from `first` on that share bytes,
/// which are one `of` so many parts of a block. A few lines at a time, since many at once hold up those that are wanted
/// now.
#[inline(always)]
pub(super) fn part<I: Words>(isa: I, blocks: &[u8], from: Ahead, first: usize, of: usize, i: usize) {
    let lines = (blocks.len() / of).div_ceil(64);
    let (begin, end) = (i * lines / 8, (i + 1) * lines / 8);
    let at = first * blocks.len() / 8 + 64 * begin;
    if const { !I::ONCE } {
        return far(isa, blocks, from, at, 64 * (end - begin));
    }
    let next = blocks.as_ptr().wrapping_add(from.bytes).wrapping_add(at);
    for line in 0..end - begin {
        isa.prefetch_once(next.wrapping_add(64 * line));
    }
}

/// A column of blocks of each of some consecutive panels. A piece of each panel is used in turn: some processors read
/// several streams faster than one, if they alternate every few hundred bytes.
#[derive(Clone, Copy)]
pub(super) struct Column<'a> {
    pub(super) panels: &'a [u8],
    /// How many there are.
    pub(super) count: usize,
    /// Bytes of a panel.
    pub(super) length: usize,
    /// Where the block of a panel begins, and its bytes.
    pub(super) at: usize,
    pub(super) size: usize,
    pub(super) ahead: Ahead,
}

impl<'a> Column<'a> {
    /// The block of panel `p`.
    #[inline(always)]
    pub(super) fn blocks(self, p: usize) -> &'a [u8] {
        &self.panels[self.length * p + self.at..][..self.size]
    }

    /// Prefetches for the part of a block from byte `at` on. A panel is followed by the other panels, and then by their
    /// successors.
    #[inline(always)]
    pub(super) fn ahead(self, at: usize) -> Ahead {
        let others = if self.at + at + self.ahead.bytes < self.length { 0 } else { self.panels.len() - self.length };
        Ahead { bytes: self.ahead.bytes + others, ..self.ahead }
    }
}

/// Sums of four groups times their scales, by row: see [`half`].
pub(super) type Totals<I, const N: usize> = [[<I as Words>::W; N]; 4];

/// Adds a column of blocks times `N` rows of a step to the sums of each panel, and prefetches the blocks at a distance
/// behind these. `heads` and `totals` are scratch memory, which is reused for all columns.
#[inline(always)]
pub(super) fn block<I: Words, F: Format, const N: usize, const P: usize>(
    isa: I,
    column: Column,
    x: &[Columns<N>; 8],
    heads: &mut [Head<I>; P],
    totals: &mut [Totals<I, N>; P],
    sums: &mut [[I::F; N]; P],
) {
    // Sets that add in 16 bits have room for two sums, without an offset but where it lets them wrap.
    const { assert!(F::SHARED == 1 || !I::SHORT || F::PRODUCTS.wrap() || F::OFFSET == 0 && F::BITS <= 5) };
    let before = *sums;
    // Used only with `WHOLE`; the compiler removes it otherwise.
    let mut words = [[isa.splat(0); N]; P];
    for p in 0..column.count {
        heads[p].set::<F>(F::head(isa, column.blocks(p)));
        sums[p] = InRegisters::begin::<F>(isa, before[p]).floats;
    }
    compiler_fence(Ordering::SeqCst);
    macro_rules! pair {
        ($first:literal) => {{
            let from = column.ahead(column.size / 8 * $first);
            for p in 0..column.count {
                let sums = &mut OfPanel { floats: &mut sums[p], words: &mut words[p] };
                pair::<I, F, N>(isa, column.blocks(p), &heads[p], $first, x, from, sums);
            }
        }};
    }
    macro_rules! four {
        ($first:literal) => {{
            macro_rules! half {
                ($half:literal) => {{
                    let from = column.ahead(column.size / 8 * ($first + 2 * $half));
                    for p in 0..column.count {
                        half::<I, F, N>(isa, column.blocks(p), &heads[p], [$first, $half], x, from, &mut totals[p]);
                    }
                }};
            }
            each!(half: 0, 1);
            for p in 0..column.count {
                let sums = &mut OfPanel { floats: &mut sums[p], words: &mut words[p] };
                four::<I, F, N>(isa, &heads[p], $first, x, &totals[p], sums);
            }
        }};
    }
    match F::SHARED {
        2 => each!(pair: 0, 2, 4, 6),
        _ => each!(four: 0, 4),
    }
    for p in 0..column.count {
        let found = InRegisters { floats: sums[p], words: words[p] };
        sums[p] = found.end::<F>(isa, &heads[p].whole(), x, before[p]);
    }
}

/// How many bits too far up values stay.
#[inline(always)]
fn left<I: Words, F: Format>(isa: I) -> [u32; 4] {
    let mut left = F::SHIFTS;
    for up in &mut left {
        if F::OFFSET > 0 || !isa.left(F::BITS, *up) {
            *up = 0;
        }
    }
    left
}

/// Two groups with one scale each.
#[inline(always)]
fn pair<I: Words, F: Format, const N: usize>(
    isa: I,
    blocks: &[u8],
    head: &Head<I>,
    first: usize,
    x: &[Columns<N>; 8],
    from: Ahead,
    sums: &mut OfPanel<I, N>,
) {
    let left = left::<I, F>(isa);
    let of = F::PRODUCTS;
    let mut dots = [[isa.begin_dots(0); N]; 2];
    macro_rules! begin {
        ($g:literal) => {{
            for n in 0..N {
                dots[$g][n] = isa.begin_dots(if F::OFFSET > 0 { x[first + $g][FIRST][n] } else { 0 });
            }
        }};
    }
    macro_rules! vectors {
        ($i:literal) => {{
            part(isa, blocks, from, first, 4, $i);
            let q = F::words(isa, blocks, head, first, $i);
            let q = [isa.shr(q[0], F::SHIFTS[0] - left[0]), isa.shr(q[1], F::SHIFTS[1] - left[1])];
            for n in 0..N {
                dots[0][n] = isa.add_dot(dots[0][n], of, $i, q[0], x[first][$i][n]);
                dots[1][n] = isa.add_dot(dots[1][n], of, $i, q[1], x[first + 1][$i][n]);
            }
            // The compiler would mix the loads, and memory is only read at its speed if it is read in order.
            compiler_fence(Ordering::SeqCst);
        }};
    }
    macro_rules! finish {
        ($g:literal) => {{
            let j = first + $g;
            let m = if F::MINIMUM && !F::WHOLE { minimum::<I, F>(isa, head, j) } else { head.m };
            // The sums of values that are shifted left are too large by this power of two.
            let shift = isa.splat_float(1.0 / f32::from(1_u8 << left[$g]));
            let d = isa.product(isa.product(head.d, shift), isa.to_floats(F::scale(isa, head, j)));
            for n in 0..N {
                let x = &x[j];
                let mut u = if N > 2 && !F::WHOLE {
                    isa.product(d, isa.to_floats(isa.end_dots(dots[$g][n], of)))
                } else {
                    let scaled = isa.end_scaled(dots[$g][n], of, head.scale[j / 4], j % 4);
                    let scaled = isa.sar(scaled, left[$g]);
                    if F::WHOLE {
                        sums.add_words(isa, n, scaled);
                        continue;
                    }
                    isa.product(head.d, isa.to_floats(scaled))
                };
                if F::MINIMUM {
                    u = isa.fma(m, isa.splat_float(f32::from_bits(x[FIRST][n])), u);
                }
                sums.add(isa, n, u, f32::from_bits(x[SCALES][n]));
            }
        }};
    }
    each!(begin: 0, 1);
    each!(vectors: 0, 1, 2, 3, 4, 5, 6, 7);
    each!(finish: 0, 1);
}

#[inline(always)]
fn minimum<I: Words, F: Format>(isa: I, head: &Head<I>, g: usize) -> I::F {
    isa.product(head.m, isa.to_floats(F::minimum(isa, head, g)))
}

/// Half `half` of four groups with scales of 16 values: the sums of their products, times their scales, become `totals`
/// or, of the second half, are added to them.
#[inline(always)]
fn half<I: Words, F: Format, const N: usize>(
    isa: I,
    blocks: &[u8],
    head: &Head<I>,
    [first, half]: [usize; 2],
    x: &[Columns<N>; 8],
    from: Ahead,
    totals: &mut Totals<I, N>,
) {
    let left = left::<I, F>(isa);
    let of = F::PRODUCTS;
    let mut dots = [[isa.begin_dots(0); N]; 4];
    macro_rules! begin {
        ($g:literal) => {{
            for n in 0..N {
                let begin = if F::OFFSET > 0 { x[first + $g][FIRST + half][n] } else { 0 };
                dots[$g][n] = isa.begin_dots(begin);
            }
        }};
    }
    macro_rules! vectors {
        ($i:literal) => {{
            part(isa, blocks, from, first, 2, 4 * half + $i);
            // Each as late as possible, since there are no registers for all four; but those whose sums are widened on
            // the way are better made before.
            let words = F::words(isa, blocks, head, first, 4 * half + $i);
            macro_rules! dots {
                ($g:literal) => {{
                    let q = match F::BITS {
                        5.. => words[$g],
                        _ => F::words(isa, blocks, head, first, 4 * half + $i)[$g],
                    };
                    let q = isa.shr(q, F::SHIFTS[$g] - left[$g]);
                    for n in 0..N {
                        let x = x[first + $g][4 * half + $i][n];
                        dots[$g][n] = isa.add_dot(dots[$g][n], of, $i, q, x);
                    }
                }};
            }
            each!(dots: 0, 1, 2, 3);
            compiler_fence(Ordering::SeqCst);
        }};
    }
    macro_rules! total {
        ($g:literal) => {{
            let j = 2 * (first + $g) + half;
            for n in 0..N {
                let scaled = isa.end_scaled(dots[$g][n], of, head.scale[j / 4], j % 4);
                totals[$g][n] = if half == 0 { scaled } else { isa.add(totals[$g][n], scaled) };
            }
        }};
    }
    each!(begin: 0, 1, 2, 3);
    each!(vectors: 0, 1, 2, 3);
    each!(total: 0, 1, 2, 3);
}

/// Adds four groups, of which [`half`] has the integers.
#[inline(always)]
fn four<I: Words, F: Format, const N: usize>(
    isa: I,
    head: &Head<I>,
    first: usize,
    x: &[Columns<N>; 8],
    totals: &Totals<I, N>,
    sums: &mut OfPanel<I, N>,
) {
    let left = left::<I, F>(isa);
    macro_rules! finish {
        ($g:literal) => {{
            let x = &x[first + $g];
            for n in 0..N {
                let total = isa.sar(totals[$g][n], left[$g]);
                if F::WHOLE {
                    sums.add_words(isa, n, total);
                    continue;
                }
                let dots = isa.to_floats(total);
                let mut u = if F::LATE { dots } else { isa.product(head.d, dots) };
                if F::MINIMUM {
                    let j = 2 * (first + $g);
                    let minima = isa.weighted_bytes(head.minimum[j / 4], j % 4, x[HALVES][n]);
                    u = isa.fma(head.m, isa.to_floats(minima), u);
                }
                sums.add(isa, n, u, f32::from_bits(x[SCALES][n]));
            }
        }};
    }
    each!(finish: 0, 1, 2, 3);
}
