//! AVX-512: one register of floats a vector, two of doubles.
#![allow(unsafe_code)]

use super::Floats;
use crate::isa::{Avx512, F16x, LANES};
use std::arch::x86_64::*;

/// A method with one or more instructions that require only the instruction set. The SAFETY comment applies to all of
/// them.
macro_rules! simply {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $out:ty = $body:expr;)+) => {$(
        #[inline(always)]
        fn $name(self, $($arg: $ty),*) -> $out {
            // SAFETY: `self` proves that the machine has AVX-512 F, BW, DQ, VL and VNNI; loads are of arrays of just
            // the bytes that they touch, or of one half of them.
            unsafe { $body }
        }
    )+};
}

type F = __m512;
type D = [__m512d; 2];

impl Floats for Avx512 {
    type F = F;
    type D = D;
    type Part = F;
    const PARTS: usize = 1;
    const SUMS: usize = 24;

    simply! {
        floats(lanes: &F16x) -> F = _mm512_loadu_ps(lanes.as_ptr());
        splat_float(x: f32) -> F = _mm512_set1_ps(x);
        singles_part(bytes: &[u8; 64], _i: usize) -> F = _mm512_loadu_ps(bytes.as_ptr().cast());
        fma_part(a: F, b: F, c: F, _i: usize) -> F = _mm512_fmadd_ps(a, b, c);
        halves(bytes: &[u8; 32]) -> F = _mm512_cvtph_ps(_mm256_loadu_si256(bytes.as_ptr().cast()));
        upper_halves(bytes: &[u8; 32]) -> F = _mm512_castsi512_ps(_mm512_slli_epi32::<16>(
            _mm512_cvtepu16_epi32(_mm256_loadu_si256(bytes.as_ptr().cast()))));
        sum(a: F, b: F) -> F = _mm512_add_ps(a, b);
        difference(a: F, b: F) -> F = _mm512_sub_ps(a, b);
        product(a: F, b: F) -> F = _mm512_mul_ps(a, b);
        quotient(a: F, b: F) -> F = _mm512_div_ps(a, b);
        fma(a: F, b: F, c: F) -> F = _mm512_fmadd_ps(a, b, c);
        larger(a: F, b: F) -> F = _mm512_max_ps(a, b);
        smaller(a: F, b: F) -> F = _mm512_min_ps(a, b);
        below(a: F, b: F, then: F, otherwise: F) -> F =
            _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b), otherwise, then);
        abs(a: F) -> F = _mm512_andnot_ps(_mm512_set1_ps(-0.0), a);
        with_sign(a: F, of: F) -> F = {
            let sign = _mm512_set1_ps(-0.0);
            _mm512_or_ps(_mm512_andnot_ps(sign, a), _mm512_and_ps(sign, of))
        };
        power_of_two(n: F) -> F = _mm512_castsi512_ps(_mm512_slli_epi32::<23>(
            _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127))));
        parts(a: F) -> [F; 2] = {
            let bits = _mm512_castps_si512(a);
            let exponent = _mm512_sub_epi32(_mm512_srli_epi32::<23>(bits), _mm512_set1_epi32(127));
            let mantissa = _mm512_and_si512(bits, _mm512_set1_epi32(0x007f_ffff));
            let mantissa = _mm512_or_si512(mantissa, _mm512_set1_epi32(0x3f80_0000));
            [_mm512_cvtepi32_ps(exponent), _mm512_castsi512_ps(mantissa)]
        };
        doubles(lanes: &[f64; LANES]) -> D =
            [_mm512_loadu_pd(lanes.as_ptr()), _mm512_loadu_pd(lanes.as_ptr().add(8))];
        splat_double(x: f64) -> D = [_mm512_set1_pd(x); 2];
        widen(a: F) -> D = [_mm512_cvtps_pd(_mm512_castps512_ps256(a)), _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(a))];
        narrow(a: D) -> F =
            _mm512_insertf32x8::<1>(_mm512_castps256_ps512(_mm512_cvtpd_ps(a[0])), _mm512_cvtpd_ps(a[1]));
        wide_sum(a: D, b: D) -> D = [_mm512_add_pd(a[0], b[0]), _mm512_add_pd(a[1], b[1])];
        wide_difference(a: D, b: D) -> D = [_mm512_sub_pd(a[0], b[0]), _mm512_sub_pd(a[1], b[1])];
        wide_product(a: D, b: D) -> D = [_mm512_mul_pd(a[0], b[0]), _mm512_mul_pd(a[1], b[1])];
        wide_quotient(a: D, b: D) -> D = [_mm512_div_pd(a[0], b[0]), _mm512_div_pd(a[1], b[1])];
        wide_fma(a: D, b: D, c: D) -> D =
            [_mm512_fmadd_pd(a[0], b[0], c[0]), _mm512_fmadd_pd(a[1], b[1], c[1])];
    }

    #[inline(always)]
    fn halves_part(self, bytes: &[u8; 32], _i: usize) -> F {
        self.halves(bytes)
    }

    #[inline(always)]
    fn upper_halves_part(self, bytes: &[u8; 32], _i: usize) -> F {
        self.upper_halves(bytes)
    }

    #[inline(always)]
    fn prefetch_line(self, byte: *const u8) {
        self.avx2().prefetch_line(byte);
    }

    #[inline(always)]
    fn prefetch_far(self, byte: *const u8) {
        self.avx2().prefetch_far(byte);
    }

    #[inline(always)]
    fn prefetch_once(self, byte: *const u8) {
        self.avx2().prefetch_once(byte);
    }

    #[inline(always)]
    fn lanes(self, a: F) -> F16x {
        let mut lanes = [0.0; LANES];
        // SAFETY: `self` proves that the machine has AVX-512; 16 floats are written to 16.
        unsafe { _mm512_storeu_ps(lanes.as_mut_ptr(), a) };
        lanes
    }

    #[inline(always)]
    fn low_bytes(self, a: F) -> [u8; LANES] {
        let mut bytes = [0; LANES];
        // SAFETY: `self` proves that the machine has AVX-512; 16 bytes are written to 16.
        unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(_mm512_castps_si512(a))) };
        bytes
    }

    #[inline(always)]
    fn fold_sum(self, a: F) -> f32 {
        self.avx2().fold_sum(halves_of(self, a))
    }

    #[inline(always)]
    fn fold_sums(self, a: [F; 4]) -> [f32; 4] {
        let [a, b, c, d] = a;
        self.avx2().fold_sums([halves_of(self, a), halves_of(self, b), halves_of(self, c), halves_of(self, d)])
    }

    #[inline(always)]
    fn fold_max(self, a: F) -> f32 {
        self.avx2().fold_max(halves_of(self, a))
    }

    #[inline(always)]
    fn transpose_words(self, rows: &[u8], stride: usize) -> [[u8; 32]; 8] {
        self.avx2().transpose_words(rows, stride)
    }

    /// Pairs, pairs of pairs, then quarters change places.
    #[inline(always)]
    fn transpose(self, a: [F; LANES]) -> [F; LANES] {
        let (mut b, mut c, mut d) = (a, a, a);
        // SAFETY: `self` proves that the machine has AVX-512.
        unsafe {
            for i in 0..8 {
                b[2 * i] = _mm512_unpacklo_ps(a[2 * i], a[2 * i + 1]);
                b[2 * i + 1] = _mm512_unpackhi_ps(a[2 * i], a[2 * i + 1]);
            }
            for i in 0..4 {
                let [p, q, r, s] = [b[4 * i], b[4 * i + 1], b[4 * i + 2], b[4 * i + 3]];
                c[4 * i] = _mm512_shuffle_ps::<0x44>(p, r);
                c[4 * i + 1] = _mm512_shuffle_ps::<0xee>(p, r);
                c[4 * i + 2] = _mm512_shuffle_ps::<0x44>(q, s);
                c[4 * i + 3] = _mm512_shuffle_ps::<0xee>(q, s);
            }
            for i in 0..4 {
                let [p, q, r, s] = [c[i], c[i + 4], c[i + 8], c[i + 12]];
                let low = [_mm512_shuffle_f32x4::<0x44>(p, q), _mm512_shuffle_f32x4::<0x44>(r, s)];
                let high = [_mm512_shuffle_f32x4::<0xee>(p, q), _mm512_shuffle_f32x4::<0xee>(r, s)];
                d[i] = _mm512_shuffle_f32x4::<0x88>(low[0], low[1]);
                d[i + 4] = _mm512_shuffle_f32x4::<0xdd>(low[0], low[1]);
                d[i + 8] = _mm512_shuffle_f32x4::<0x88>(high[0], high[1]);
                d[i + 12] = _mm512_shuffle_f32x4::<0xdd>(high[0], high[1]);
            }
        }
        d
    }
}

/// As AVX2 has it.
#[inline(always)]
fn halves_of(_isa: Avx512, a: F) -> [__m256; 2] {
    // SAFETY: the set proves that the machine has AVX-512.
    unsafe { [_mm512_castps512_ps256(a), _mm512_extractf32x8_ps::<1>(a)] }
}
