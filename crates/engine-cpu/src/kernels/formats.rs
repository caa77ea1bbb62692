//! Every format of quantised weights as 32 bytes without sign, an integer offset and scales: what the one product of
//! bytes takes.

use half::f16;
use inkstone_tensor::DType;

/// 32 values of a row: value = d (q - offset) scale - m minimum, where scale and minimum are of 16 values each.
pub(super) struct Group {
    pub q: [u8; 32],
    pub d: f32,
    pub m: f32,
    pub scale: [i32; 2],
    pub minimum: [i32; 2],
}

impl Group {
    /// With one scale in `d`.
    #[inline(always)]
    fn plain(q: [u8; 32], d: f32, m: f32) -> Group {
        Group { q, d, m, scale: [1; 2], minimum: [1; 2] }
    }
}

/// A format: how the groups of its blocks are unpacked.
pub(super) trait Format {
    /// Groups of 32 in a block.
    const GROUPS: usize;
    /// Bytes of a block.
    const BYTES: usize;
    /// What is subtracted from `q`.
    const OFFSET: i32;
    /// Whether scales are of 16 values.
    const HALVES: bool = false;
    /// Whether there are minima.
    const MINIMUM: bool = false;

    /// Group `g` of a block.
    fn group(block: &[u8], g: usize) -> Group;
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

#[inline(always)]
fn half_at(b: &[u8], at: usize) -> f32 {
    let bits = u16::from_le_bytes([b[at], b[at + 1]]);
    // By bits: no call, so that it is compiled for the set of its caller. Exact.
    let (sign, rest) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7fff));
    if rest >= 0x7c00 {
        return f16::from_bits(bits).to_f32_const();
    }
    let magnitude = f32::from_bits(rest << 13) * f32::from_bits(0x7780_0000); // 2^112
    f32::from_bits(sign | magnitude.to_bits())
}

/// 16 bytes of nibbles: the low ones are the values 0 to 15.
#[inline(always)]
fn nibbles(bytes: &[u8]) -> [u8; 32] {
    let mut q = [0; 32];
    for i in 0..16 {
        (q[i], q[i + 16]) = (bytes[i] & 15, bytes[i] >> 4);
    }
    q
}

#[inline(always)]
fn with_fifths(mut q: [u8; 32], b: &[u8], at: usize) -> [u8; 32] {
    let fifth = u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
    for (i, q) in q.iter_mut().enumerate() {
        *q |= ((fifth >> i & 1) as u8) << 4;
    }
    q
}

/// Scale and minimum of group `j` in the 12 bytes from byte 4 on, as in Q4_K and Q5_K.
#[inline(always)]
fn six_bits(b: &[u8], j: usize) -> (f32, f32) {
    let byte = |i: usize| b[4 + i];
    let (scale, minimum) = if j < 4 {
        (byte(j) & 63, byte(j + 4) & 63)
    } else {
        (byte(j + 4) & 15 | byte(j - 4) >> 6 << 4, byte(j + 4) >> 4 | byte(j) >> 6 << 4)
    };
    (f32::from(scale), f32::from(minimum))
}

macro_rules! format {
    ($name:ident, $groups:literal, $bytes:literal, $offset:literal $(, $flag:ident)*; |$b:ident, $g:ident| $group:expr) => {
        pub(super) struct $name;
        impl Format for $name {
            const GROUPS: usize = $groups;
            const BYTES: usize = $bytes;
            const OFFSET: i32 = $offset;
            $(const $flag: bool = true;)*

            #[inline(always)]
            fn group($b: &[u8], $g: usize) -> Group {
                let $b = &$b[..$bytes];
                $group
            }
        }
    };
}

format!(Q4_0, 1, 18, 8; |b, _g| Group::plain(nibbles(&b[2..]), half_at(b, 0), 0.0));
format!(Q4_1, 1, 20, 0, MINIMUM; |b, _g| Group::plain(nibbles(&b[4..]), half_at(b, 0), -half_at(b, 2)));
format!(Q5_0, 1, 22, 16; |b, _g| Group::plain(with_fifths(nibbles(&b[6..]), b, 2), half_at(b, 0), 0.0));
format!(Q5_1, 1, 24, 0, MINIMUM; |b, _g| {
    Group::plain(with_fifths(nibbles(&b[8..]), b, 4), half_at(b, 0), -half_at(b, 2))
});
format!(Q8_0, 1, 34, 128; |b, _g| Group::plain(std::array::from_fn(|i| b[2 + i] ^ 0x80), half_at(b, 0), 0.0));
format!(Q2K, 8, 84, 0, HALVES, MINIMUM; |b, g| {
    let quants = &b[16 + g / 4 * 32..][..32];
    let both = [b[2 * g], b[2 * g + 1]];
    Group {
        q: std::array::from_fn(|i| quants[i] >> (g % 4 * 2) & 3),
        d: half_at(b, 80),
        m: half_at(b, 82),
        scale: both.map(|s| i32::from(s & 15)),
        minimum: both.map(|s| i32::from(s >> 4)),
    }
});
format!(Q3K, 8, 110, 4, HALVES; |b, g| {
    let (thirds, quants, scales) = (&b[..32], &b[32 + g / 4 * 32..][..32], &b[96..108]);
    let scale = |j: usize| {
        let low = scales[j % 8] >> (j / 8 * 4) & 15;
        let upper = scales[8 + j % 4] >> (j / 4 * 2) & 3;
        i32::from(low | upper << 4) - 32
    };
    Group {
        q: std::array::from_fn(|i| quants[i] >> (g % 4 * 2) & 3 | (thirds[i] >> g & 1) << 2),
        d: half_at(b, 108),
        m: 0.0,
        scale: [scale(2 * g), scale(2 * g + 1)],
        minimum: [0; 2],
    }
});
format!(Q4K, 8, 144, 0, MINIMUM; |b, g| {
    let (scale, minimum) = six_bits(b, g);
    let quants = &b[16 + g / 2 * 32..][..32];
    let q = std::array::from_fn(|i| quants[i] >> (g % 2 * 4) & 15);
    Group::plain(q, half_at(b, 0) * scale, half_at(b, 2) * minimum)
});
format!(Q5K, 8, 176, 0, MINIMUM; |b, g| {
    let (scale, minimum) = six_bits(b, g);
    let (fifths, quants) = (&b[16..48], &b[48 + g / 2 * 32..][..32]);
    let q = std::array::from_fn(|i| quants[i] >> (g % 2 * 4) & 15 | (fifths[i] >> g & 1) << 4);
    Group::plain(q, half_at(b, 0) * scale, half_at(b, 2) * minimum)
});
format!(Q6K, 8, 210, 32, HALVES; |b, g| {
    let (half, quarter) = (g / 4, g % 4);
    let nibbles = &b[half * 64 + quarter % 2 * 32..][..32];
    let uppers = &b[128 + half * 32..][..32];
    Group {
        q: std::array::from_fn(|i| nibbles[i] >> (quarter / 2 * 4) & 15 | (uppers[i] >> (quarter * 2) & 3) << 4),
        d: half_at(b, 208),
        m: 0.0,
        scale: [i32::from(b[192 + 2 * g] as i8), i32::from(b[193 + 2 * g] as i8)],
        minimum: [0; 2],
    }
});
format!(Iq4Nl, 1, 18, 128; |b, _g| Group::plain(nibbles(&b[2..]).map(looked_up), half_at(b, 0), 0.0));
format!(Iq4Xs, 8, 136, 128; |b, g| {
    let low = b[4 + g / 2] >> (g % 2 * 4) & 15;
    let upper = (u16::from_le_bytes([b[2], b[3]]) >> (g * 2) & 3) as u8;
    let scale = f32::from((low | upper << 4) as i8 - 32);
    Group::plain(nibbles(&b[8 + g * 16..]).map(looked_up), half_at(b, 0) * scale, 0.0)
});
format!(Mxfp4, 1, 17, 12; |b, _g| {
    // Half of 2^(e - 127): the numbers of the table are doubled.
    let d = f32::from_bits(match b[0] {
        e @ (0 | 1) => 0x0020_0000 << e,
        e => u32::from(e - 1) << 23,
    });
    Group::plain(nibbles(&b[1..]).map(|q| TWICE[usize::from(q)]), d, 0.0)
});

/// The values of IQ4_NL and IQ4_XS, with 128 added.
static TABLE: [u8; 16] = [1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241];

#[inline(always)]
fn looked_up(q: u8) -> u8 {
    TABLE[usize::from(q & 15)]
}

/// Twice the E2M1 numbers, with 12 added.
static TWICE: [u8; 16] = [12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Portable;

    /// Every group of random blocks, as the table of dtypes decodes it.
    fn agrees<I, F: Format>(dtype: DType, seed: &mut u64) {
        let _isa: Option<I> = None;
        let info = dtype.info();
        assert_eq!((info.block, info.block_bytes), (32 * F::GROUPS, F::BYTES), "{dtype}");
        for _ in 0..200 {
            let mut random = || {
                *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (*seed >> 56) as u8
            };
            let block: Vec<u8> = (0..F::BYTES).map(|_| random()).collect();
            let mut wanted = vec![0f32; info.block];
            info.decode.unwrap()(&block, &mut wanted);
            for (g, wanted) in wanted.chunks(32).enumerate() {
                let Group { q, d, m, scale, minimum } = F::group(&block, g);
                for (i, wanted) in wanted.iter().enumerate() {
                    let f64s = |x: i32| f64::from(x);
                    let quant = f64s((i32::from(q[i]) - F::OFFSET) * scale[i / 16]);
                    let found = f64::from(d) * quant - f64::from(m) * f64s(minimum[i / 16]);
                    let bound = 1e-6 * (f64::from(d) * quant).abs().max((f64::from(m) * f64s(minimum[i / 16])).abs());
                    let both_nan = found.is_nan() || !wanted.is_finite();
                    assert!(
                        both_nan || (found - f64::from(*wanted)).abs() <= bound,
                        "{dtype} {g}/{i}: {found} {wanted}"
                    );
                }
            }
        }
    }

    #[test]
    fn groups_are_what_the_table_of_dtypes_decodes() {
        let mut seed = 7;
        for &dtype in ALL {
            with_format!(dtype, agrees::<Portable>(dtype, &mut seed));
        }
    }
}
