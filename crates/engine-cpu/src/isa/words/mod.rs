//! What products of bytes are made of: 16 words of 32 bits, also seen as 64 bytes.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use super::Floats;

/// 16 lanes of words; lanes are rows of a weight. Integers wrap.
pub trait Words: Floats {
    /// 16 words, or 64 bytes: byte b of word i is byte 4 i + b.
    type W: Copy;

    /// Words as they lie in memory.
    fn load(self, bytes: &[u8; 64]) -> Self::W;
    /// The same word everywhere.
    fn splat(self, word: u32) -> Self::W;
    /// Bits that both have.
    fn and(self, a: Self::W, b: Self::W) -> Self::W;
    /// Bits that one of them has.
    fn or(self, a: Self::W, b: Self::W) -> Self::W;
    /// Sums.
    fn add(self, a: Self::W, b: Self::W) -> Self::W;
    /// Differences.
    fn sub(self, a: Self::W, b: Self::W) -> Self::W;
    /// The low words of products.
    fn mul(self, a: Self::W, b: Self::W) -> Self::W;
    /// Words shifted towards their low bits, filled with zeros; `n` is below 32.
    fn shr(self, a: Self::W, n: u32) -> Self::W;
    /// Words shifted towards their high bits.
    fn shl(self, a: Self::W, n: u32) -> Self::W;
    /// Words shifted towards their low bits, filled with their sign.
    fn sar(self, a: Self::W, n: u32) -> Self::W;
    /// Each byte, which is below 16, replaced by the table's.
    fn lookup(self, table: &[u8; 16], a: Self::W) -> Self::W;

    /// Adds to word i the products of the bytes 4 i .. 4 i + 4 of `w`, without sign, with the four of `a`, which have one
    /// and are not -128. Exact: nothing saturates. If `SMALL`, all bytes of `w` are 128 at most, which is quicker on some
    /// sets.
    fn dot<const SMALL: bool>(self, sums: Self::W, w: Self::W, a: [i8; 4]) -> Self::W;

    /// Words with a sign as floats, rounded to nearest.
    fn to_floats(self, a: Self::W) -> Self::F;
}
