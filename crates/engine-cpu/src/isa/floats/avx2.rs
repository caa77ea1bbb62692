//! AVX2, FMA and F16C: two registers of floats a vector, four of doubles.
#![allow(unsafe_code)]

use super::Floats;
use crate::isa::{Avx2, F16x, LANES};
use std::arch::x86_64::*;

/// A method that does the same to each register of its vectors. The comment holds for all of them.
macro_rules! registers {
    ($n:tt: $($name:ident($($arg:ident: $ty:ty),*; $i:ident) -> $out:ty = $body:expr;)+) => {$(
        #[inline(always)]
        fn $name(self, $($arg: $ty),*) -> [$out; $n] {
            // SAFETY: `self` proves that the machine has AVX2, FMA and F16C; register i of a vector is loaded from part
            // i of an array of as many bytes as the vector has.
            unsafe { registers!(@ $n $i $body) }
        }
    )+};
    (@ 2 $i:ident $body:expr) => { [{ let $i = 0; $body }, { let $i = 1; $body }] };
    (@ 4 $i:ident $body:expr) => {
        [{ let $i = 0; $body }, { let $i = 1; $body }, { let $i = 2; $body }, { let $i = 3; $body }]
    };
}

type F = [__m256; 2];
type D = [__m256d; 4];

impl Floats for Avx2 {
    type F = F;
    type D = D;
    type Part = __m256;
    const PARTS: usize = 2;
    const SUMS: usize = 6;

    registers! { 2:
        floats(lanes: &F16x; i) -> __m256 = _mm256_loadu_ps(lanes.as_ptr().add(8 * i));
        splat_float(x: f32; _i) -> __m256 = _mm256_set1_ps(x);
        sum(a: F, b: F; i) -> __m256 = _mm256_add_ps(a[i], b[i]);
        difference(a: F, b: F; i) -> __m256 = _mm256_sub_ps(a[i], b[i]);
        product(a: F, b: F; i) -> __m256 = _mm256_mul_ps(a[i], b[i]);
        quotient(a: F, b: F; i) -> __m256 = _mm256_div_ps(a[i], b[i]);
        fma(a: F, b: F, c: F; i) -> __m256 = _mm256_fmadd_ps(a[i], b[i], c[i]);
        larger(a: F, b: F; i) -> __m256 = _mm256_max_ps(a[i], b[i]);
        smaller(a: F, b: F; i) -> __m256 = _mm256_min_ps(a[i], b[i]);
        below(a: F, b: F, then: F, otherwise: F; i) -> __m256 =
            _mm256_blendv_ps(otherwise[i], then[i], _mm256_cmp_ps::<_CMP_LT_OQ>(a[i], b[i]));
        abs(a: F; i) -> __m256 = _mm256_andnot_ps(_mm256_set1_ps(-0.0), a[i]);
        with_sign(a: F, of: F; i) -> __m256 = {
            let sign = _mm256_set1_ps(-0.0);
            _mm256_or_ps(_mm256_andnot_ps(sign, a[i]), _mm256_and_ps(sign, of[i]))
        };
        power_of_two(n: F; i) -> __m256 = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(
            _mm256_add_epi32(_mm256_cvtps_epi32(n[i]), _mm256_set1_epi32(127))));
        narrow(a: D; i) -> __m256 = _mm256_set_m128(_mm256_cvtpd_ps(a[2 * i + 1]), _mm256_cvtpd_ps(a[2 * i]));
    }

    registers! { 4:
        doubles(lanes: &[f64; LANES]; i) -> __m256d = _mm256_loadu_pd(lanes.as_ptr().add(4 * i));
        splat_double(x: f64; _i) -> __m256d = _mm256_set1_pd(x);
        widen(a: F; i) -> __m256d = _mm256_cvtps_pd(match i % 2 {
            0 => _mm256_castps256_ps128(a[i / 2]),
            _ => _mm256_extractf128_ps::<1>(a[i / 2]),
        });
        wide_sum(a: D, b: D; i) -> __m256d = _mm256_add_pd(a[i], b[i]);
        wide_difference(a: D, b: D; i) -> __m256d = _mm256_sub_pd(a[i], b[i]);
        wide_product(a: D, b: D; i) -> __m256d = _mm256_mul_pd(a[i], b[i]);
        wide_quotient(a: D, b: D; i) -> __m256d = _mm256_div_pd(a[i], b[i]);
        wide_fma(a: D, b: D, c: D; i) -> __m256d = _mm256_fmadd_pd(a[i], b[i], c[i]);
    }

    #[inline(always)]
    fn halves(self, bytes: &[u8; 32]) -> F {
        [self.halves_part(bytes, 0), self.halves_part(bytes, 1)]
    }

    #[inline(always)]
    fn upper_halves(self, bytes: &[u8; 32]) -> F {
        [self.upper_halves_part(bytes, 0), self.upper_halves_part(bytes, 1)]
    }

    #[inline(always)]
    fn singles_part(self, bytes: &[u8; 64], i: usize) -> __m256 {
        let bytes: &[u8; 32] = &bytes.as_chunks().0[i];
        // SAFETY: `self` proves that the machine has AVX2; as many bytes as it loads.
        unsafe { _mm256_loadu_ps(bytes.as_ptr().cast()) }
    }

    #[inline(always)]
    fn halves_part(self, bytes: &[u8; 32], i: usize) -> __m256 {
        let bytes: &[u8; 16] = &bytes.as_chunks().0[i];
        // SAFETY: `self` proves that the machine has F16C; as many bytes as it loads.
        unsafe { _mm256_cvtph_ps(_mm_loadu_si128(bytes.as_ptr().cast())) }
    }

    #[inline(always)]
    fn upper_halves_part(self, bytes: &[u8; 32], i: usize) -> __m256 {
        let bytes: &[u8; 16] = &bytes.as_chunks().0[i];
        // SAFETY: `self` proves that the machine has AVX2; as many bytes as it loads.
        unsafe {
            let words = _mm256_cvtepu16_epi32(_mm_loadu_si128(bytes.as_ptr().cast()));
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(words))
        }
    }

    #[inline(always)]
    fn fma_part(self, a: __m256, b: __m256, mut c: F, i: usize) -> F {
        // SAFETY: `self` proves that the machine has FMA.
        c[i] = unsafe { in_order(_mm256_fmadd_ps(a, b, c[i])) };
        c
    }

    #[inline(always)]
    fn prefetch_line(self, byte: *const u8) {
        // SAFETY: `self` proves that the machine has it, and it faults nowhere.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(byte.cast()) };
    }

    #[inline(always)]
    fn prefetch_far(self, byte: *const u8) {
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(byte.cast()) };
    }

    #[inline(always)]
    fn prefetch_once(self, byte: *const u8) {
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_NTA>(byte.cast()) };
    }

    #[inline(always)]
    fn lanes(self, a: F) -> F16x {
        let mut lanes = [0.0; LANES];
        // SAFETY: `self` proves that the machine has AVX2; 8 floats are written at 0 and at 8 of 16.
        unsafe {
            _mm256_storeu_ps(lanes.as_mut_ptr(), a[0]);
            _mm256_storeu_ps(lanes.as_mut_ptr().add(8), a[1]);
        }
        lanes
    }

    #[inline(always)]
    fn low_bytes(self, a: F) -> [u8; LANES] {
        let mut bytes = [0; LANES];
        // SAFETY: `self` proves that the machine has AVX2; 16 bytes are written to 16.
        unsafe {
            let low = |a| _mm256_and_si256(_mm256_castps_si256(a), _mm256_set1_epi32(255));
            // Both halves of a register are packed on their own.
            let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(low(a[0]), low(a[1])));
            let (first, second) = (_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
            _mm_storeu_si128(bytes.as_mut_ptr().cast(), _mm_packus_epi16(first, second));
        }
        bytes
    }

    #[inline(always)]
    fn parts(self, a: F) -> [F; 2] {
        // SAFETY: `self` proves that the machine has AVX2.
        unsafe {
            let exponent = |a| {
                let biased = _mm256_srli_epi32::<23>(_mm256_castps_si256(a));
                _mm256_cvtepi32_ps(_mm256_sub_epi32(biased, _mm256_set1_epi32(127)))
            };
            let mantissa = |a| {
                let bits = _mm256_and_si256(_mm256_castps_si256(a), _mm256_set1_epi32(0x007f_ffff));
                _mm256_castsi256_ps(_mm256_or_si256(bits, _mm256_set1_epi32(0x3f80_0000)))
            };
            [[exponent(a[0]), exponent(a[1])], [mantissa(a[0]), mantissa(a[1])]]
        }
    }

    #[inline(always)]
    fn fold_sum(self, a: F) -> f32 {
        // SAFETY: `self` proves that the machine has AVX2.
        unsafe {
            let eight = _mm256_add_ps(a[0], a[1]);
            let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }

    /// Adds neighbours: two remain next to each other after each step except the last.
    #[inline(always)]
    fn fold_sums(self, a: [F; 4]) -> [f32; 4] {
        let mut out = [0.0; 4];
        // SAFETY: `self` proves that the machine has AVX2; four floats are written to four.
        unsafe {
            let mut eight = [_mm256_setzero_ps(); 4];
            for (eight, a) in eight.iter_mut().zip(a) {
                *eight = _mm256_add_ps(a[0], a[1]);
            }
            let [a, b, c, d] = eight;
            let first = _mm256_add_ps(_mm256_permute2f128_ps::<0x20>(a, b), _mm256_permute2f128_ps::<0x31>(a, b));
            let second = _mm256_add_ps(_mm256_permute2f128_ps::<0x20>(c, d), _mm256_permute2f128_ps::<0x31>(c, d));
            let (first, second) = (_mm256_castps_pd(first), _mm256_castps_pd(second));
            let (low, high) = (_mm256_unpacklo_pd(first, second), _mm256_unpackhi_pd(first, second));
            let two = _mm256_add_ps(_mm256_castpd_ps(low), _mm256_castpd_ps(high));
            // Even lanes of the halves have a and c, b and d.
            let one = _mm256_add_ps(two, _mm256_movehdup_ps(two));
            let (ac, bd) = (_mm256_castps256_ps128(one), _mm256_extractf128_ps::<1>(one));
            _mm_storeu_ps(out.as_mut_ptr(), _mm_blend_ps::<0b1010>(ac, _mm_moveldup_ps(bd)));
        }
        out
    }

    #[inline(always)]
    fn fold_max(self, a: F) -> f32 {
        // SAFETY: `self` proves that the machine has AVX2.
        unsafe {
            let eight = _mm256_max_ps(a[0], a[1]);
            let four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
        }
    }

    #[inline(always)]
    fn transpose(self, a: [F; LANES]) -> [F; LANES] {
        let mut out = a;
        for (rows, cols) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let mut square = [a[0][0]; 8];
            for i in 0..8 {
                square[i] = a[8 * rows + i][cols];
            }
            let square = transpose8(self, square);
            for i in 0..8 {
                out[8 * cols + i][rows] = square[i];
            }
        }
        out
    }

    #[inline(always)]
    fn transpose_words(self, rows: &[u8], stride: usize) -> [[u8; 32]; 8] {
        let last = stride.checked_mul(LANES - 1).and_then(|at| at.checked_add(16));
        assert!(last.is_some_and(|last| last <= rows.len()), "16 rows, {stride} apart, of {} bytes", rows.len());
        let mut out = [[0; 32]; 8];
        // SAFETY: `self` proves that the machine has AVX2. Row i is loaded from the 16 bytes at i * stride; the last
        // row ends within `rows`. Stores have 32 bytes each.
        unsafe {
            let mut a = [_mm256_setzero_si256(); 8];
            // Each row is paired with the row eight below, so that the following steps stay within halves.
            for (i, a) in a.iter_mut().enumerate() {
                let low = _mm_loadu_si128(rows.as_ptr().add(i * stride).cast());
                let high = _mm_loadu_si128(rows.as_ptr().add((i + 8) * stride).cast());
                *a = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high);
            }
            let (mut b, mut c) = (a, a);
            // By four columns: words of two rows.
            for i in 0..4 {
                b[i] = _mm256_unpacklo_epi16(a[2 * i], a[2 * i + 1]);
                b[i + 4] = _mm256_unpackhi_epi16(a[2 * i], a[2 * i + 1]);
            }
            // By two columns: words of four rows.
            for i in 0..4 {
                let [p, q] = [b[2 * i], b[2 * i + 1]];
                c[i] = _mm256_unpacklo_epi32(p, q);
                c[i + 4] = _mm256_unpackhi_epi32(p, q);
            }
            // By columns: words of eight rows.
            for (i, at) in [0, 4, 2, 6].into_iter().enumerate() {
                let [p, q] = [c[at], c[at + 1]];
                _mm256_storeu_si256(out[2 * i].as_mut_ptr().cast(), _mm256_unpacklo_epi64(p, q));
                _mm256_storeu_si256(out[2 * i + 1].as_mut_ptr().cast(), _mm256_unpackhi_epi64(p, q));
            }
        }
        out
    }
}

/// Pairs, pairs of pairs, then halves change places.
#[inline(always)]
fn transpose8(_isa: Avx2, a: [__m256; 8]) -> [__m256; 8] {
    let (mut b, mut c, mut d) = (a, a, a);
    // SAFETY: the set proves that the machine has AVX2.
    unsafe {
        for i in 0..4 {
            b[2 * i] = _mm256_unpacklo_ps(a[2 * i], a[2 * i + 1]);
            b[2 * i + 1] = _mm256_unpackhi_ps(a[2 * i], a[2 * i + 1]);
        }
        for i in 0..2 {
            let [p, q, r, s] = [b[4 * i], b[4 * i + 1], b[4 * i + 2], b[4 * i + 3]];
            c[4 * i] = _mm256_shuffle_ps::<0x44>(p, r);
            c[4 * i + 1] = _mm256_shuffle_ps::<0xee>(p, r);
            c[4 * i + 2] = _mm256_shuffle_ps::<0x44>(q, s);
            c[4 * i + 3] = _mm256_shuffle_ps::<0xee>(q, s);
        }
        for i in 0..4 {
            d[i] = _mm256_permute2f128_ps::<0x20>(c[i], c[i + 4]);
            d[i + 4] = _mm256_permute2f128_ps::<0x31>(c[i], c[i + 4]);
        }
    }
    d
}

/// The same, in the order of the source: the order of the compiler would need more registers than there are.
#[inline]
#[target_feature(enable = "avx2")]
fn in_order(mut sums: __m256) -> __m256 {
    // SAFETY: it has no instruction.
    unsafe { std::arch::asm!("/* {0} */", inout(ymm_reg) sums, options(nomem, nostack, preserves_flags)) };
    sums
}
