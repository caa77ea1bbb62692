//! AVX-512 with VNNI: one register a vector.
#![allow(unsafe_code)]

use super::Words;
use crate::isa::Avx512;
use std::arch::x86_64::*;

/// A method of one instruction, or of some that need nothing but the set. The comment holds for all of them.
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
        to_floats(a: __m512i) -> __m512 = _mm512_cvtepi32_ps(a);
    }

    #[inline(always)]
    fn dot<const SMALL: bool>(self, sums: __m512i, w: __m512i, a: [i8; 4]) -> __m512i {
        // SAFETY: `self` proves that the machine has VNNI.
        unsafe { _mm512_dpbusd_epi32(sums, w, _mm512_set1_epi32(i32::from_le_bytes(a.map(|b| b as u8)))) }
    }
}
