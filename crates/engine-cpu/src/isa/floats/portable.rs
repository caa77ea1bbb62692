//! Plain Rust.

use super::Floats;
use crate::isa::{F16x, LANES, Portable};
use half::f16;
use std::array::from_fn;

/// A method that does the same to each lane.
macro_rules! lanewise {
    ($($name:ident($($arg:ident: $ty:ty),*; $i:ident) -> $out:ty = $body:expr;)+) => {$(
        #[inline(always)]
        fn $name(self, $($arg: $ty),*) -> [$out; LANES] {
            from_fn(|$i| $body)
        }
    )+};
}

type F = F16x;
type D = [f64; LANES];

impl Floats for Portable {
    type F = F;
    type D = D;
    type Part = F;
    const PARTS: usize = 1;
    const SUMS: usize = 2;
    const RARE: bool = cfg!(target_arch = "x86_64");

    lanewise! {
        floats(lanes: &F16x; i) -> f32 = lanes[i];
        lanes(a: F; i) -> f32 = a[i];
        splat_float(x: f32; _i) -> f32 = x;
        halves(bytes: &[u8; 32]; i) -> f32 = half(u16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]));
        upper_halves(bytes: &[u8; 32]; i) -> f32 = f32::from_le_bytes([0, 0, bytes[2 * i], bytes[2 * i + 1]]);
        sum(a: F, b: F; i) -> f32 = a[i] + b[i];
        difference(a: F, b: F; i) -> f32 = a[i] - b[i];
        product(a: F, b: F; i) -> f32 = a[i] * b[i];
        quotient(a: F, b: F; i) -> f32 = a[i] / b[i];
        larger(a: F, b: F; i) -> f32 = if a[i] > b[i] { a[i] } else { b[i] };
        smaller(a: F, b: F; i) -> f32 = if a[i] < b[i] { a[i] } else { b[i] };
        below(a: F, b: F, then: F, otherwise: F; i) -> f32 = if a[i] < b[i] { then[i] } else { otherwise[i] };
        abs(a: F; i) -> f32 = a[i].abs();
        with_sign(a: F, of: F; i) -> f32 = a[i].copysign(of[i]);
        power_of_two(n: F; i) -> f32 = f32::from_bits((n[i] as i32).wrapping_add(127).cast_unsigned() << 23);
        doubles(lanes: &D; i) -> f64 = lanes[i];
        splat_double(x: f64; _i) -> f64 = x;
        widen(a: F; i) -> f64 = f64::from(a[i]);
        narrow(a: D; i) -> f32 = a[i] as f32;
        wide_sum(a: D, b: D; i) -> f64 = a[i] + b[i];
        wide_difference(a: D, b: D; i) -> f64 = a[i] - b[i];
        wide_product(a: D, b: D; i) -> f64 = a[i] * b[i];
        wide_quotient(a: D, b: D; i) -> f64 = a[i] / b[i];
    }

    // Without the instruction each lane is a call; inlined everywhere they would be most of the code of this set.
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn fma(self, a: F, b: F, c: F) -> F {
        from_fn(|i| a[i].mul_add(b[i], c[i]))
    }

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn wide_fma(self, a: D, b: D, c: D) -> D {
        from_fn(|i| a[i].mul_add(b[i], c[i]))
    }

    #[inline(always)]
    fn singles_part(self, bytes: &[u8; 64], _i: usize) -> F {
        from_fn(|i| f32::from_le_bytes(bytes.as_chunks().0[i]))
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
    fn fma_part(self, a: F, b: F, c: F, _i: usize) -> F {
        self.fma(a, b, c)
    }

    #[inline(always)]
    fn prefetch_line(self, _byte: *const u8) {}

    #[inline(always)]
    fn prefetch_far(self, _byte: *const u8) {}

    #[inline(always)]
    fn prefetch_once(self, _byte: *const u8) {}

    #[inline(always)]
    fn parts(self, a: F) -> [F; 2] {
        let exponent = |a: f32| ((a.to_bits() >> 23) as i32 - 127) as f32;
        let mantissa = |a: f32| f32::from_bits(a.to_bits() & 0x007f_ffff | 0x3f80_0000);
        [a.map(exponent), a.map(mantissa)]
    }

    #[inline(always)]
    fn fold_sum(self, mut a: F) -> f32 {
        for half in [8, 4, 2, 1] {
            for i in 0..half {
                a[i] += a[i + half];
            }
        }
        a[0]
    }

    #[inline(always)]
    fn fold_max(self, mut a: F) -> f32 {
        for half in [8, 4, 2, 1] {
            for i in 0..half {
                a[i] = if a[i] > a[i + half] { a[i] } else { a[i + half] };
            }
        }
        a[0]
    }

    #[inline(always)]
    fn transpose(self, a: [F; LANES]) -> [F; LANES] {
        from_fn(|i| from_fn(|j| a[j][i]))
    }

    #[inline(always)]
    fn transpose_words(self, rows: &[u8], stride: usize) -> [[u8; 32]; 8] {
        from_fn(|i| from_fn(|b| rows[b / 2 * stride + 2 * i + b % 2]))
    }
}

/// By bits: no call, so that it is compiled for vectors. Exact.
#[inline(always)]
fn half(bits: u16) -> f32 {
    let (sign, rest) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7fff));
    if rest >= 0x7c00 {
        return f16::from_bits(bits).to_f32_const();
    }
    let magnitude = f32::from_bits(rest << 13) * f32::from_bits(0x7780_0000); // 2^112
    f32::from_bits(sign | magnitude.to_bits())
}
