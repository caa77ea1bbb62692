//! AVX2, FMA and F16C: two registers a vector.
#![allow(unsafe_code)]

use super::{Products, Quads, Words, byte_factors};
use crate::isa::{Avx2, Floats, Set};
use std::arch::x86_64::*;
use std::ops::Range;
use std::sync::atomic::{Ordering, compiler_fence};

/// A method that does the same to both halves of its vectors. The comment holds for all of them.
macro_rules! halfwise {
    ($($name:ident($($arg:ident: $ty:ty),*; $i:ident) -> $out:ty = $body:expr;)+) => {$(
        #[inline(always)]
        fn $name(self, $($arg: $ty),*) -> [$out; 2] {
            // SAFETY: `self` proves that the machine has AVX2, FMA and F16C; loads are of one half of an array of twice
            // the bytes that they touch, or of all of it.
            unsafe { [{ let $i = 0; $body }, { let $i = 1; $body }] }
        }
    )+};
}

type W = [__m256i; 2];

/// Both of them.
const BOTH: Range<usize> = 0..2;
/// Rows whose sums of both halves registers hold.
const MOST: usize = 4;

/// The same for some k. Written out: loops of this size are not always unrolled, and places of registers and shifts
/// must be known.
macro_rules! steps {
    ($k:ident in $($n:literal)* => $body:block) => {$({
        let $k: usize = $n;
        $body
    })*};
}
impl Words for Avx2 {
    type W = W;
    /// Sums of 16 bits: of as many vectors as fit, and of the others.
    type Dots = [W; 2];

    const DIRECT: usize = 8;
    const SIDE: usize = 4;
    const PANELS: usize = 1;
    const WHOLE: usize = 8;
    const KEEPS: bool = false;
    const STREAMS: bool = true;
    const ONCE: bool = true;
    /// Not even two products of 8 bits fit into 16.
    const WIDE: u32 = 8;
    const SHORT: bool = true;
    const BY_BITS: bool = true;
    const BLOCK_SUMS: bool = Set::Avx2.has_block_sums();

    halfwise! {
        load(bytes: &[u8; 64]; i) -> __m256i = _mm256_loadu_si256(bytes.as_ptr().add(32 * i).cast());
        splat(word: u32; _i) -> __m256i = _mm256_set1_epi32(word as i32);
        and(a: W, b: W; i) -> __m256i = _mm256_and_si256(a[i], b[i]);
        or(a: W, b: W; i) -> __m256i = _mm256_or_si256(a[i], b[i]);
        add(a: W, b: W; i) -> __m256i = _mm256_add_epi32(a[i], b[i]);
        sub(a: W, b: W; i) -> __m256i = _mm256_sub_epi32(a[i], b[i]);
        mul(a: W, b: W; i) -> __m256i = _mm256_mullo_epi32(a[i], b[i]);
        shr(a: W, n: u32; i) -> __m256i = _mm256_srl_epi32(a[i], _mm_cvtsi32_si128(n as i32));
        shl(a: W, n: u32; i) -> __m256i = _mm256_sll_epi32(a[i], _mm_cvtsi32_si128(n as i32));
        sar(a: W, n: u32; i) -> __m256i = _mm256_sra_epi32(a[i], _mm_cvtsi32_si128(n as i32));
        lookup(table: &[u8; 16], a: W; i) -> __m256i =
            _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast())), a[i]);
        to_floats(a: W; i) -> __m256 = _mm256_cvtepi32_ps(a[i]);
    }

    /// Quarter q of vector j is of row 4 q + j; quarters are turned on their own.
    #[inline(always)]
    fn turn(self, rows: &[u8], stride: usize) -> [W; 4] {
        assert!(stride.checked_mul(15).and_then(|last| last.checked_add(16)).is_some_and(|end| end <= rows.len()));
        // SAFETY: `self` proves that the machine has AVX2; 16 bytes are loaded from no place beyond the last row's,
        // which was checked.
        unsafe {
            let mut out = [[_mm256_setzero_si256(); 4]; 2];
            for (half, out) in out.iter_mut().enumerate() {
                let mut v = [_mm256_setzero_si256(); 4];
                for (j, v) in v.iter_mut().enumerate() {
                    let row = rows.as_ptr().add((8 * half + j) * stride);
                    *v = _mm256_castsi128_si256(_mm_loadu_si128(row.cast()));
                    *v = _mm256_inserti128_si256::<1>(*v, _mm_loadu_si128(row.add(4 * stride).cast()));
                }
                let (a, b) = (_mm256_unpacklo_epi32(v[0], v[1]), _mm256_unpacklo_epi32(v[2], v[3]));
                let (c, d) = (_mm256_unpackhi_epi32(v[0], v[1]), _mm256_unpackhi_epi32(v[2], v[3]));
                let (low, high) = (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
                *out = [low, high, _mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d)];
            }
            let [low, high] = out;
            [[low[0], high[0]], [low[1], high[1]], [low[2], high[2]], [low[3], high[3]]]
        }
    }

    #[inline(always)]
    fn bytes(self, a: W) -> [u8; 64] {
        let mut bytes = [0; 64];
        let (low, high) = bytes.split_at_mut(32);
        // SAFETY: `self` proves that the machine has AVX2; 32 bytes are written to 32.
        unsafe {
            _mm256_storeu_si256(low.as_mut_ptr().cast(), a[0]);
            _mm256_storeu_si256(high.as_mut_ptr().cast(), a[1]);
        }
        bytes
    }

    /// Even and odd bytes are widened first.
    #[inline(always)]
    fn dot(self, sums: W, w: W, x: u32) -> W {
        // SAFETY: `self` proves that the machine has AVX2.
        unsafe {
            let x = _mm256_set1_epi32(x as i32);
            let (even, odd) = (_mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(x)), _mm256_srai_epi16::<8>(x));
            let byte = _mm256_set1_epi16(0xff);
            let mut out = sums;
            for i in 0..2 {
                let products = _mm256_madd_epi16(_mm256_and_si256(w[i], byte), even);
                let others = _mm256_madd_epi16(_mm256_srli_epi16::<8>(w[i]), odd);
                out[i] = _mm256_add_epi32(sums[i], _mm256_add_epi32(products, others));
            }
            out
        }
    }

    #[inline(always)]
    fn left(self, bits: u32, up: u32) -> bool {
        16 * 127 * (((1 << bits) - 1) << up) <= i16::MAX as usize
    }

    #[inline(always)]
    fn begin_dots(self, begin: u32) -> [W; 2] {
        [self.splat(begin), self.splat(0)]
    }

    #[inline(always)]
    fn add_dot(self, mut dots: [W; 2], of: Products, k: usize, w: W, x: u32) -> [W; 2] {
        let (i, first) = if of.wrap() { (0, false) } else { (k / fit(of.bits), k.is_multiple_of(fit(of.bits))) };
        dots[i] = self.short_dot(BOTH, dots[i], first, w, x);
        dots
    }

    #[inline(always)]
    fn end_dots(self, dots: [W; 2], of: Products) -> W {
        self.widened(dots, of, self.splat(0x0001_0001))
    }

    /// They are widened by the factor.
    #[inline(always)]
    fn end_scaled(self, dots: [W; 2], of: Products, a: W, at: usize) -> W {
        self.widened(dots, of, self.byte_factors(a, [at, at]))
    }

    #[inline(always)]
    fn byte(self, a: W, at: usize) -> W {
        let mut order = [-1; 16];
        for (word, order) in order.iter_mut().step_by(4).enumerate() {
            *order = (4 * word + at) as i8;
        }
        self.shuffled(a, order)
    }

    #[inline(always)]
    fn dots<const BITS: u32, const N: usize, const P: usize>(
        self,
        mut sums: [[W; N]; P],
        w: [impl Quads<Avx2>; P],
        x: &[[u32; N]; 8],
    ) -> [[W; N]; P] {
        for p in 0..P {
            sums[p] = self.panel_dots::<BITS, 0, N>(sums[p], w[p], self.splat(0x0001_0001), x, &[0; N]);
        }
        sums
    }

    #[inline(always)]
    fn offset_dots<const BITS: u32, const OFFSET: u32, const N: usize, const P: usize>(
        self,
        w: [impl Quads<Avx2>; P],
        x: &[[u32; N]; 8],
        begin: &[u32; N],
    ) -> [[W; N]; P] {
        let mut sums = [[self.splat(0); N]; P];
        for p in 0..P {
            sums[p] = self.panel_offset_dots::<BITS, OFFSET, N>(w[p], x, begin);
        }
        sums
    }

    #[inline(always)]
    fn wide_dots<const N: usize>(self, w: &[[u8; 64]; 16], x: &[[u32; N]; 16]) -> [W; N] {
        let mut sums = [self.splat(0); N];
        steps!(k in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 => {
            let w = self.load(&w[k]);
            for n in 0..N {
                let x = self.splat(x[k][n]);
                let products = self.products(w, x);
                sums[n] = if k == 0 { products } else { self.add_in_order(_mm256_add_epi32, sums[n], products) };
            }
        });
        sums
    }

    /// In both 16-bit halves of each word.
    #[inline(always)]
    fn factors(self, a: [W; 2]) -> [W; 2] {
        let low = self.splat(0xffff);
        [self.or(self.and(a[0], low), self.shl(a[0], 16)), self.or(self.and(a[1], low), self.shl(a[1], 16))]
    }

    #[inline(always)]
    fn scaled_dots<const BITS: u32, const OFFSET: u32, const N: usize, const P: usize>(
        self,
        w: [impl Quads<Avx2>; P],
        factors: [[W; 2]; P],
        x: &[[u32; N]; 8],
        rows: Range<usize>,
        begin: [&[u32; N]; 2],
    ) -> [[Self::F; N]; P] {
        let words = self.scaled_words::<BITS, OFFSET, N, P>(false, w, factors, x, rows.clone(), begin);
        let mut floats = [[self.splat_float(0.0); N]; P];
        for p in 0..P {
            for n in rows.clone() {
                floats[p][n] = self.to_floats(words[p][n]);
            }
        }
        floats
    }

    #[inline(always)]
    fn scaled_words<const BITS: u32, const OFFSET: u32, const N: usize, const P: usize>(
        self,
        same: bool,
        w: [impl Quads<Avx2>; P],
        factors: [[W; 2]; P],
        x: &[[u32; N]; 8],
        rows: Range<usize>,
        begin: [&[u32; N]; 2],
    ) -> [[W; N]; P] {
        let mut sums = [[self.splat(0); N]; P];
        for p in 0..P {
            sums[p] = if same && rows == (0..N) {
                self.panel_dots::<BITS, OFFSET, N>(sums[p], w[p], factors[p][0], x, begin[0])
            } else {
                self.runs::<BITS, OFFSET, N>(sums[p], w[p], factors[p], x, rows.clone(), begin)
            };
        }
        sums
    }

    #[inline(always)]
    fn weighted(self, factors: [W; 2], halves: u32) -> W {
        self.products(self.both(factors), self.splat(halves))
    }

    #[inline(always)]
    fn weighted_bytes(self, a: W, at: usize, halves: u32) -> W {
        self.products(self.byte_factors(a, [at, at + 1]), self.splat(halves))
    }
}

impl Avx2 {
    /// Products of bytes with few bits are added in 16 bits, as many as fit, and then widened. Products of larger bytes
    /// do not fit: they are split into nibbles, or widened first, which is less work for one or two rows. Widening
    /// multiplies by a factor in both halves of a word, which is 1 for large bytes. Sums that may wrap begin with
    /// `begin`.
    #[inline(always)]
    fn panel_dots<const BITS: u32, const OFFSET: u32, const N: usize>(
        self,
        sums: [W; N],
        w: impl Quads<Avx2>,
        factor: W,
        x: &[[u32; N]; 8],
        begin: &[u32; N],
    ) -> [W; N] {
        // Conditions that are known, so that the rest is not even compiled.
        if const { N > MOST && matches!(run(BITS, OFFSET, 8), 1..8) } {
            return self.runs::<BITS, 0, N>(sums, w, [factor; 2], x, 0..N, [begin; 2]);
        }
        if const { N <= MOST } {
            return self.half_dots::<BITS, OFFSET, N>(BOTH, sums, w, factor, x, begin);
        }
        let sums = self.half_dots::<BITS, OFFSET, N>(0..1, sums, w, factor, x, begin);
        compiler_fence(Ordering::SeqCst);
        self.half_dots::<BITS, OFFSET, N>(1..2, sums, w, factor, x, begin)
    }

    /// The same in some halves of vectors.
    #[inline(always)]
    fn half_dots<const BITS: u32, const OFFSET: u32, const N: usize>(
        self,
        halves: Range<usize>,
        mut sums: [W; N],
        w: impl Quads<Avx2>,
        factor: W,
        x: &[[u32; N]; 8],
        begin: &[u32; N],
    ) -> [W; N] {
        let run = const { run(BITS, OFFSET, 8) };
        let mut short = self.splats(wraps(BITS, OFFSET, 8), begin);
        if run == 0 && N > 2 {
            // Their nibbles, all low ones first, are values of four bits.
            steps!(nibble in 0 1 => {
                let (shift, factor) = [(0, 0x0001_0001), (4, 0x0010_0010)][nibble];
                let factor = self.splat(factor);
                steps!(k in 0 1 2 3 4 5 6 7 => {
                    let w = self.and(self.shr(w.quad(self, k), shift), self.splat(0x0f0f_0f0f));
                    for n in 0..N {
                        short[n] = self.short_dot(halves.clone(), short[n], k == 0, w, x[k][n]);
                    }
                });
                for n in 0..N {
                    sums[n] = self.add_products(halves.clone(), sums[n], short[n], factor);
                }
                // Nothing of the others is loaded before: there are no registers for it.
                compiler_fence(Ordering::SeqCst);
            });
            return sums;
        }
        steps!(k in 0 1 2 3 4 5 6 7 => {
            let w = w.quad(self, k);
            for n in 0..N {
                if run == 0 {
                    sums[n] = self.dot(sums[n], w, x[k][n]);
                    continue;
                }
                let first = k.is_multiple_of(run) && !wraps(BITS, OFFSET, 8);
                // Of so few rows it is both halves, always.
                if run == 8 && N <= MOST {
                    let products = self.short_dot(BOTH, short[n], true, w, x[k][n]);
                    short[n] = if first { products } else { self.add_in_order(_mm256_add_epi16, short[n], products) };
                } else {
                    short[n] = self.short_dot(halves.clone(), short[n], first, w, x[k][n]);
                }
                if (k + 1).is_multiple_of(run) {
                    sums[n] = self.add_products(halves.clone(), sums[n], short[n], factor);
                }
            }
        });
        sums
    }

    /// For one or two rows bytes go with a sign, if that is to be had.
    #[inline(always)]
    fn panel_offset_dots<const BITS: u32, const OFFSET: u32, const N: usize>(
        self,
        w: impl Quads<Avx2>,
        x: &[[u32; N]; 8],
        begin: &[u32; N],
    ) -> [W; N] {
        fn is_signed<Q: Quads<Avx2>>(_: Q) -> bool {
            Q::SIGNED
        }
        if N > 2 || OFFSET != 128 {
            let sums = self.splats(OFFSET > 0 && !wraps(BITS, OFFSET, 8), begin);
            return self.panel_dots::<BITS, OFFSET, N>(sums, w, self.splat(0x0001_0001), x, begin);
        }
        let mut sums = [self.splat(0); N];
        steps!(k in 0 1 2 3 4 5 6 7 => {
            let quad = if is_signed(w) { w.signed(self, k) } else { w.quad(self, k) };
            for n in 0..N {
                let x = self.splat(x[k][n]);
                let products = if is_signed(w) { self.signed(quad, x) } else { self.less_128(quad, x) };
                sums[n] = self.add_products(BOTH, sums[n], products, self.splat(0x0001_0001));
            }
        });
        sums
    }

    /// Products of bytes, times the first or the second factor. Vectors wait in registers, not sums: each of 16 bits is
    /// widened after four.
    #[inline(always)]
    fn runs<const BITS: u32, const OFFSET: u32, const N: usize>(
        self,
        sums: [W; N],
        w: impl Quads<Avx2>,
        factors: [W; 2],
        x: &[[u32; N]; 8],
        rows: Range<usize>,
        begin: [&[u32; N]; 2],
    ) -> [W; N] {
        let sums = self.half_runs::<BITS, OFFSET, N>(0..1, sums, w, factors, x, rows.clone(), begin);
        compiler_fence(Ordering::SeqCst);
        self.half_runs::<BITS, OFFSET, N>(1..2, sums, w, factors, x, rows, begin)
    }

    /// The same in some halves of vectors.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn half_runs<const BITS: u32, const OFFSET: u32, const N: usize>(
        self,
        halves: Range<usize>,
        mut sums: [W; N],
        w: impl Quads<Avx2>,
        factors: [W; 2],
        x: &[[u32; N]; 8],
        rows: Range<usize>,
        begin: [&[u32; N]; 2],
    ) -> [W; N] {
        assert!(run(BITS, OFFSET, 4) >= 4);
        macro_rules! run {
            ($first:literal: $($k:literal)*) => {{
                let quads = [$(w.quad(self, $k)),*];
                let begin = self.splats(wraps(BITS, OFFSET, 4), begin[$first / 4]);
                for n in rows.clone() {
                    let mut short = begin[n];
                    $({
                        let first = $k == $first && !wraps(BITS, OFFSET, 4);
                        short = self.short_dot(halves.clone(), short, first, quads[$k - $first], x[$k][n]);
                    })*
                    sums[n] = self.add_products(halves.clone(), sums[n], short, factors[$first / 4]);
                }
            }};
        }
        run!(0: 0 1 2 3);
        run!(4: 4 5 6 7);
        sums
    }

    /// [`Words::Dots`] times a factor, in both halves of a word.
    #[inline(always)]
    fn widened(self, dots: [W; 2], of: Products, factor: W) -> W {
        let sums = self.products(dots[0], factor);
        if of.wrap() || of.count <= fit(of.bits) { sums } else { self.add_products(BOTH, sums, dots[1], factor) }
    }

    /// Sums of pairs of products in 16 bits, added to the earlier sums except for the first.
    #[inline(always)]
    fn short_dot(self, halves: Range<usize>, sums: W, first: bool, w: W, x: u32) -> W {
        let x = self.splat(x);
        let mut out = sums;
        for i in halves {
            // SAFETY: `self` proves that the machine has AVX2.
            unsafe {
                let products = _mm256_maddubs_epi16(w[i], x[i]);
                out[i] = if first { products } else { in_order(_mm256_add_epi16(sums[i], products)) };
            }
        }
        out
    }

    /// Pairs of products of bytes with a sign, none of which is -128: the signs of `x` go to them, so that two
    /// products, of 127 times 127 at most, fit into 16 bits.
    #[inline(always)]
    fn signed(self, w: W, x: W) -> W {
        let mut out = w;
        for i in 0..2 {
            // SAFETY: `self` proves that the machine has AVX2.
            out[i] = unsafe { _mm256_maddubs_epi16(_mm256_abs_epi8(x[i]), _mm256_sign_epi8(w[i], x[i])) };
        }
        out
    }

    /// The same with 128 subtracted from each byte of `w`. The signs are moved to the bytes of `x`, so that products
    /// are at most 128 times 127.
    #[inline(always)]
    fn less_128(self, w: W, x: W) -> W {
        let mut out = w;
        for i in 0..2 {
            // SAFETY: `self` proves that the machine has AVX2.
            unsafe {
                let w = _mm256_xor_si256(w[i], _mm256_set1_epi8(-128));
                out[i] = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x[i], w));
            }
        }
        out
    }

    /// Adds products of numbers of 16 bits.
    #[inline(always)]
    fn add_products(self, halves: Range<usize>, sums: W, a: W, b: W) -> W {
        let mut out = sums;
        for i in halves {
            // SAFETY: `self` proves that the machine has AVX2.
            out[i] = unsafe { in_order(_mm256_add_epi32(sums[i], _mm256_madd_epi16(a[i], b[i]))) };
        }
        out
    }

    /// Adds products that are all computed first: on Zen 3 this takes 3 to 5% less time than products and sums in turn,
    /// next to loads.
    #[inline(always)]
    fn add_in_order(self, add: unsafe fn(__m256i, __m256i) -> __m256i, sums: W, products: W) -> W {
        // SAFETY: `self` proves that the machine has AVX2, and `add` is an addition of it.
        unsafe {
            let [low, high] = both_in_order(products);
            [in_order(add(sums[0], low)), in_order(add(sums[1], high))]
        }
    }

    /// The first factor in the low halves of words, the second in the upper.
    #[inline(always)]
    fn both(self, factors: [W; 2]) -> W {
        let [a, b] = factors;
        // SAFETY: `self` proves that the machine has AVX2.
        unsafe { [_mm256_blend_epi16::<0xaa>(a[0], b[0]), _mm256_blend_epi16::<0xaa>(a[1], b[1])] }
    }

    /// Two bytes of each word, which have a sign, as its halves of 16 bits.
    #[inline(always)]
    fn byte_factors(self, a: W, at: [usize; 2]) -> W {
        let a = self.shuffled(a, byte_factors(at));
        // SAFETY: `self` proves that the machine has AVX2.
        unsafe { [_mm256_srai_epi16::<8>(a[0]), _mm256_srai_epi16::<8>(a[1])] }
    }

    /// Selects the bytes with these indices in each quarter of a vector; -1 selects 0.
    #[inline(always)]
    fn shuffled(self, a: W, order: [i8; 16]) -> W {
        // SAFETY: `self` proves that the machine has AVX2; 16 bytes are loaded from 16.
        unsafe {
            let order = _mm256_broadcastsi128_si256(_mm_loadu_si128(order.as_ptr().cast()));
            [_mm256_shuffle_epi8(a[0], order), _mm256_shuffle_epi8(a[1], order)]
        }
    }

    /// Of each word the products of both halves, added.
    #[inline(always)]
    fn products(self, a: W, b: W) -> W {
        // SAFETY: `self` proves that the machine has AVX2.
        unsafe { [_mm256_madd_epi16(a[0], b[0]), _mm256_madd_epi16(a[1], b[1])] }
    }
}

/// How many sums of two products with a byte of -127 to 127 fit into 16 bits, if the other bytes have so many bits.
const fn fit(bits: u32) -> usize {
    i16::MAX as usize / (2 * 127 * ((1 << bits) - 1))
}

/// See [`Products::wrap`].
const fn wraps(bits: u32, offset: u32, count: usize) -> bool {
    Products { bits, offset, count }.wrap()
}

/// How many vectors of `count` are added in 16 bits: all of them if they may wrap.
const fn run(bits: u32, offset: u32, count: usize) -> usize {
    if wraps(bits, offset, count) { count } else { fit(bits) }
}

/// The same, in the order of the source: the order of the compiler would need more registers than there are.
#[inline]
#[target_feature(enable = "avx2")]
fn in_order(mut sum: __m256i) -> __m256i {
    // SAFETY: it has no instruction.
    unsafe { std::arch::asm!("/* {0} */", inout(ymm_reg) sum, options(nomem, nostack, preserves_flags)) };
    sum
}

/// The same for both halves of a vector. No later operation is moved before it.
#[inline]
#[target_feature(enable = "avx2")]
fn both_in_order([mut low, mut high]: W) -> W {
    // SAFETY: it has no instruction.
    unsafe {
        std::arch::asm!("/* {0} {1} */", inout(ymm_reg) low, inout(ymm_reg) high, options(nomem, nostack, preserves_flags))
    };
    [low, high]
}
