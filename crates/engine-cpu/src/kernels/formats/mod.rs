//! Every format of quantised weights as unsigned bytes, an integer offset and scales, the operands of the product of
//! bytes. They are read from panels (see `panel`), 16 rows at a time.

mod blocks;
mod table;
#[cfg(test)]
mod tests;

pub(super) use table::*;

use crate::isa::{Products, Quads, Words};
use inkstone_tensor::DType;
use std::marker::PhantomData;
use std::ops::Range;

/// Of 32 columns of 16 rows, which are d (q - offset) scale + m minimum, all but q. Scale and minimum are of 16 values
/// each, lanes are rows.
#[derive(Clone, Copy)]
pub(super) struct Scales<I: Words> {
    pub d: I::F,
    pub m: I::F,
    /// If scales apply to 16 values, scales and minima have the form of [`Words::factors`]. With [`Format::WHOLE`]
    /// scales always have this form, and the minima belong to the block, as in [`Head`].
    pub scale: [I::W; 2],
    pub minimum: [I::W; 2],
}

/// The shared factors of the groups of a column of blocks: value = d (q - offset) scale + m minimum.
#[derive(Clone, Copy)]
pub(super) struct Head<I: Words> {
    pub d: I::F,
    pub m: I::F,
    /// Scales and minima as [`Format::scale`] and [`Format::minimum`] find them; of 16 values, four a word, as bytes
    /// with a sign.
    pub scale: [I::W; 4],
    pub minimum: [I::W; 4],
    /// Upper bits of the values, of all groups in one place.
    pub upper: [I::W; 8],
}

impl<I: Words> Head<I> {
    /// The head of blocks of zeros.
    #[inline(always)]
    pub(super) fn none(isa: I) -> Head<I> {
        let (zero, none) = (isa.splat_float(0.0), [isa.splat(0); 4]);
        Head { d: zero, m: zero, scale: none, minimum: none, upper: [isa.splat(0); 8] }
    }

    /// The factors of a whole block, see [`Format::WHOLE`].
    #[inline(always)]
    pub(super) fn whole(&self) -> Scales<I> {
        let [scale, minimum] = [self.scale, self.minimum];
        Scales { d: self.d, m: self.m, scale: [scale[0], scale[1]], minimum: [minimum[0], minimum[1]] }
    }

    /// The part of another format that this format uses, vector by vector, because the compiler would otherwise call a
    /// copy.
    #[inline(always)]
    pub(super) fn set<F: Format>(&mut self, head: Head<I>) {
        let words = if F::HALVES { 4 } else { 2 };
        self.d = head.d;
        for i in 0..words {
            self.scale[i] = head.scale[i];
        }
        if F::MINIMUM {
            self.m = head.m;
            for i in 0..words {
                self.minimum[i] = head.minimum[i];
            }
        }
        if F::UPPER {
            self.upper = head.upper;
        }
    }
}

/// The q of a group of a column of blocks, which is number `first + at`: of those from `first` on that share bytes the
/// one `at`, which should be a constant (see [`each_group`]).
#[derive(Clone, Copy)]
pub(super) struct Packed<'a, I: Words, F> {
    pub blocks: &'a [u8],
    pub head: &'a Head<I>,
    pub first: usize,
    pub at: usize,
    pub format: PhantomData<F>,
}

impl<I: Words, F: Format> Quads<I> for Packed<'_, I, F> {
    const SIGNED: bool = F::TABLE.is_some() && F::OFFSET == 128;

    #[inline(always)]
    fn quad(self, isa: I, k: usize) -> I::W {
        let words = isa.shr(F::words(isa, self.blocks, self.head, self.first, k)[self.at], F::SHIFTS[self.at]);
        match F::TABLE {
            Some(table) => isa.lookup(table, words),
            None => words,
        }
    }

    #[inline(always)]
    fn signed(self, isa: I, k: usize) -> I::W {
        match &F::SIGNED_TABLE {
            Some(table) => isa.lookup(table, F::words(isa, self.blocks, self.head, self.first, k)[self.at]),
            None => self.quad(isa, k),
        }
    }
}

/// A format: how the groups of a column of its blocks are unpacked.
pub(super) trait Format: Copy {
    /// The format whose code this one shares where groups are already unpacked, if the set has the same code for any
    /// number of bits: its scales and minima are of the same kind, and all other differences are in the data.
    type Like: Format;
    /// Whether it is common: two and four rows then have their own code, other formats use the code of many rows.
    const COMMON: bool = false;
    /// Groups of 32 in a block.
    const GROUPS: usize;
    /// Bytes of a block.
    const BYTES: usize;
    /// The offset that is subtracted from `q`.
    const OFFSET: u32;
    /// Bits of the largest `q`.
    const BITS: u32;
    /// Whether scales are of 16 values.
    const HALVES: bool = false;
    /// Whether [`Head::upper`] is used.
    const UPPER: bool = false;
    /// Whether there are minima.
    const MINIMUM: bool = false;
    /// Whether the scale of a block multiplies the sum of its groups, which saves one float product per group: if
    /// scales apply to 16 values, and there are no other summands.
    const LATE: bool = Self::HALVES && !Self::MINIMUM && !Self::WHOLE;
    /// The number of groups in the same bytes (1, 2 or 4). The bytes are read in order only if these groups are
    /// unpacked together.
    const SHARED: usize = 1;
    /// The values of the codes from [`Format::words`], if the codes are not the values. No table with an offset of 128
    /// contains 0.
    const TABLE: Option<&'static [u8; 16]> = None;
    /// The same with 128 subtracted from each.
    const SIGNED_TABLE: Option<[u8; 16]> = match Self::TABLE {
        Some(table) => Some(less_128(*table)),
        None => None,
    };
    /// Whether activations have one scale for a whole block: all that is summed of a block is integers.
    const WHOLE: bool;
    /// The products that are summed before a scale is applied: a group, or half a group if scales apply to 16 values.
    const PRODUCTS: Products =
        Products { bits: Self::BITS, offset: Self::OFFSET, count: if Self::HALVES { 4 } else { 8 } };
    /// Bits by which [`Format::words`] leaves the values of each of these groups too far up.
    const SHIFTS: [u32; 4] = [0; 4];

    /// Reads the data before the values of a column of 16 blocks in a panel.
    fn head<I: Words>(isa: I, blocks: &[u8]) -> Head<I>;

    /// Vector `i` of each of the groups from `first` on that share bytes: their values, or what [`Format::TABLE`] looks
    /// up.
    fn words<I: Words>(isa: I, blocks: &[u8], head: &Head<I>, first: usize, i: usize) -> [I::W; 4];

    /// The scale of group `j`, or, if they are of 16 values, of half `j % 2` of group `j / 2`: a number of eight bits.
    fn scale<I: Words>(isa: I, head: &Head<I>, j: usize) -> I::W;

    /// The minimum in the same way.
    fn minimum<I: Words>(isa: I, head: &Head<I>, j: usize) -> I::W;

    /// The scales of group `g` of a column.
    #[inline(always)]
    fn scales<I: Words>(isa: I, head: &Head<I>, g: usize) -> Scales<I> {
        let one = [isa.splat(1); 2];
        let group = Scales { d: head.d, m: head.m, scale: one, minimum: one };
        if Self::WHOLE {
            let [first, second] = if Self::HALVES { [2 * g, 2 * g + 1] } else { [g, g] };
            let scale = [Self::scale(isa, head, first), Self::scale(isa, head, second)];
            return Scales { scale: isa.factors(scale), ..head.whole() };
        }
        if Self::HALVES {
            let scale = isa.factors([Self::scale(isa, head, 2 * g), Self::scale(isa, head, 2 * g + 1)]);
            let minimum = match Self::MINIMUM {
                true => isa.factors([Self::minimum(isa, head, 2 * g), Self::minimum(isa, head, 2 * g + 1)]),
                false => one,
            };
            return Scales { scale, minimum, ..group };
        }
        if Self::GROUPS == 1 {
            return group;
        }
        let d = isa.product(head.d, isa.to_floats(Self::scale(isa, head, g)));
        let m = if Self::MINIMUM { isa.product(head.m, isa.to_floats(Self::minimum(isa, head, g))) } else { head.m };
        Scales { d, m, ..group }
    }

    /// See [`Words::offset_dots`].
    fn dots<I: Words, const N: usize, const P: usize>(
        isa: I,
        q: [impl Quads<I>; P],
        x: &[[u32; N]; 8],
        begin: &[u32; N],
    ) -> [[I::W; N]; P];

    /// See [`Words::scaled_dots`].
    fn scaled_dots<I: Words, const N: usize, const P: usize>(
        isa: I,
        q: [impl Quads<I>; P],
        scale: [[I::W; 2]; P],
        x: &[[u32; N]; 8],
        rows: Range<usize>,
        begin: [&[u32; N]; 2],
    ) -> [[I::F; N]; P];

    /// See [`Words::scaled_words`].
    fn scaled_words<I: Words, const N: usize, const P: usize>(
        isa: I,
        q: [impl Quads<I>; P],
        scale: [[I::W; 2]; P],
        x: &[[u32; N]; 8],
        rows: Range<usize>,
        begin: [&[u32; N]; 2],
    ) -> [[I::W; N]; P];
}

/// Bytes with 128 subtracted, as they are with a sign.
const fn less_128(mut bytes: [u8; 16]) -> [u8; 16] {
    let mut i = 0;
    while i < bytes.len() {
        bytes[i] ^= 128;
        i += 1;
    }
    bytes
}

/// Something for each group of a block; for those that share bytes it is written out.
macro_rules! each_group {
    ($format:ty, |$first:ident, $at:ident| $body:block) => {
        for $first in (0..<$format>::GROUPS).step_by(<$format>::SHARED) {
            each_group!(@ $format, $at, $body, 0 1 2 3);
        }
    };
    (@ $format:ty, $at:ident, $body:block, $($n:literal)*) => {$(
        if $n < <$format>::SHARED {
            let $at: usize = $n;
            $body
        }
    )*};
}
pub(super) use each_group;

/// The dtypes of [`with_format`].
pub(super) const ALL: &[DType] = &[
    DType::Q4_0,
    DType::Q4_1,
    DType::Q5_0,
    DType::Q5_1,
    DType::Q8_0,
    DType::Q2_K,
    DType::Q3_K,
    DType::Q4_K,
    DType::Q5_K,
    DType::Q6_K,
    DType::IQ4_NL,
    DType::IQ4_XS,
    DType::MXFP4,
];

/// The formats that support one scale of activations for a whole block.
pub(super) const WHOLE: &[DType] = &[DType::Q4_K, DType::Q5_K, DType::Q6_K];

/// Calls a generic function with the format of a dtype, and with the information whether activations have one scale for
/// a whole block.
macro_rules! with_format {
    ($dtype:expr, $whole:expr, $f:ident :: < $isa:ty > ($($arg:expr),*)) => {{
        use crate::kernels::formats::*;
        match ($dtype, $whole) {
            (DType::Q4_0, false) => $f::<$isa, Q4_0>($($arg),*),
            (DType::Q4_1, false) => $f::<$isa, Q4_1>($($arg),*),
            (DType::Q5_0, false) => $f::<$isa, Q5_0>($($arg),*),
            (DType::Q5_1, false) => $f::<$isa, Q5_1>($($arg),*),
            (DType::Q8_0, false) => $f::<$isa, Q8_0>($($arg),*),
            (DType::Q2_K, false) => $f::<$isa, Q2K>($($arg),*),
            (DType::Q3_K, false) => $f::<$isa, Q3K>($($arg),*),
            (DType::Q4_K, false) => $f::<$isa, Q4K>($($arg),*),
            (DType::Q5_K, false) => $f::<$isa, Q5K>($($arg),*),
            (DType::Q6_K, false) => $f::<$isa, Q6K>($($arg),*),
            (DType::IQ4_NL, false) => $f::<$isa, Iq4Nl>($($arg),*),
            (DType::IQ4_XS, false) => $f::<$isa, Iq4Xs>($($arg),*),
            (DType::MXFP4, false) => $f::<$isa, Mxfp4>($($arg),*),
            (DType::Q4_K, true) if const { <$isa as crate::isa::Words>::BLOCK_SUMS } => $f::<$isa, Q4K<true>>($($arg),*),
            (DType::Q5_K, true) if const { <$isa as crate::isa::Words>::BLOCK_SUMS } => $f::<$isa, Q5K<true>>($($arg),*),
            (DType::Q6_K, true) if const { <$isa as crate::isa::Words>::BLOCK_SUMS } => $f::<$isa, Q6K<true>>($($arg),*),
            (other, _) => unreachable!("{other} is not in the table of this kernel, which prepare has checked"),
        }
    }};
}
pub(super) use with_format;
