//! AVX-512 with VNNI: one register a vector.
#![allow(unsafe_code)]

use super::{Products, Quads, Words, byte_factors};
use crate::isa::{Avx512, Set};
use std::arch::x86_64::*;

/// A method with one or more instructions that require only the instruction set. The SAFETY comment applies to all of
/// them.
macro_rules! simply {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $out:ty = $body:expr;)+) => {$(
        #[inline(always)]
        fn $name(self, $($arg: $ty),*) -> $out {
            // SAFETY: `self` proves that the machine has AVX-512 F, BW, DQ, VL and VNNI; loads and stores are of arrays
            // of just the bytes that they touch.
            unsafe { $body }
        }
    )+};
}

impl Words for Avx512 {
    type W = __m512i;
    type Dots = __m512i;

    const DIRECT: usize = 8;
    /// With two panels as many sums of words and of floats, and some weights: 32 registers. 12 rows by one panel would
    /// load as much as they multiply, which takes longer on some processors.
    const SIDE: usize = 6;
    const PANELS: usize = 2;
    const WHOLE: usize = 16;
    const KEEPS: bool = true;
    const STREAMS: bool = false;
    const ONCE: bool = false;
    const WIDE: u32 = 9;
    const SHORT: bool = false;
    const BY_BITS: bool = false;
    const BLOCK_SUMS: bool = Set::Avx512.has_block_sums();

    simply! {
        load(bytes: &[u8; 64]) -> __m512i = _mm512_loadu_si512(bytes.as_ptr().cast());
        splat(word: u32) -> __m512i = _mm512_set1_epi32(word as i32);
        and(a: __m512i, b: __m512i) -> __m512i = _mm512_and_si512(a, b);
        or(a: __m512i, b: __m512i) -> __m512i = _mm512_or_si512(a, b);
        add(a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi32(a, b);
        sub(a: __m512i, b: __m512i) -> __m512i = _mm512_sub_epi32(a, b);
        mul(a: __m512i, b: __m512i) -> __m512i = _mm512_mullo_epi32(a, b);
        shr(a: __m512i, n: u32) -> __m512i = _mm512_srl_epi32(a, _mm_cvtsi32_si128(n as i32));
        shl(a: __m512i, n: u32) -> __m512i = _mm512_sll_epi32(a, _mm_cvtsi32_si128(n as i32));
        sar(a: __m512i, n: u32) -> __m512i = _mm512_sra_epi32(a, _mm_cvtsi32_si128(n as i32));
        lookup(table: &[u8; 16], a: __m512i) -> __m512i =
            _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128(table.as_ptr().cast())), a);
        dot(sums: __m512i, w: __m512i, x: u32) -> __m512i = _mm512_dpbusd_epi32(sums, w, _mm512_set1_epi32(x as i32));
        to_floats(a: __m512i) -> __m512 = _mm512_cvtepi32_ps(a);
    }

    #[inline(always)]
    fn bytes(self, a: __m512i) -> [u8; 64] {
        let mut bytes = [0; 64];
        // SAFETY: `self` proves that the machine has AVX-512; 64 bytes are written to 64.
        unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), a) };
        bytes
    }

    #[inline(always)]
    fn left(self, _bits: u32, _up: u32) -> bool {
        true
    }
    #[inline(always)]
    fn begin_dots(self, begin: u32) -> __m512i {
        self.splat(begin)
    }
    #[inline(always)]
    fn add_dot(self, dots: __m512i, _of: Products, _k: usize, w: __m512i, x: u32) -> __m512i {
        // SAFETY: `self` proves that the machine has AVX-512.
        unsafe { in_order(self.dot(dots, w, x)) }
    }
    #[inline(always)]
    fn end_dots(self, dots: __m512i, _of: Products) -> __m512i {
        dots
    }

    /// Unrolled for one panel: the code that unpacks vectors needs constant indices, and the compiler does not unroll
    /// loops of this size.
    #[inline(always)]
    fn offset_dots<const BITS: u32, const OFFSET: u32, const N: usize, const P: usize>(
        self,
        w: [impl Quads<Avx512>; P],
        x: &[[u32; N]; 8],
        begin: &[u32; N],
    ) -> [[__m512i; N]; P] {
        let mut sums = [self.splats(OFFSET > 0, begin); P];
        if P > 1 {
            return self.dots::<BITS, N, P>(sums, w, x);
        }
        let of = Products { bits: BITS, offset: OFFSET, count: 8 };
        macro_rules! step {
            ($($k:literal)*) => {$({
                let w = self.quads(w, $k);
                for n in 0..N {
                    for p in 0..P {
                        sums[p][n] = self.add_dot(sums[p][n], of, $k, w[p], x[$k][n]);
                    }
                }
            })*};
        }
        step!(0 1 2 3 4 5 6 7);
        sums
    }

    /// As two products of 16 bits.
    #[inline(always)]
    fn weighted_bytes(self, a: __m512i, at: usize, halves: u32) -> __m512i {
        let order = byte_factors([at, at + 1]);
        // SAFETY: `self` proves that the machine has AVX-512 F, BW and VNNI; 16 bytes are loaded from 16.
        unsafe {
            let order = _mm512_broadcast_i32x4(_mm_loadu_si128(order.as_ptr().cast()));
            let factors = _mm512_srai_epi16::<8>(_mm512_shuffle_epi8(a, order));
            _mm512_madd_epi16(factors, _mm512_set1_epi32(halves as i32))
        }
    }

    /// Quarter q of vector j is of row 4 q + j; quarters are turned on their own.
    #[inline(always)]
    fn turn(self, rows: &[u8], stride: usize) -> [__m512i; 4] {
        assert!(stride.checked_mul(15).and_then(|last| last.checked_add(16)).is_some_and(|end| end <= rows.len()));
        // SAFETY: `self` proves that the machine has AVX-512 F; 16 bytes are loaded from no place beyond the last
        // row's, which was checked.
        unsafe {
            let mut v = [_mm512_setzero_si512(); 4];
            for (j, v) in v.iter_mut().enumerate() {
                let row = rows.as_ptr().add(j * stride);
                *v = _mm512_castsi128_si512(_mm_loadu_si128(row.cast()));
                *v = _mm512_inserti32x4::<1>(*v, _mm_loadu_si128(row.add(4 * stride).cast()));
                *v = _mm512_inserti32x4::<2>(*v, _mm_loadu_si128(row.add(8 * stride).cast()));
                *v = _mm512_inserti32x4::<3>(*v, _mm_loadu_si128(row.add(12 * stride).cast()));
            }
            let (a, b) = (_mm512_unpacklo_epi32(v[0], v[1]), _mm512_unpacklo_epi32(v[2], v[3]));
            let (c, d) = (_mm512_unpackhi_epi32(v[0], v[1]), _mm512_unpackhi_epi32(v[2], v[3]));
            let (low, high) = (_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
            [low, high, _mm512_unpacklo_epi64(c, d), _mm512_unpackhi_epi64(c, d)]
        }
    }
}

/// The same, in the order of the source: the compiler would move all products after the prefetches, and spill their
/// operands to memory.
#[inline]
#[target_feature(enable = "avx512f")]
fn in_order(mut sum: __m512i) -> __m512i {
    // SAFETY: it has no instruction.
    unsafe { std::arch::asm!("/* {0} */", inout(zmm_reg) sum, options(nomem, nostack, preserves_flags)) };
    sum
}
