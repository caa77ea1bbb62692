//! Plain Rust.

use super::{Products, Words};
use crate::isa::{F16x, Floats, LANES, Portable, Set};

#[inline(always)]
fn each<const N: usize>(f: impl Fn(usize) -> u32) -> [u32; N] {
    std::array::from_fn(f)
}

impl Words for Portable {
    type W = [u32; LANES];
    type Dots = [u32; LANES];

    const DIRECT: usize = if Portable::RARE { 0 } else { 1 };
    const SIDE: usize = if Portable::RARE { 1 } else { 4 };
    const PANELS: usize = 1;
    const WHOLE: usize = 0;
    const KEEPS: bool = true;
    const STREAMS: bool = false;
    const ONCE: bool = false;
    const WIDE: u32 = 8;
    const SHORT: bool = false;
    const BY_BITS: bool = false;
    const BLOCK_SUMS: bool = Set::Portable.has_block_sums();

    #[inline(always)]
    fn load(self, bytes: &[u8; 64]) -> [u32; LANES] {
        each(|i| u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]]))
    }
    #[inline(always)]
    fn turn(self, rows: &[u8], stride: usize) -> [[u32; LANES]; 4] {
        let row = |i: usize| &rows[i * stride..][..16];
        let word = |row: &[u8], i: usize| u32::from_le_bytes([row[i], row[i + 1], row[i + 2], row[i + 3]]);
        std::array::from_fn(|i| each(|lane| word(row(lane), 4 * i)))
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
    fn bytes(self, a: [u32; LANES]) -> [u8; 64] {
        std::array::from_fn(|i| a[i / 4].to_le_bytes()[i % 4])
    }

    // See `RARE`.
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn dot(self, sums: [u32; LANES], w: [u32; LANES], x: u32) -> [u32; LANES] {
        each(|i| {
            let bytes = w[i].to_le_bytes().into_iter().zip(x.to_le_bytes());
            sums[i].wrapping_add_signed(bytes.map(|(w, x)| i32::from(w) * i32::from(x as i8)).sum())
        })
    }

    #[inline(always)]
    fn left(self, _bits: u32, _up: u32) -> bool {
        true
    }
    #[inline(always)]
    fn begin_dots(self, begin: u32) -> [u32; LANES] {
        self.splat(begin)
    }
    #[inline(always)]
    fn add_dot(self, dots: [u32; LANES], _of: Products, _k: usize, w: [u32; LANES], x: u32) -> [u32; LANES] {
        self.dot(dots, w, x)
    }
    #[inline(always)]
    fn end_dots(self, dots: [u32; LANES], _of: Products) -> [u32; LANES] {
        dots
    }

    #[inline(always)]
    fn to_floats(self, a: [u32; LANES]) -> F16x {
        a.map(|a| a as i32 as f32)
    }
}
