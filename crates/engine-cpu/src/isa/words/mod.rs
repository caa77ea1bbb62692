//! The operations for products of bytes: vectors of 16 words of 32 bits, also used as 64 bytes.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use super::Floats;
use std::ops::Range;

/// The 32 columns of a group: eight vectors of words, each made where it is used, since not every set has registers for
/// all.
pub trait Quads<I: Words>: Copy {
    /// Whether there are [`Quads::signed`] ones.
    const SIGNED: bool = false;

    /// Vector `k`. To be marked `#[inline(always)]`.
    fn quad(self, isa: I, k: usize) -> I::W;

    /// The same with 128 subtracted from each byte, which gives a sign to all and -128 to none.
    #[inline(always)]
    fn signed(self, isa: I, k: usize) -> I::W {
        self.quad(isa, k)
    }
}

/// In memory.
impl<I: Words> Quads<I> for &[[u8; 64]; 8] {
    #[inline(always)]
    fn quad(self, isa: I, k: usize) -> I::W {
        isa.load(&self[k])
    }
}

/// Parameters of a sum: products of some vectors with activations, which are from -127 to 127.
#[derive(Clone, Copy)]
pub struct Products {
    /// All values are below 2 to the power of this.
    pub bits: u32,
    /// The offset that is subtracted from each value. Sums begin with its total contribution.
    pub offset: u32,
    /// The number of vectors: eight for a group, or four.
    pub count: usize,
}

impl Products {
    /// Whether sums of products in 16 bits, two per word, are correct at the end if they begin with the contribution of
    /// the offset: the final sums fit in 16 bits, and so do two products of a value without the offset. Intermediate
    /// sums may wrap.
    pub const fn wrap(self) -> bool {
        const MOST: u32 = i16::MAX as u32;
        let value = (1 << self.bits) - 1;
        // As far as values are from 0 on both sides of it.
        let far = if self.offset > value - self.offset { self.offset } else { value - self.offset };
        self.offset > 0 && 2 * 127 * value <= MOST && 2 * 127 * far * self.count as u32 <= MOST
    }
}

/// 16 lanes of words; lanes are rows of a weight. Integers wrap.
pub trait Words: Floats {
    /// 16 words, or 64 bytes: byte b of word i is byte 4 i + b.
    type W: Copy;
    /// Sums of products of a group under way.
    type Dots: Copy;

    /// Rows of a step up to which each group of a weight is unpacked into registers and used at once; more go through
    /// memory. 8 at most.
    const DIRECT: usize;
    /// Rows of a step that products do side by side, if there are as many: with [`Words::PANELS`], what registers hold.
    /// 6 at most.
    const SIDE: usize;
    /// Panels of a weight that these rows go through together, so that each word of a row is loaded once for all.
    const PANELS: usize;
    /// How many [`Words::Dots`] registers hold while several groups are unpacked at once, so that memory is read in
    /// order.
    const WHOLE: usize;
    /// Whether the float sums of this number of rows stay in registers while groups are added, in addition to the word
    /// sums.
    const KEEPS: bool;
    /// Whether one or two rows can go through several panels of a weight side by side, a piece of each in turns.
    const STREAMS: bool;
    /// Whether one or two rows prefetch weights only into the first cache, without choosing a cache level. The choice
    /// takes instructions, and there are none to spare.
    const ONCE: bool;
    /// Bits of values from which on many rows take them as numbers of 16 bits, two in a word: see [`Words::wide_dots`].
    const WIDE: u32;

    /// Whether products are added in 16 bits where this is correct, see [`Products::wrap`]. Then the initial word of a
    /// sum has the contribution of bytes 0 and 1 in its lower half, and of bytes 2 and 3 in its upper half.
    const SHORT: bool;
    /// Whether the code of sums of products depends on the number of bits of the values: see [`Words::dots`].
    const BY_BITS: bool;
    /// See [`Set::has_block_sums`](super::Set::has_block_sums).
    const BLOCK_SUMS: bool;

    /// Loads words from memory.
    fn load(self, bytes: &[u8; 64]) -> Self::W;
    /// The words as bytes in memory.
    fn bytes(self, a: Self::W) -> [u8; 64];
    /// Four words of each of 16 rows, which begin `stride` bytes apart: vector i has word i of each row. Panics if
    /// there are fewer bytes.
    fn turn(self, rows: &[u8], stride: usize) -> [Self::W; 4];
    /// The same word everywhere.
    fn splat(self, word: u32) -> Self::W;
    /// Bits that both have.
    fn and(self, a: Self::W, b: Self::W) -> Self::W;
    /// Bits that one of them has.
    fn or(self, a: Self::W, b: Self::W) -> Self::W;
    /// Sums.
    fn add(self, a: Self::W, b: Self::W) -> Self::W;
    /// Differences.
    fn sub(self, a: Self::W, b: Self::W) -> Self::W;
    /// The low words of products.
    fn mul(self, a: Self::W, b: Self::W) -> Self::W;
    /// Words shifted towards their low bits, filled with zeros; `n` is below 32.
    fn shr(self, a: Self::W, n: u32) -> Self::W;
    /// Words shifted towards their high bits.
    fn shl(self, a: Self::W, n: u32) -> Self::W;
    /// Words shifted towards their low bits, filled with their sign.
    fn sar(self, a: Self::W, n: u32) -> Self::W;
    /// Each byte, which is below 16, replaced by the table's.
    fn lookup(self, table: &[u8; 16], a: Self::W) -> Self::W;

    /// Adds to word i the products of the bytes 4 i .. 4 i + 4 of `w`, without sign, with the four of `x`, which have
    /// one and are not -128. Exact: nothing saturates, and sums wrap.
    fn dot(self, sums: Self::W, w: Self::W, x: u32) -> Self::W;

    /// Whether [`Words::add_dot`] is as good with values of so many bits that stand so many bits too far up, without an
    /// offset.
    fn left(self, bits: u32, up: u32) -> bool;
    /// The initial sums of [`Words::add_dot`]: this word in all lanes, which is the contribution of an offset.
    fn begin_dots(self, begin: u32) -> Self::Dots;
    /// [`Words::dot`] of vector `k` of them, the first one being 0.
    fn add_dot(self, dots: Self::Dots, of: Products, k: usize, w: Self::W, x: u32) -> Self::Dots;
    /// The sums of all vectors.
    fn end_dots(self, dots: Self::Dots, of: Products) -> Self::W;
    /// The sums of all vectors, times byte `at` of each word of `a`, which has a sign.
    #[inline(always)]
    fn end_scaled(self, dots: Self::Dots, of: Products, a: Self::W, at: usize) -> Self::W {
        self.mul(self.signed_byte(a, at), self.end_dots(dots, of))
    }

    /// [`Words::dot`] of all `w` of `P` panels with the words of `N` rows: adds the products of quad k with `x[k][n]`
    /// to `sums[p][n]`. All bytes of `w` are below 2 to the power of `BITS`, so that some sets can add products before
    /// they widen them.
    #[inline(always)]
    fn dots<const BITS: u32, const N: usize, const P: usize>(
        self,
        mut sums: [[Self::W; N]; P],
        w: [impl Quads<Self>; P],
        x: &[[u32; N]; 8],
    ) -> [[Self::W; N]; P] {
        for (k, x) in x.iter().enumerate() {
            let w = self.quads(w, k);
            for n in 0..N {
                for p in 0..P {
                    sums[p][n] = self.dot(sums[p][n], w[p], x[n]);
                }
            }
        }
        sums
    }

    /// Vector `k` of each panel.
    #[inline(always)]
    fn quads<const P: usize>(self, w: [impl Quads<Self>; P], k: usize) -> [Self::W; P] {
        let mut quads = [self.splat(0); P];
        for p in 0..P {
            quads[p] = w[p].quad(self, k);
        }
        quads
    }

    /// [`Words::dots`] with `OFFSET` subtracted from all bytes of `w`; `begin` is what that adds to the sums: a set
    /// uses what suits it.
    #[inline(always)]
    fn offset_dots<const BITS: u32, const OFFSET: u32, const N: usize, const P: usize>(
        self,
        w: [impl Quads<Self>; P],
        x: &[[u32; N]; 8],
        begin: &[u32; N],
    ) -> [[Self::W; N]; P] {
        self.dots::<BITS, N, P>([self.splats(OFFSET > 0, begin); P], w, x)
    }

    /// Bytes 0 and 2 of each word as halves of 16 bits of a word, then bytes 1 and 3, with `offset` subtracted from
    /// each.
    #[inline(always)]
    fn wide(self, w: Self::W, offset: u32) -> [Self::W; 2] {
        let (byte, offset) = (self.splat(0xff), self.splat(offset));
        let mut wide = [w; 2];
        for (i, wide) in wide.iter_mut().enumerate() {
            let low = self.sub(self.and(self.shr(w, 8 * i as u32), byte), offset);
            let high = self.sub(self.and(self.shr(w, 16 + 8 * i as u32), byte), offset);
            *wide = self.or(self.and(low, self.splat(0xffff)), self.shl(high, 16));
        }
        wide
    }

    /// [`Words::dot`] of numbers of 16 bits, two in a word, that have a sign and come from [`Words::wide`]: sums of
    /// word k of `w` with `x[k][n]`.
    #[inline(always)]
    fn wide_dots<const N: usize>(self, w: &[[u8; 64]; 16], x: &[[u32; N]; 16]) -> [Self::W; N] {
        let mut sums = [self.splat(0); N];
        for (w, x) in w.iter().zip(x) {
            let w = self.load(w);
            let factors = [self.sar(self.shl(w, 16), 16), self.sar(w, 16)];
            for n in 0..N {
                sums[n] = self.add(sums[n], self.weighted(factors, x[n]));
            }
        }
        sums
    }

    /// Words of numbers with a sign of 8 bits, as [`Words::scaled_dots`] and [`Words::weighted`] take them. A set may
    /// have a form of its own for them.
    #[inline(always)]
    fn factors(self, a: [Self::W; 2]) -> [Self::W; 2] {
        a
    }

    /// The sums of the first and of the last four [`Words::dot`]s, with `OFFSET` subtracted from all bytes of `w`,
    /// times the first and the second factor, for the rows `rows` of `N`; exact, and a zero has no sign. `begin` is the
    /// contribution of the offset to both sums.
    #[inline(always)]
    fn scaled_dots<const BITS: u32, const OFFSET: u32, const N: usize, const P: usize>(
        self,
        w: [impl Quads<Self>; P],
        factors: [[Self::W; 2]; P],
        x: &[[u32; N]; 8],
        rows: Range<usize>,
        begin: [&[u32; N]; 2],
    ) -> [[Self::F; N]; P] {
        let mut sums = [[self.splat_float(0.0); N]; P];
        // Unrolled, so that the code that unpacks vectors has constant indices.
        macro_rules! half {
            ($half:literal: $($k:literal)*) => {{
                let mut dots = [self.splats::<N>(OFFSET > 0, begin[$half]); P];
                $({
                    let w = self.quads(w, $k);
                    for n in rows.clone() {
                        for p in 0..P {
                            dots[p][n] = self.dot(dots[p][n], w[p], x[$k][n]);
                        }
                    }
                })*
                // As floats, which is exact (16 values of 6 bits and a sign times 127 times 128 twice: 24 bits):
                // products of words take longer than both.
                for p in 0..P {
                    let factor = self.to_floats(factors[p][$half]);
                    for n in rows.clone() {
                        sums[p][n] = self.fma(factor, self.to_floats(dots[p][n]), sums[p][n]);
                    }
                }
            }};
        }
        half!(0: 0 1 2 3);
        half!(1: 4 5 6 7);
        sums
    }

    /// The same as words, with the first factor for all of the dots if it is the `same` for both.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn scaled_words<const BITS: u32, const OFFSET: u32, const N: usize, const P: usize>(
        self,
        same: bool,
        w: [impl Quads<Self>; P],
        factors: [[Self::W; 2]; P],
        x: &[[u32; N]; 8],
        rows: Range<usize>,
        begin: [&[u32; N]; 2],
    ) -> [[Self::W; N]; P] {
        let mut sums = [[self.splat(0); N]; P];
        let mut dots = [[self.splat(0); N]; P];
        macro_rules! half {
            ($half:literal: $($k:literal)*) => {{
                if $half == 0 || !same {
                    dots = [self.splats::<N>(OFFSET > 0, begin[$half]); P];
                }
                $({
                    let w = self.quads(w, $k);
                    for n in rows.clone() {
                        for p in 0..P {
                            dots[p][n] = self.dot(dots[p][n], w[p], x[$k][n]);
                        }
                    }
                })*
                if $half == 1 || !same {
                    for p in 0..P {
                        for n in rows.clone() {
                            let scaled = self.mul(factors[p][$half], dots[p][n]);
                            sums[p][n] = if $half == 0 || same { scaled } else { self.add(sums[p][n], scaled) };
                        }
                    }
                }
            }};
        }
        half!(0: 0 1 2 3);
        half!(1: 4 5 6 7);
        sums
    }

    /// Each of these words everywhere, or zeros.
    #[inline(always)]
    fn splats<const N: usize>(self, these: bool, words: &[u32; N]) -> [Self::W; N] {
        let mut out = [self.splat(0); N];
        for n in 0..N {
            if these {
                out[n] = self.splat(words[n]);
            }
        }
        out
    }

    /// The first factor times the low 16 bits of `halves`, which have a sign, and the second one times the upper.
    #[inline(always)]
    fn weighted(self, factors: [Self::W; 2], halves: u32) -> Self::W {
        let [low, high] = self.split(halves);
        self.add(self.mul(factors[0], low), self.mul(factors[1], high))
    }

    /// The same with bytes `at` and `at + 1` of each word of `a`, which have a sign, for factors.
    #[inline(always)]
    fn weighted_bytes(self, a: Self::W, at: usize, halves: u32) -> Self::W {
        let [low, high] = self.split(halves);
        self.add(self.mul(self.signed_byte(a, at), low), self.mul(self.signed_byte(a, at + 1), high))
    }

    /// Byte `at` of each word, without a sign.
    #[inline(always)]
    fn byte(self, a: Self::W, at: usize) -> Self::W {
        match at {
            3 => self.shr(a, 24),
            at => self.and(self.shr(a, 8 * at as u32), self.splat(255)),
        }
    }

    /// Byte `at` of each word, which has a sign.
    #[inline(always)]
    fn signed_byte(self, a: Self::W, at: usize) -> Self::W {
        self.sar(self.shl(a, 24 - 8 * at as u32), 24)
    }

    /// The low and the upper 16 bits, which have a sign, everywhere.
    #[inline(always)]
    fn split(self, halves: u32) -> [Self::W; 2] {
        let both = self.splat(halves);
        [self.sar(self.shl(both, 16), 16), self.sar(both, 16)]
    }

    /// Words with a sign as floats, rounded to nearest.
    fn to_floats(self, a: Self::W) -> Self::F;
}

/// How `pshufb` makes upper bytes of the halves of 16 bits of each word: its bytes of these numbers.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn byte_factors(at: [usize; 2]) -> [i8; 16] {
    let mut order = [-1; 16];
    for (word, order) in order.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        // No closure: these would be calls where crates are compiled without links between their parts.
        order[1] = (4 * word + at[0]) as i8;
        order[3] = (4 * word + at[1]) as i8;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::Products;

    #[test]
    fn sums_wrap_only_where_they_are_right_in_the_end() {
        let wrap = |bits, offset, count| Products { bits, offset, count }.wrap();
        // Q6_K by halves of a group, Q5_0, Q4_0, Q3_K.
        assert!(wrap(6, 32, 4) && wrap(5, 16, 8) && wrap(4, 8, 8) && wrap(3, 4, 4));
        // Too many; too far on one side; two products that don't fit; nothing that brings them back.
        assert!(!wrap(6, 32, 5) && !wrap(5, 12, 8) && !wrap(8, 128, 1) && !wrap(5, 0, 8));
    }
}
