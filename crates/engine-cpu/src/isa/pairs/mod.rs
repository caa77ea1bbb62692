//! Products of pairs of BF16, added to 16 sums in f32: the instruction `vdpbf16ps` of AVX-512, and the same in plain
//! Rust.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use super::{Floats, Isa};

/// 16 lanes of two BF16 each: lane i has elements 2 i and 2 i + 1.
///
/// The product of the second elements is added to each sum first, by one fused multiply-add, then the product of the
/// first elements. Both are rounded to nearest. Factors, sums and results below the smallest normal number are zero.
pub trait Pairs: Isa {
    /// The set that sums are of.
    type Set: Floats;
    /// 32 BF16.
    type P: Copy;

    /// The instruction set that it includes.
    fn set(self) -> Self::Set;
    /// Loads pairs from memory.
    fn pairs(self, bytes: &[u8; 64]) -> Self::P;
    /// Adds products of pairs.
    fn add_pairs(self, a: Self::P, b: Self::P, sums: <Self::Set as Floats>::F) -> <Self::Set as Floats>::F;
}

#[cfg(test)]
mod tests;
