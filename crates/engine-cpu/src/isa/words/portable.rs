//! Plain Rust.

use super::Words;
use crate::isa::{F16x, LANES, Portable};
use half::f16;

#[inline(always)]
fn each<const N: usize>(f: impl Fn(usize) -> u32) -> [u32; N] {
    std::array::from_fn(f)
}

impl Words for Portable {
    type W = [u32; LANES];
    type F = F16x;

    #[inline(always)]
    fn load(self, bytes: &[u8; 64]) -> [u32; LANES] {
        each(|i| u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]]))
    }
    #[inline(always)]
    fn splat(self, word: u32) -> [u32; LANES] {
        [word; LANES]
    }
    #[inline(always)]
    fn and(self, a: [u32; LANES], b: [u32; LANES]) -> [u32; LANES] {
        each(|i| a[i] & b[i])
    }
    #[inline(always)]
    fn or(self, a: [u32; LANES], b: [u32; LANES]) -> [u32; LANES] {
        each(|i| a[i] | b[i])
    }
    #[inline(always)]
    fn add(self, a: [u32; LANES], b: [u32; LANES]) -> [u32; LANES] {
        each(|i| a[i].wrapping_add(b[i]))
    }
    #[inline(always)]
    fn sub(self, a: [u32; LANES], b: [u32; LANES]) -> [u32; LANES] {
        each(|i| a[i].wrapping_sub(b[i]))
    }
    #[inline(always)]
    fn mul(self, a: [u32; LANES], b: [u32; LANES]) -> [u32; LANES] {
        each(|i| a[i].wrapping_mul(b[i]))
    }
    #[inline(always)]
    fn shr(self, a: [u32; LANES], n: u32) -> [u32; LANES] {
        each(|i| a[i] >> (n & 31))
    }
    #[inline(always)]
    fn shl(self, a: [u32; LANES], n: u32) -> [u32; LANES] {
        each(|i| a[i] << (n & 31))
    }
    #[inline(always)]
    fn sar(self, a: [u32; LANES], n: u32) -> [u32; LANES] {
        each(|i| (a[i] as i32 >> (n & 31)) as u32)
    }
    #[inline(always)]
    fn lookup(self, table: &[u8; 16], a: [u32; LANES]) -> [u32; LANES] {
        each(|i| u32::from_le_bytes(a[i].to_le_bytes().map(|b| table[usize::from(b & 15)])))
    }

    #[inline(always)]
    fn dot<const SMALL: bool>(self, sums: [u32; LANES], w: [u32; LANES], a: [i8; 4]) -> [u32; LANES] {
        each(|i| {
            let products = w[i].to_le_bytes().into_iter().zip(a).map(|(w, a)| i32::from(w) * i32::from(a));
            sums[i].wrapping_add_signed(products.sum())
        })
    }

    #[inline(always)]
    fn to_floats(self, a: [u32; LANES]) -> F16x {
        a.map(|a| a as i32 as f32)
    }

    /// By bits: no call, so that it is compiled for vectors. Exact.
    #[inline(always)]
    fn halves(self, bytes: &[u8; 32]) -> F16x {
        std::array::from_fn(|i| {
            let bits = u16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]);
            let (sign, rest) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7fff));
            if rest >= 0x7c00 {
                return f16::from_bits(bits).to_f32_const();
            }
            let magnitude = f32::from_bits(rest << 13) * f32::from_bits(0x7780_0000); // 2^112
            f32::from_bits(sign | magnitude.to_bits())
        })
    }
    #[inline(always)]
    fn floats(self, lanes: &F16x) -> F16x {
        *lanes
    }
    #[inline(always)]
    fn splat_float(self, x: f32) -> F16x {
        [x; LANES]
    }
    #[inline(always)]
    fn product(self, a: F16x, b: F16x) -> F16x {
        std::array::from_fn(|i| a[i] * b[i])
    }
    #[inline(always)]
    fn fma(self, a: F16x, b: F16x, c: F16x) -> F16x {
        std::array::from_fn(|i| a[i].mul_add(b[i], c[i]))
    }
    #[inline(always)]
    fn lanes(self, a: F16x) -> F16x {
        a
    }
}
