//! AVX2 and AVX-512.
#![allow(unsafe_code)]

use super::{Body, Isa, LANES};
use std::arch::x86_64::*;

/// AVX2, FMA and F16C. Only [`Avx2::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

/// AVX-512 F, BW, DQ, VL and VNNI, with AVX2 and FMA. Only [`Avx512::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

#[target_feature(enable = "avx2,fma,f16c")]
fn run_avx2<B: Body>(body: B) -> B::Output {
    body.call()
}

#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn run_avx512<B: Body>(body: B) -> B::Output {
    body.call()
}

impl Isa for Avx2 {
    type Sums = [__m256i; 2];

    fn detect() -> Option<Avx2> {
        let here =
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c");
        here.then_some(Avx2(()))
    }

    #[inline(always)]
    fn run<B: Body>(self, body: B) -> B::Output {
        // SAFETY: `self` proves that the machine has the features.
        unsafe { run_avx2(body) }
    }

    #[inline(always)]
    fn zero(self) -> [__m256i; 2] {
        // SAFETY: `self` proves that the machine has AVX2.
        [unsafe { _mm256_setzero_si256() }; 2]
    }

    /// Products of 16 bits would not hold a byte without sign times one with it, twice: so even and odd bytes are
    /// widened first.
    #[inline(always)]
    fn dot(self, sums: [__m256i; 2], w: &[u8; 64], a: [i8; 4]) -> [__m256i; 2] {
        // SAFETY: `self` proves that the machine has AVX2; 32 bytes are read at 0 and at 32 of 64.
        unsafe {
            let a = _mm256_set1_epi32(i32::from_le_bytes(a.map(|b| b as u8)));
            let (even, odd) = (_mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(a)), _mm256_srai_epi16::<8>(a));
            let low = _mm256_set1_epi16(0xff);
            let half = |sum, at: usize| {
                let w = _mm256_loadu_si256(w.as_ptr().add(at).cast());
                let products = _mm256_madd_epi16(_mm256_and_si256(w, low), even);
                let others = _mm256_madd_epi16(_mm256_srli_epi16::<8>(w), odd);
                _mm256_add_epi32(sum, _mm256_add_epi32(products, others))
            };
            [half(sums[0], 0), half(sums[1], 32)]
        }
    }

    #[inline(always)]
    fn sums(self, sums: [__m256i; 2]) -> [i32; LANES] {
        // SAFETY: 16 sums of 32 bits, as they lie.
        unsafe { std::mem::transmute(sums) }
    }
}

impl Isa for Avx512 {
    type Sums = __m512i;

    fn detect() -> Option<Avx512> {
        let here = Avx2::detect().is_some()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni");
        here.then_some(Avx512(()))
    }

    #[inline(always)]
    fn run<B: Body>(self, body: B) -> B::Output {
        // SAFETY: `self` proves that the machine has the features.
        unsafe { run_avx512(body) }
    }

    #[inline(always)]
    fn zero(self) -> __m512i {
        // SAFETY: `self` proves that the machine has AVX-512.
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    fn dot(self, sums: __m512i, w: &[u8; 64], a: [i8; 4]) -> __m512i {
        // SAFETY: `self` proves that the machine has AVX-512 and VNNI; 64 bytes are read of 64.
        unsafe {
            let a = _mm512_set1_epi32(i32::from_le_bytes(a.map(|b| b as u8)));
            _mm512_dpbusd_epi32(sums, _mm512_loadu_si512(w.as_ptr().cast()), a)
        }
    }

    #[inline(always)]
    fn sums(self, sums: __m512i) -> [i32; LANES] {
        // SAFETY: 16 sums of 32 bits, as they lie.
        unsafe { std::mem::transmute(sums) }
    }
}

/// The floating-point mode of this thread, which is put back when this is dropped: programs that load the library may
/// have another than the one that results are defined in.
pub struct FloatMode {
    before: u32,
}

impl FloatMode {
    /// Rounding to nearest, subnormal numbers as they are, no traps.
    pub fn default_mode() -> FloatMode {
        let mut before = 0u32;
        // SAFETY: stores the control register of the thread in `before`.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut before, options(nostack, preserves_flags)) };
        load(0x1f80);
        FloatMode { before }
    }
}

impl Drop for FloatMode {
    fn drop(&mut self) {
        load(self.before);
    }
}

fn load(mode: u32) {
    // SAFETY: a mode that the thread had, or the default one of the ABI.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &mode, options(nostack, preserves_flags, readonly)) };
}
