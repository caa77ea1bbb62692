//! Pairs of BF16 times pairs of BF16, added to 16 sums in f32: what `vdpbf16ps` of AVX-512 does, and what that is in plain
//! Rust.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use super::{Floats, Isa};

/// 16 lanes of two BF16 each: lane i has elements 2 i and 2 i + 1.
///
/// To each sum the product of the second elements is added first, by one fused multiply-add, then that of the first ones.
/// Both are rounded to nearest, and numbers below the smallest normal one are zero: factors, sums and results.
pub trait Pairs: Isa {
    /// The set that sums are of.
    type Set: Floats;
    /// 32 BF16.
    type P: Copy;

    /// What it includes.
    fn set(self) -> Self::Set;
    /// As they lie in memory.
    fn pairs(self, bytes: &[u8; 64]) -> Self::P;
    /// Adds products of pairs.
    fn add_pairs(self, a: Self::P, b: Self::P, sums: <Self::Set as Floats>::F) -> <Self::Set as Floats>::F;
}

#[cfg(test)]
mod tests;
