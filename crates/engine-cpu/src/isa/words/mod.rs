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

    /// Rows of a step that products do side by side, if there are as many: what registers hold. 12 at most.
    const SIDE: usize;

    /// Words as they lie in memory.
    fn load(self, bytes: &[u8; 64]) -> Self::W;
    /// Words as they lie in memory.
    fn bytes(self, a: Self::W) -> [u8; 64];
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

    /// Adds to word i the products of the bytes 4 i .. 4 i + 4 of `w`, without sign, with the four of `x`, which have one
    /// and are not -128. Exact: nothing saturates, and sums wrap.
    fn dot(self, sums: Self::W, w: Self::W, x: u32) -> Self::W;

    /// [`Words::dot`] of all `w` with the words of `N` rows: adds to `sums[n]` those of `w[k]` with `x[k][n]`. All bytes of
    /// `w` are below 2 to the power of `BITS`, so that some sets can add products before they widen them.
    #[inline(always)]
    fn dots<const BITS: u32, const K: usize, const N: usize>(
        self,
        mut sums: [Self::W; N],
        w: &[Self::W; K],
        x: &[[u32; N]; K],
    ) -> [Self::W; N] {
        for k in 0..K {
            for n in 0..N {
                sums[n] = self.dot(sums[n], w[k], x[k][n]);
            }
        }
        sums
    }

    /// Words with a sign as floats, rounded to nearest.
    fn to_floats(self, a: Self::W) -> Self::F;
}
