//! AVX-512 with products of BF16.
#![allow(unsafe_code)]

use super::Pairs;
use crate::isa::{Avx512, Avx512Bf16};
use std::arch::x86_64::*;

impl Pairs for Avx512Bf16 {
    type Set = Avx512;
    type P = __m512i;

    #[inline(always)]
    fn set(self) -> Avx512 {
        self.avx512()
    }

    #[inline(always)]
    fn pairs(self, bytes: &[u8; 64]) -> __m512i {
        // SAFETY: `self` proves that the machine has AVX-512; as many bytes as it loads.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    #[inline(always)]
    fn add_pairs(self, a: __m512i, b: __m512i, sums: __m512) -> __m512 {
        // SAFETY: `self` proves that the machine has BF16. Any 64 bytes are 32 BF16 numbers.
        unsafe {
            let (a, b) = (std::mem::transmute::<__m512i, __m512bh>(a), std::mem::transmute::<__m512i, __m512bh>(b));
            _mm512_dpbf16_ps(sums, a, b)
        }
    }
}
