//! Functions that unpack formats.

use super::Head;
use crate::isa::{Floats, Words};

/// A column of blocks under way.
#[derive(Clone, Copy)]
pub(super) struct Blocks<'a, I> {
    pub(super) isa: I,
    pub(super) bytes: &'a [u8],
}

/// A vector of words of a column.
pub(super) type W<I> = <I as Words>::W;
/// A vector of floats of a column.
pub(super) type F<I> = <I as Floats>::F;

impl<I: Words> Blocks<'_, I> {
    /// The words at byte `at`.
    #[inline(always)]
    pub(super) fn words(self, at: usize) -> W<I> {
        match self.bytes[at..].first_chunk() {
            Some(bytes) => self.isa.load(bytes),
            None => self.isa.splat(0),
        }
    }

    /// Numbers of half precision at byte `at`.
    #[inline(always)]
    pub(super) fn halves(self, at: usize) -> F<I> {
        match self.bytes[at..].first_chunk() {
            Some(bytes) => self.isa.halves(bytes),
            None => self.isa.splat_float(0.0),
        }
    }

    /// Bits of each word from bit `n` on that `mask` has.
    #[inline(always)]
    pub(super) fn bits(self, words: W<I>, n: u32, mask: u32) -> W<I> {
        self.isa.and(self.isa.shr(words, n), self.isa.splat(mask))
    }

    /// Bits of each byte from bit `n` on that `mask` has.
    #[inline(always)]
    pub(super) fn byte_bits(self, words: W<I>, n: u32, mask: u8) -> W<I> {
        self.bits(words, n, u32::from_le_bytes([mask; 4]))
    }

    /// Vector `i` of a group with 16 bytes of nibbles per row: the low nibbles are the values 0 to 15.
    #[inline(always)]
    pub(super) fn nibbles(self, at: usize, i: usize) -> W<I> {
        self.byte_bits(self.words(at + i % 4 * 64), i as u32 / 4 * 4, 15)
    }

    /// The same with the fifth bits of the values, which are bit `i` of each byte at `fifths`.
    #[inline(always)]
    pub(super) fn with_fifths(self, at: usize, fifths: usize, i: usize) -> W<I> {
        self.with_upper(self.nibbles(at, i), self.byte_bits(self.words(fifths), i as u32, 1), 4)
    }

    /// Bits that stand above others.
    #[inline(always)]
    pub(super) fn with_upper(self, low: W<I>, upper: W<I>, n: u32) -> W<I> {
        self.isa.or(low, self.isa.shl(upper, n))
    }

    /// Numbers of 16 bits at byte `at`, as words.
    #[inline(always)]
    pub(super) fn wide(self, at: usize) -> W<I> {
        let mut words = [0; 64];
        for (word, half) in words.chunks_exact_mut(4).zip(self.bytes[at..].chunks_exact(2)) {
            word[..2].copy_from_slice(half);
        }
        self.isa.load(&words)
    }

    /// Byte `j` of vectors of four each, which has a sign.
    #[inline(always)]
    pub(super) fn signed_byte(self, of: &[W<I>; 4], j: usize) -> W<I> {
        self.isa.signed_byte(of[j / 4], j % 4)
    }

    /// Scales of six bits that begin at -32.
    #[inline(always)]
    pub(super) fn minus_32(self, scale: W<I>) -> W<I> {
        self.isa.sub(scale, self.isa.splat(32))
    }

    /// Scales and minima of eight groups as bytes, from the six-bit values in the 12 bytes per row at `at`, as in Q4_K
    /// and Q5_K.
    #[inline(always)]
    pub(super) fn six_bits(self, at: usize) -> [[W<I>; 4]; 2] {
        let (first, second, third) = (self.words(at), self.words(at + 64), self.words(at + 128));
        // The last four have their upper bits above the first four.
        let scale = self.isa.or(self.byte_bits(third, 0, 15), self.byte_bits(first, 2, 48));
        let minimum = self.isa.or(self.byte_bits(third, 4, 15), self.byte_bits(second, 2, 48));
        let none = self.isa.splat(0);
        [[self.byte_bits(first, 0, 63), scale, none, none], [self.byte_bits(second, 0, 63), minimum, none, none]]
    }

    /// Byte `j` of vectors of four each.
    #[inline(always)]
    pub(super) fn byte(self, of: &[W<I>; 4], j: usize) -> W<I> {
        self.isa.byte(of[j / 4], j % 4)
    }

    /// The negative.
    #[inline(always)]
    pub(super) fn minus(self, a: F<I>) -> F<I> {
        self.isa.product(a, self.isa.splat_float(-1.0))
    }

    /// Values of a group that shares no bytes.
    #[inline(always)]
    pub(super) fn alone(self, q: W<I>) -> [W<I>; 4] {
        [q, self.isa.splat(0), self.isa.splat(0), self.isa.splat(0)]
    }

    /// Of blocks of one group.
    #[inline(always)]
    pub(super) fn plain(self, d: F<I>, m: F<I>) -> Head<I> {
        Head { d, m, ..Head::none(self.isa) }
    }

    /// Of blocks with scales and minima of their groups.
    #[inline(always)]
    pub(super) fn scaled(self, d: F<I>, m: F<I>, scale: [W<I>; 4], minimum: [W<I>; 4]) -> Head<I> {
        Head { d, m, scale, minimum, ..Head::none(self.isa) }
    }

    #[inline(always)]
    pub(super) fn none(self) -> F<I> {
        self.isa.splat_float(0.0)
    }
}
