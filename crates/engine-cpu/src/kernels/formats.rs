//! Every format of quantised weights as bytes without sign, an integer offset and scales: what the one product of bytes
//! takes. They are read from panels (see `panel`), 16 rows at a time.

use crate::isa::{Floats, LANES, Words};
use crate::panel::ROWS;
use inkstone_tensor::DType;

/// 32 columns of 16 rows: value = d (q - offset) scale + m minimum, where scale and minimum are of 16 values each.
#[derive(Clone, Copy)]
pub(super) struct Group<I: Words> {
    /// Four columns a vector; lanes are rows.
    pub q: [I::W; 8],
    pub d: I::F,
    pub m: I::F,
    /// If scales are of 16 values, as [`Words::factors`]; so are minima.
    pub scale: [I::W; 2],
    pub minimum: [I::W; 2],
}

/// A format: how the groups of a column of its blocks are unpacked.
pub(super) trait Format {
    /// Groups of 32 in a block.
    const GROUPS: usize;
    /// Bytes of a block.
    const BYTES: usize;
    /// What is subtracted from `q`.
    const OFFSET: u32;
    /// Bits of the largest `q`, as [`Format::dots`] takes them.
    #[cfg(test)]
    const BITS: u32;
    /// Whether scales are of 16 values.
    const HALVES: bool = false;
    /// Whether there are minima.
    const MINIMUM: bool = false;

    /// Whether four groups share their bytes, so that these are read in order only if the four are unpacked together.
    const FOUR: bool = false;

    /// Group `g` of a column of 16 blocks in a panel.
    fn group<I: Words>(isa: I, blocks: &[u8], g: usize) -> Group<I>;

    /// Vector `i` of each of the four groups from `4 half` on.
    #[inline(always)]
    fn four<I: Words>(isa: I, blocks: &[u8], half: usize, i: usize) -> [I::W; 4] {
        let mut q = [isa.splat(0); 4];
        for (g, q) in q.iter_mut().enumerate() {
            *q = Self::group(isa, blocks, 4 * half + g).q[i];
        }
        q
    }

    /// See [`Words::dots`].
    fn dots<I: Words, const K: usize, const N: usize>(
        isa: I,
        sums: [I::W; N],
        q: &[I::W; K],
        x: &[[u32; N]; K],
    ) -> [I::W; N];

    /// See [`Words::scaled_dots`].
    fn scaled_dots<I: Words, const N: usize>(
        isa: I,
        q: &[I::W; 8],
        scale: [I::W; 2],
        x: &[[u32; N]; 8],
        begin: [&[u32; N]; 2],
        halves: &[u32; N],
    ) -> [I::W; N];
}

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

/// Calls a function that is generic over the format with that of a dtype.
macro_rules! with_format {
    ($dtype:expr, $f:ident :: < $isa:ty > ($($arg:expr),*)) => {{
        use crate::kernels::formats::*;
        match $dtype {
            DType::Q4_0 => $f::<$isa, Q4_0>($($arg),*),
            DType::Q4_1 => $f::<$isa, Q4_1>($($arg),*),
            DType::Q5_0 => $f::<$isa, Q5_0>($($arg),*),
            DType::Q5_1 => $f::<$isa, Q5_1>($($arg),*),
            DType::Q8_0 => $f::<$isa, Q8_0>($($arg),*),
            DType::Q2_K => $f::<$isa, Q2K>($($arg),*),
            DType::Q3_K => $f::<$isa, Q3K>($($arg),*),
            DType::Q4_K => $f::<$isa, Q4K>($($arg),*),
            DType::Q5_K => $f::<$isa, Q5K>($($arg),*),
            DType::Q6_K => $f::<$isa, Q6K>($($arg),*),
            DType::IQ4_NL => $f::<$isa, Iq4Nl>($($arg),*),
            DType::IQ4_XS => $f::<$isa, Iq4Xs>($($arg),*),
            DType::MXFP4 => $f::<$isa, Mxfp4>($($arg),*),
            other => unreachable!("{other} is not in the table of this kernel, which prepare has checked"),
        }
    }};
}
pub(super) use with_format;

/// A column of blocks under way.
#[derive(Clone, Copy)]
struct Blocks<'a, I> {
    isa: I,
    bytes: &'a [u8],
}

/// A vector of words of a column.
type W<I> = <I as Words>::W;
/// A vector of floats of a column.
type F<I> = <I as Floats>::F;

impl<I: Words> Blocks<'_, I> {
    /// The words at byte `at`.
    #[inline(always)]
    fn words(self, at: usize) -> W<I> {
        match self.bytes[at..].first_chunk() {
            Some(bytes) => self.isa.load(bytes),
            None => self.isa.splat(0),
        }
    }

    /// Numbers of half precision at byte `at`.
    #[inline(always)]
    fn halves(self, at: usize) -> F<I> {
        match self.bytes[at..].first_chunk() {
            Some(bytes) => self.isa.halves(bytes),
            None => self.isa.splat_float(0.0),
        }
    }

    /// Bits of each word from bit `n` on that `mask` has.
    #[inline(always)]
    fn bits(self, words: W<I>, n: u32, mask: u32) -> W<I> {
        self.isa.and(self.isa.shr(words, n), self.isa.splat(mask))
    }

    /// Bits of each byte from bit `n` on that `mask` has.
    #[inline(always)]
    fn byte_bits(self, words: W<I>, n: u32, mask: u8) -> W<I> {
        self.bits(words, n, u32::from_le_bytes([mask; 4]))
    }

    /// 16 bytes of nibbles a row: the low ones are the values 0 to 15.
    #[inline(always)]
    fn nibbles(self, at: usize) -> [W<I>; 8] {
        let mut q = [self.isa.splat(0); 8];
        for i in 0..4 {
            let both = self.words(at + i * 64);
            (q[i], q[i + 4]) = (self.byte_bits(both, 0, 15), self.byte_bits(both, 4, 15));
        }
        q
    }

    /// Fifth bits, word i of which has those of four values in its bits i.
    #[inline(always)]
    fn with_fifths(self, mut q: [W<I>; 8], at: usize) -> [W<I>; 8] {
        let fifths = self.words(at);
        for (i, q) in q.iter_mut().enumerate() {
            *q = self.with_upper(*q, self.byte_bits(fifths, i as u32, 1), 4);
        }
        q
    }

    /// Bits that stand above others.
    #[inline(always)]
    fn with_upper(self, low: W<I>, upper: W<I>, n: u32) -> W<I> {
        self.isa.or(low, self.isa.shl(upper, n))
    }

    /// Numbers of 16 bits at byte `at`, as words.
    #[inline(always)]
    fn wide(self, at: usize) -> W<I> {
        let mut words = [0; 64];
        for (word, half) in words.chunks_exact_mut(4).zip(self.bytes[at..].chunks_exact(2)) {
            word[..2].copy_from_slice(half);
        }
        self.isa.load(&words)
    }

    /// The byte of each word from bit `n` on, which has a sign.
    #[inline(always)]
    fn signed_byte(self, words: W<I>, n: u32) -> W<I> {
        self.isa.sar(self.isa.shl(words, 24 - n), 24)
    }

    /// Scales of six bits that begin at -32.
    #[inline(always)]
    fn minus_32(self, scale: W<I>) -> W<I> {
        self.isa.sub(scale, self.isa.splat(32))
    }

    /// Scale and minimum of group `j` in the 12 bytes a row from `at` on, as in Q4_K and Q5_K.
    #[inline(always)]
    fn six_bits(self, at: usize, j: usize) -> [F<I>; 2] {
        let (first, second, third) = (self.words(at), self.words(at + 64), self.words(at + 128));
        let n = 8 * (j as u32 % 4);
        let (scale, minimum) = if j < 4 {
            (self.bits(first, n, 63), self.bits(second, n, 63))
        } else {
            let (scale, minimum) = (self.bits(third, n, 15), self.bits(third, n + 4, 15));
            let upper = (self.bits(first, n + 6, 3), self.bits(second, n + 6, 3));
            (self.with_upper(scale, upper.0, 4), self.with_upper(minimum, upper.1, 4))
        };
        [self.isa.to_floats(scale), self.isa.to_floats(minimum)]
    }

    #[inline(always)]
    fn product(self, a: F<I>, b: F<I>) -> F<I> {
        self.isa.product(a, b)
    }

    /// The negative.
    #[inline(always)]
    fn minus(self, a: F<I>) -> F<I> {
        self.product(a, self.isa.splat_float(-1.0))
    }

    /// Bytes of a table by nibbles.
    #[inline(always)]
    fn looked_up(self, table: &[u8; 16], mut q: [W<I>; 8]) -> [W<I>; 8] {
        for q in &mut q {
            *q = self.isa.lookup(table, *q);
        }
        q
    }

    /// A group with one scale in `d`, and a minimum.
    #[inline(always)]
    fn plain(self, q: [W<I>; 8], d: F<I>, m: F<I>) -> Group<I> {
        let one = [self.isa.splat(1); 2];
        Group { q, d, m, scale: one, minimum: one }
    }

    #[inline(always)]
    fn none(self) -> F<I> {
        self.isa.splat_float(0.0)
    }
}

/// Eight vectors, one an index. Not by a closure, which would not be inlined for sure (see [`crate::isa::Body`]).
macro_rules! eight {
    ($b:ident, |$i:ident| $words:expr) => {{
        let mut q = [$b.isa.splat(0); 8];
        for ($i, q) in q.iter_mut().enumerate() {
            *q = $words;
        }
        q
    }};
}

macro_rules! format {
    ($name:ident, $groups:literal, $bytes:literal, $bits:literal, $offset:literal $(, $flag:ident $value:literal)*;
     |$b:ident, $g:ident| $group:expr $(; four |$four:ident, $half:ident, $i:ident| $vectors:expr)?) => {
        pub(super) struct $name;
        impl Format for $name {
            const GROUPS: usize = $groups;
            const BYTES: usize = $bytes;
            #[cfg(test)]
            const BITS: u32 = $bits;
            const OFFSET: u32 = $offset;
            $(const $flag: bool = $value;)*

            #[inline(always)]
            fn group<I: Words>(isa: I, blocks: &[u8], $g: usize) -> Group<I> {
                let $b = Blocks { isa, bytes: &blocks[..ROWS * $bytes] };
                $group
            }

            $(#[inline(always)]
            fn four<I: Words>(isa: I, blocks: &[u8], $half: usize, $i: usize) -> [I::W; 4] {
                let $four = Blocks { isa, bytes: &blocks[..ROWS * $bytes] };
                $vectors
            })?

            #[inline(always)]
            fn dots<I: Words, const K: usize, const N: usize>(
                isa: I,
                sums: [I::W; N],
                q: &[I::W; K],
                x: &[[u32; N]; K],
            ) -> [I::W; N] {
                isa.dots::<$bits, K, N>(sums, q, x)
            }

            #[inline(always)]
            fn scaled_dots<I: Words, const N: usize>(
                isa: I,
                q: &[I::W; 8],
                scale: [I::W; 2],
                x: &[[u32; N]; 8],
                begin: [&[u32; N]; 2],
                halves: &[u32; N],
            ) -> [I::W; N] {
                isa.scaled_dots::<$bits, $offset, N>(q, scale, x, begin, halves)
            }
        }
    };
}

format!(Q4_0, 1, 18, 4, 8; |b, _g| b.plain(b.nibbles(32), b.halves(0), b.none()));
format!(Q4_1, 1, 20, 4, 0, MINIMUM true; |b, _g| b.plain(b.nibbles(64), b.halves(0), b.halves(32)));
format!(Q5_0, 1, 22, 5, 16; |b, _g| b.plain(b.with_fifths(b.nibbles(96), 32), b.halves(0), b.none()));
format!(Q5_1, 1, 24, 5, 0, MINIMUM true; |b, _g| b.plain(b.with_fifths(b.nibbles(128), 64), b.halves(0), b.halves(32)));
format!(Q8_0, 1, 34, 8, 128; |b, _g| {
    b.plain(eight!(b, |i| b.words(32 + 64 * i)), b.halves(0), b.none())
});
format!(Q2K, 8, 84, 2, 0, HALVES true, MINIMUM true; |b, g| {
    let both = b.words(64 + g / 2 * 64);
    let n = g as u32 % 2 * 16;
    Group {
        q: eight!(b, |i| b.byte_bits(b.words(320 + (g / 4 * 8 + i) * 64), g as u32 % 4 * 2, 3)),
        d: b.halves(0),
        m: b.minus(b.halves(32)),
        scale: b.isa.factors([b.bits(both, n, 15), b.bits(both, n + 8, 15)]),
        minimum: b.isa.factors([b.bits(both, n + 4, 15), b.bits(both, n + 12, 15)]),
    }
});
format!(Q3K, 8, 110, 3, 4, HALVES true; |b, g| {
    let q = eight!(b, |i| {
        let low = b.byte_bits(b.words(736 + (g / 4 * 8 + i) * 64), g as u32 % 4 * 2, 3);
        b.with_upper(low, b.byte_bits(b.words(224 + i * 64), g as u32, 1), 2)
    });
    let mut scale = [b.isa.splat(0); 2];
    for (i, scale) in scale.iter_mut().enumerate() {
        let j = 2 * g + i;
        let low = b.bits(b.words(32 + j % 8 / 4 * 64), (j % 4 * 8 + j / 8 * 4) as u32, 15);
        let upper = b.bits(b.words(160), (j % 4 * 8 + j / 4 * 2) as u32, 3);
        *scale = b.minus_32(b.with_upper(low, upper, 4));
    }
    Group { q, d: b.halves(0), m: b.none(), scale: b.isa.factors(scale), minimum: [b.isa.splat(0); 2] }
});
format!(Q4K, 8, 144, 4, 0, MINIMUM true; |b, g| {
    let [scale, minimum] = b.six_bits(64, g);
    let q = eight!(b, |i| b.byte_bits(b.words(256 + (g / 2 * 8 + i) * 64), g as u32 % 2 * 4, 15));
    b.plain(q, b.product(b.halves(0), scale), b.minus(b.product(b.halves(32), minimum)))
});
format!(Q5K, 8, 176, 5, 0, MINIMUM true; |b, g| {
    let [scale, minimum] = b.six_bits(64, g);
    let q = eight!(b, |i| {
        let nibble = b.byte_bits(b.words(768 + (g / 2 * 8 + i) * 64), g as u32 % 2 * 4, 15);
        b.with_upper(nibble, b.byte_bits(b.words(256 + i * 64), g as u32, 1), 4)
    });
    b.plain(q, b.product(b.halves(0), scale), b.minus(b.product(b.halves(32), minimum)))
});
format!(Q6K, 8, 210, 6, 32, HALVES true, FOUR true; |b, g| {
    let quarter = g % 4;
    let q = eight!(b, |i| {
        let at = 288 + (g / 4 * 8 + i) * 192;
        let nibble = b.byte_bits(b.words(at + quarter % 2 * 64), quarter as u32 / 2 * 4, 15);
        b.with_upper(nibble, b.byte_bits(b.words(at + 128), quarter as u32 * 2, 3), 4)
    });
    let (scales, n) = (b.words(32 + g / 2 * 64), g as u32 % 2 * 16);
    let scale = b.isa.factors([b.signed_byte(scales, n), b.signed_byte(scales, n + 8)]);
    Group { q, d: b.halves(0), m: b.none(), scale, minimum: [b.isa.splat(0); 2] }
}; four |b, half, i| {
    let at = 288 + (half * 8 + i) * 192;
    let (even, odd, upper) = (b.words(at), b.words(at + 64), b.words(at + 128));
    [
        b.with_upper(b.byte_bits(even, 0, 15), b.byte_bits(upper, 0, 3), 4),
        b.with_upper(b.byte_bits(odd, 0, 15), b.byte_bits(upper, 2, 3), 4),
        b.with_upper(b.byte_bits(even, 4, 15), b.byte_bits(upper, 4, 3), 4),
        b.with_upper(b.byte_bits(odd, 4, 15), b.byte_bits(upper, 6, 3), 4),
    ]
});
format!(Iq4Nl, 1, 18, 8, 128; |b, _g| {
    b.plain(b.looked_up(&TABLE, b.nibbles(32)), b.halves(0), b.none())
});
format!(Iq4Xs, 8, 136, 8, 128; |b, g| {
    let low = b.bits(b.words(64), 4 * g as u32, 15);
    let upper = b.bits(b.wide(32), 2 * g as u32, 3);
    let scale = b.isa.to_floats(b.minus_32(b.with_upper(low, upper, 4)));
    b.plain(b.looked_up(&TABLE, b.nibbles(128 + g * 256)), b.product(b.halves(0), scale), b.none())
});
format!(Mxfp4, 1, 17, 5, 12; |b, _g| {
    // Half of 2^(e - 127): the numbers of the table are doubled.
    let mut d = [0.0; LANES];
    for (d, e) in d.iter_mut().zip(b.bytes) {
        *d = f32::from_bits(match *e {
            e @ (0 | 1) => 0x0020_0000 << e,
            e => u32::from(e - 1) << 23,
        });
    }
    b.plain(b.looked_up(&TWICE, b.nibbles(16)), b.isa.floats(&d), b.none())
});

/// The values of IQ4_NL and IQ4_XS, with 128 added.
static TABLE: [u8; 16] = [1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241];

/// Twice the E2M1 numbers, with 12 added.
static TWICE: [u8; 16] = [12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Portable;
    use crate::panel::pack;

    /// Every group of random blocks, as the table of dtypes decodes it.
    fn agrees<I, F: Format>(dtype: DType, seed: &mut u64) {
        let _isa: Option<I> = None;
        let info = dtype.info();
        assert_eq!((info.block, info.block_bytes), (32 * F::GROUPS, F::BYTES), "{dtype}");
        for _ in 0..20 {
            let mut random = || {
                *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (*seed >> 56) as u8
            };
            let rows: Vec<u8> = (0..ROWS * F::BYTES).map(|_| random()).collect();
            let mut panel = vec![0; ROWS * F::BYTES];
            pack(dtype, &rows, F::BYTES, &mut panel);
            let mut wanted = vec![0f32; ROWS * info.block];
            info.decode.unwrap()(&rows, &mut wanted);
            for g in 0..F::GROUPS / 4 * 4 {
                for i in 0..8 {
                    let four = F::four(Portable, &panel, g / 4, i);
                    assert_eq!(four[g % 4], F::group(Portable, &panel, g).q[i], "{dtype}, vector {i} of group {g}");
                }
            }
            for (at, wanted) in wanted.iter().enumerate() {
                let (lane, g, i) = (at / info.block, at % info.block / 32, at % 32);
                let Group { q, d, m, scale, minimum } = F::group(Portable, &panel, g);
                assert!(u32::from(q[i / 4][lane].to_le_bytes()[i % 4]) >> F::BITS == 0, "{dtype}");
                let q = i32::from(q[i / 4][lane].to_le_bytes()[i % 4]) - F::OFFSET as i32;
                let f64s = |x: u32| f64::from(x as i32);
                let value = f64::from(d[lane]) * f64::from(q) * f64s(scale[i / 16][lane]);
                let least = f64::from(m[lane]) * f64s(minimum[i / 16][lane]);
                let found = if F::MINIMUM { value + least } else { value };
                let bound = 1e-6 * value.abs().max(least.abs());
                let both_nan = found.is_nan() || !wanted.is_finite();
                assert!(both_nan || (found - f64::from(*wanted)).abs() <= bound, "{dtype} {g}/{i}: {found} {wanted}");
            }
        }
    }

    #[test]
    fn groups_are_what_the_table_of_dtypes_decodes() {
        let mut seed = 7;
        for &dtype in ALL {
            assert!(crate::panel::packs(dtype), "{dtype}");
            with_format!(dtype, agrees::<Portable>(dtype, &mut seed));
        }
    }
}
