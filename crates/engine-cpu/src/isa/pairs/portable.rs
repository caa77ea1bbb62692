//! Plain Rust.

use super::Pairs;
use crate::isa::{F16x, Portable};
use std::array::from_fn;

impl Pairs for Portable {
    type Set = Portable;
    type P = [[f32; 2]; 16];

    #[inline(always)]
    fn set(self) -> Portable {
        self
    }

    #[inline(always)]
    fn pairs(self, bytes: &[u8; 64]) -> [[f32; 2]; 16] {
        from_fn(|i| [0, 2].map(|at| f32::from_le_bytes([0, 0, bytes[4 * i + at], bytes[4 * i + at + 1]])))
    }

    #[inline(always)]
    fn add_pairs(self, a: [[f32; 2]; 16], b: [[f32; 2]; 16], sums: F16x) -> F16x {
        from_fn(|i| add(a[i][0], b[i][0], add(a[i][1], b[i][1], sums[i])))
    }
}

#[inline(always)]
fn add(a: f32, b: f32, sum: f32) -> f32 {
    flushed(flushed(a).mul_add(flushed(b), flushed(sum)))
}

/// Replaces numbers smaller than normal ones with zero of the same sign.
#[inline(always)]
fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { 0f32.copysign(x) } else { x }
}
