//! The formats, one after the other.

use super::blocks::Blocks;
use super::{Format, Head};
use crate::isa::{LANES, Quads, Words};
use crate::panel::ROWS;
use std::ops::Range;

/// Vectors, one an index. Not by a closure, which would not be inlined for sure (see [`crate::isa::Body`]).
macro_rules! each {
    ($b:ident, |$i:ident| $words:expr) => {{
        let mut words = [$b.isa.splat(0); _];
        for ($i, words) in words.iter_mut().enumerate() {
            *words = $words;
        }
        words
    }};
}

/// Defines a format: [`Format::Like`], then groups, bytes, bits and offset of a block, and exceptional constants; then
/// the functions of [`Format`], except that blocks of one group have no scales.
macro_rules! format {
    ($name:ident like $like:ident, $groups:literal, $bytes:literal, $bits:literal, $offset:literal $(, $constant:ident: $ty:ty = $value:expr)*;
     head |$b:ident| $head:expr;
     words |$w:ident, $h:ident, $first:ident, $i:ident| $words:expr;
     scale |$s:ident, $sh:ident, $sj:ident| $scale:expr;
     minimum |$m:ident, $mh:ident, $mj:ident| $minimum:expr) => {
        #[derive(Clone, Copy)]
        pub(in super::super) struct $name<const WHOLE: bool = false>;
        impl<const WHOLE: bool> Format for $name<WHOLE> {
            type Like = $like<WHOLE>;
            const WHOLE: bool = WHOLE;
            const GROUPS: usize = $groups;
            const BYTES: usize = $bytes;
            const BITS: u32 = $bits;
            const OFFSET: u32 = $offset;
            $(const $constant: $ty = $value;)*

            #[inline(always)]
            fn head<I: Words>(isa: I, blocks: &[u8]) -> Head<I> {
                let $b = Blocks { isa, bytes: &blocks[..ROWS * $bytes] };
                $head
            }

            #[inline(always)]
            fn words<I: Words>(isa: I, blocks: &[u8], $h: &Head<I>, $first: usize, $i: usize) -> [I::W; 4] {
                let $w = Blocks { isa, bytes: &blocks[..ROWS * $bytes] };
                $words
            }

            #[inline(always)]
            fn scale<I: Words>(isa: I, $sh: &Head<I>, $sj: usize) -> I::W {
                let $s = Blocks { isa, bytes: &[] };
                $scale
            }

            #[inline(always)]
            fn minimum<I: Words>(isa: I, $mh: &Head<I>, $mj: usize) -> I::W {
                let $m = Blocks { isa, bytes: &[] };
                $minimum
            }

            #[inline(always)]
            fn dots<I: Words, const N: usize, const P: usize>(
                isa: I,
                q: [impl Quads<I>; P],
                x: &[[u32; N]; 8],
                begin: &[u32; N],
            ) -> [[I::W; N]; P] {
                isa.offset_dots::<$bits, $offset, N, P>(q, x, begin)
            }

            #[inline(always)]
            fn scaled_dots<I: Words, const N: usize, const P: usize>(
                isa: I,
                q: [impl Quads<I>; P],
                scale: [[I::W; 2]; P],
                x: &[[u32; N]; 8],
                rows: Range<usize>,
                begin: [&[u32; N]; 2],
            ) -> [[I::F; N]; P] {
                isa.scaled_dots::<$bits, $offset, N, P>(q, scale, x, rows, begin)
            }

            #[inline(always)]
            fn scaled_words<I: Words, const N: usize, const P: usize>(
                isa: I,
                q: [impl Quads<I>; P],
                scale: [[I::W; 2]; P],
                x: &[[u32; N]; 8],
                rows: Range<usize>,
                begin: [&[u32; N]; 2],
            ) -> [[I::W; N]; P] {
                isa.scaled_words::<$bits, $offset, N, P>(!Self::HALVES, q, scale, x, rows, begin)
            }
        }
    };
}

/// A format whose blocks are of one group.
macro_rules! small {
    ($name:ident like $like:ident, $bytes:literal, $bits:literal, $offset:literal $(, $constant:ident: $ty:ty = $value:expr)*;
     head |$b:ident| $head:expr; words |$w:ident, $i:ident| $words:expr) => {
        format!($name like $like, 1, $bytes, $bits, $offset $(, $constant: $ty = $value)*;
            head |$b| $head;
            words |$w, _head, _first, $i| $w.alone($words);
            scale |b, _head, _j| b.isa.splat(1);
            minimum |b, _head, _j| b.isa.splat(1));
    };
}

small!(Q4_0 like Q4_0, 18, 4, 8, COMMON: bool = true; head |b| b.plain(b.halves(0), b.none()); words |b, i| b.nibbles(32, i));
small!(Q4_1 like Q4_1, 20, 4, 0, MINIMUM: bool = true;
    head |b| b.plain(b.halves(0), b.halves(32)); words |b, i| b.nibbles(64, i));
small!(Q5_0 like Q4_0, 22, 5, 16; head |b| b.plain(b.halves(0), b.none()); words |b, i| b.with_fifths(96, 32, i));
small!(Q5_1 like Q4_1, 24, 5, 0, MINIMUM: bool = true;
    head |b| b.plain(b.halves(0), b.halves(32)); words |b, i| b.with_fifths(128, 64, i));
small!(Q8_0 like Q8_0, 34, 8, 128, COMMON: bool = true; head |b| b.plain(b.halves(0), b.none()); words |b, i| b.words(32 + 64 * i));
small!(Iq4Nl like Q8_0, 18, 8, 128, TABLE: Option<&'static [u8; 16]> = Some(&CODES);
    head |b| b.plain(b.halves(0), b.none()); words |b, i| b.nibbles(32, i));
small!(Mxfp4 like Q4_0, 17, 5, 12, TABLE: Option<&'static [u8; 16]> = Some(&TWICE);
    head |b| {
        // Half of 2^(e - 127): the numbers of the table are doubled.
        let mut d = [0.0; LANES];
        for (d, e) in d.iter_mut().zip(b.bytes) {
            *d = f32::from_bits(match *e {
                e @ (0 | 1) => 0x0020_0000 << e,
                e => u32::from(e - 1) << 23,
            });
        }
        b.plain(b.isa.floats(&d), b.none())
    };
    words |b, i| b.nibbles(16, i));

format!(Q2K like Q2K, 8, 84, 2, 0, HALVES: bool = true, MINIMUM: bool = true, SHARED: usize = 4, SHIFTS: [u32; 4] = [0, 2, 0, 2];
    head |b| {
        let scale = each!(b, |i| b.byte_bits(b.words(64 + 64 * i), 0, 15));
        let minimum = each!(b, |i| b.byte_bits(b.words(64 + 64 * i), 4, 15));
        b.scaled(b.halves(0), b.minus(b.halves(32)), scale, minimum)
    };
    words |b, _head, first, i| {
        let all = b.words(320 + (first / 4 * 8 + i) * 64);
        [b.byte_bits(all, 0, 3), b.byte_bits(all, 0, 12), b.byte_bits(all, 4, 3), b.byte_bits(all, 4, 12)]
    };
    scale |b, head, j| b.signed_byte(&head.scale, j);
    minimum |b, head, j| b.signed_byte(&head.minimum, j));
format!(Q3K like Q6K, 8, 110, 3, 4, HALVES: bool = true, SHARED: usize = 4;
    head |b| {
        let scale = each!(b, |i| {
            let low = b.byte_bits(b.words(32 + i % 2 * 64), i as u32 / 2 * 4, 15);
            // Six bits begin at -32.
            let upper = b.isa.lookup(&UPPER, b.byte_bits(b.words(160), 2 * i as u32, 3));
            b.isa.or(low, upper)
        });
        b.scaled(b.halves(0), b.none(), scale, scale)
    };
    words |b, _head, first, i| {
        // As panels have them: see `THREES` there.
        let at = 224 + i * 192;
        let (a, second, third) = (b.words(at), b.words(at + 64), b.words(at + 128));
        let [low, high] = if first == 0 {
            let spread = b.isa.or(b.byte_bits(a, 3, 0x11), b.byte_bits(second, 2, 0x22));
            [a, b.isa.or(spread, b.byte_bits(third, 1, 0x44))]
        } else {
            [second, third]
        };
        [b.byte_bits(low, 0, 7), b.byte_bits(low, 4, 7), b.byte_bits(high, 0, 7), b.byte_bits(high, 4, 7)]
    };
    scale |b, head, j| b.signed_byte(&head.scale, j);
    minimum |b, _head, _j| b.isa.splat(0));
format!(Q4K like Q4K, 8, 144, 4, 0, COMMON: bool = true, MINIMUM: bool = true, SHARED: usize = 2, SHIFTS: [u32; 4] = [0, 4, 0, 0];
    head |b| {
        let (d, m) = (b.halves(0), b.minus(b.halves(32)));
        let [scale, minimum] = b.six_bits(64);
        b.scaled(d, m, scale, minimum)
    };
    words |b, _head, first, i| {
        let both = b.words(256 + (first / 2 * 8 + i) * 64);
        let none = b.isa.splat(0);
        [b.byte_bits(both, 0, 15), b.byte_bits(both, 0, 240), none, none]
    };
    scale |b, head, j| b.byte(&head.scale, j);
    minimum |b, head, j| b.byte(&head.minimum, j));
format!(Q5K like Q4K, 8, 176, 5, 0, COMMON: bool = true, MINIMUM: bool = true, UPPER: bool = true, SHARED: usize = 2;
    head |b| {
        let (d, m) = (b.halves(0), b.minus(b.halves(32)));
        let [scale, minimum] = b.six_bits(64);
        Head { upper: each!(b, |i| b.words(256 + i * 64)), ..b.scaled(d, m, scale, minimum) }
    };
    words |b, head, first, i| {
        let both = b.words(768 + (first / 2 * 8 + i) * 64);
        let (low, high) = (b.byte_bits(head.upper[i], first as u32, 1), b.byte_bits(head.upper[i], first as u32 + 1, 1));
        let none = b.isa.splat(0);
        [b.with_upper(b.byte_bits(both, 0, 15), low, 4), b.with_upper(b.byte_bits(both, 4, 15), high, 4), none, none]
    };
    scale |b, head, j| b.byte(&head.scale, j);
    minimum |b, head, j| b.byte(&head.minimum, j));
format!(Q6K like Q6K, 8, 210, 6, 32, COMMON: bool = true, HALVES: bool = true, SHARED: usize = 4;
    head |b| {
        let scale = each!(b, |i| b.words(32 + 64 * i));
        b.scaled(b.halves(0), b.none(), scale, scale)
    };
    words |b, _head, first, i| {
        let at = 288 + (first / 4 * 8 + i) * 192;
        let (even, odd, upper) = (b.words(at), b.words(at + 64), b.words(at + 128));
        [
            b.with_upper(b.byte_bits(even, 0, 15), b.byte_bits(upper, 0, 3), 4),
            b.with_upper(b.byte_bits(odd, 0, 15), b.byte_bits(upper, 2, 3), 4),
            b.with_upper(b.byte_bits(even, 4, 15), b.byte_bits(upper, 4, 3), 4),
            b.with_upper(b.byte_bits(odd, 4, 15), b.byte_bits(upper, 6, 3), 4),
        ]
    };
    scale |b, head, j| b.signed_byte(&head.scale, j);
    minimum |b, _head, _j| b.isa.splat(0));
format!(Iq4Xs like Q8_0, 8, 136, 8, 128, TABLE: Option<&'static [u8; 16]> = Some(&CODES);
    head |b| {
        let words = [b.words(64), b.wide(32), b.isa.splat(0), b.isa.splat(0)];
        b.scaled(b.halves(0), b.none(), words, words)
    };
    words |b, _head, first, i| b.alone(b.nibbles(128 + first * 256, i));
    scale |b, head, j| {
        let [low, upper, ..] = head.scale;
        b.minus_32(b.with_upper(b.bits(low, 4 * j as u32, 15), b.bits(upper, 2 * j as u32, 3), 4))
    };
    minimum |b, _head, _j| b.isa.splat(0));

/// The values of IQ4_NL and IQ4_XS, with 128 added.
static CODES: [u8; 16] = [1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241];

/// The upper two bits of Q3_K's scales, with 2 subtracted, above four others.
static UPPER: [u8; 16] = [0xe0, 0xf0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Twice the E2M1 numbers, with 12 added.
static TWICE: [u8; 16] = [12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0];
