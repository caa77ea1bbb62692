//! AVX2, FMA and F16C: two registers a vector.
#![allow(unsafe_code)]

use super::Words;
use crate::isa::Avx2;
use std::arch::x86_64::*;

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

impl Words for Avx2 {
    type W = W;

    const SIDE: usize = 4;

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

    /// A byte of 127 times one of 127, twice, fits into 16 bits.
    #[inline(always)]
    fn dots<const BITS: u32, const K: usize, const N: usize>(
        self,
        mut sums: [W; N],
        w: &[W; K],
        x: &[[u32; N]; K],
    ) -> [W; N] {
        for k in 0..K {
            for n in 0..N {
                if BITS == 8 {
                    sums[n] = self.dot(sums[n], w[k], x[k][n]);
                    continue;
                }
                // SAFETY: `self` proves that the machine has AVX2.
                unsafe {
                    let (x, ones) = (_mm256_set1_epi32(x[k][n] as i32), _mm256_set1_epi16(1));
                    for i in 0..2 {
                        let products = _mm256_madd_epi16(_mm256_maddubs_epi16(w[k][i], x), ones);
                        sums[n][i] = _mm256_add_epi32(sums[n][i], products);
                    }
                }
            }
        }
        sums
    }
}
