//! The table of data types: one row each, with the values and bytes of a block and how it is decoded.

use crate::block;
use std::fmt;

/// Decodes whole blocks: `bytes.len() / block_bytes` blocks to as many times `block` values. Where one side is shorter,
/// its last whole block is the end.
pub type Decode = fn(bytes: &[u8], values: &mut [f32]);

/// Encodes whole blocks, the inverse direction of [`Decode`].
pub type Encode = fn(values: &[f32], bytes: &mut [u8]);

/// The properties of a [`DType`].
#[derive(Clone, Copy, Debug)]
pub struct DTypeInfo {
    /// The type that this row describes.
    pub dtype: DType,
    /// Its name as llama.cpp prints it.
    pub name: &'static str,
    /// Its id in a GGUF file, if files can hold it.
    pub gguf: Option<u32>,
    /// Values in a block.
    pub block: usize,
    /// Bytes in a block.
    pub block_bytes: usize,
    /// Blocks to `f32` values; `None` where Inkstone can't compute with the type.
    pub decode: Option<Decode>,
    /// `f32` values to blocks; `None` where Inkstone can't make the type.
    pub encode: Option<Encode>,
}

macro_rules! dtypes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $gguf:expr, $block:literal, $bytes:literal, $decode:expr, $encode:expr;)+) => {
        /// The type of the values of a tensor: plain numbers, or blocks of quantised ones.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum DType {
            $($(#[$doc])* $variant,)+
        }

        /// Every data type, in the order of the enum.
        pub static DTYPES: &[DTypeInfo] = &[$(DTypeInfo {
            dtype: DType::$variant,
            name: $name,
            gguf: $gguf,
            block: $block,
            block_bytes: $bytes,
            decode: $decode,
            encode: $encode,
        },)+];
    };
}

#[rustfmt::skip]
dtypes! {
    // variant    name       id in GGUF, values and bytes per block, decode, encode
    /// IEEE single precision.
    F32           "F32"      Some(0), 1, 4, Some(block::f32::decode), Some(block::f32::encode);
    /// IEEE half precision.
    F16           "F16"      Some(1), 1, 2, Some(block::f16::decode), Some(block::f16::encode);
    /// 32 nibbles and a scale.
    Q4_0          "Q4_0"     Some(2), 32, 18, Some(block::q4_0::decode), None;
    /// 32 nibbles, a scale and a minimum.
    Q4_1          "Q4_1"     Some(3), 32, 20, Some(block::q4_1::decode), None;
    /// 32 values of 5 bits and a scale.
    Q5_0          "Q5_0"     Some(6), 32, 22, Some(block::q5_0::decode), None;
    /// 32 values of 5 bits, a scale and a minimum.
    Q5_1          "Q5_1"     Some(7), 32, 24, Some(block::q5_1::decode), None;
    /// 32 bytes and a scale.
    Q8_0          "Q8_0"     Some(8), 32, 34, Some(block::q8_0::decode), Some(block::q8_0::encode);
    /// 32 bytes, a scale and their sum (activations of other engines; known, not computed with).
    Q8_1          "Q8_1"     Some(9), 32, 36, None, None;
    /// 256 values of 2 bits, scales and minima of 4 bits per 16.
    Q2_K          "Q2_K"     Some(10), 256, 84, Some(block::q2_k::decode), None;
    /// 256 values of 3 bits, scales of 6 bits per 16.
    Q3_K          "Q3_K"     Some(11), 256, 110, Some(block::q3_k::decode), None;
    /// 256 values of 4 bits, scales and minima of 6 bits per 32.
    Q4_K          "Q4_K"     Some(12), 256, 144, Some(block::q4_k::decode), None;
    /// 256 values of 5 bits, scales and minima of 6 bits per 32.
    Q5_K          "Q5_K"     Some(13), 256, 176, Some(block::q5_k::decode), None;
    /// 256 values of 6 bits, scales of 8 bits per 16.
    Q6_K          "Q6_K"     Some(14), 256, 210, Some(block::q6_k::decode), None;
    /// 256 bytes, a scale and sums (activations of other engines; known, not computed with).
    Q8_K          "Q8_K"     Some(15), 256, 292, None, None;
    /// About 2.06 bits per value (known, but not supported by kernels).
    IQ2_XXS       "IQ2_XXS"  Some(16), 256, 66, None, None;
    /// About 2.31 bits per value (known, but not supported by kernels).
    IQ2_XS        "IQ2_XS"   Some(17), 256, 74, None, None;
    /// About 3.06 bits per value (known, but not supported by kernels).
    IQ3_XXS       "IQ3_XXS"  Some(18), 256, 98, None, None;
    /// About 1.56 bits per value (known, but not supported by kernels).
    IQ1_S         "IQ1_S"    Some(19), 256, 50, None, None;
    /// 32 nibbles that index a table of 16 values, and a scale.
    IQ4_NL        "IQ4_NL"   Some(20), 32, 18, Some(block::iq4_nl::decode), None;
    /// About 3.44 bits per value (known, but not supported by kernels).
    IQ3_S         "IQ3_S"    Some(21), 256, 110, None, None;
    /// About 2.56 bits per value (known, but not supported by kernels).
    IQ2_S         "IQ2_S"    Some(22), 256, 82, None, None;
    /// 256 nibbles that index a table of 16 values, scales of 6 bits per 32.
    IQ4_XS        "IQ4_XS"   Some(23), 256, 136, Some(block::iq4_xs::decode), None;
    /// Signed bytes (known, not computed with).
    I8            "I8"       Some(24), 1, 1, None, None;
    /// Signed 16-bit integers (known, not computed with).
    I16           "I16"      Some(25), 1, 2, None, None;
    /// Signed 32-bit integers.
    I32           "I32"      Some(26), 1, 4, None, None;
    /// Signed 64-bit integers (known, not computed with).
    I64           "I64"      Some(27), 1, 8, None, None;
    /// IEEE double precision (known, not computed with).
    F64           "F64"      Some(28), 1, 8, None, None;
    /// About 1.75 bits per value (known, but not supported by kernels).
    IQ1_M         "IQ1_M"    Some(29), 256, 56, None, None;
    /// The upper half of an IEEE single.
    BF16          "BF16"     Some(30), 1, 2, Some(block::bf16::decode), Some(block::bf16::encode);
    /// Ternary, 1.69 bits per value (known, but not supported by kernels).
    TQ1_0         "TQ1_0"    Some(34), 256, 54, None, None;
    /// Ternary, 2.06 bits per value (known, but not supported by kernels).
    TQ2_0         "TQ2_0"    Some(35), 256, 66, None, None;
    /// 32 values of 4-bit floating point that share an exponent.
    MXFP4         "MXFP4"    Some(39), 32, 17, Some(block::mxfp4::decode), None;
    /// 32 signed bytes, a single-precision scale and their sum: activations, never in a file.
    Q8_A          "Q8_A"     None, 32, 40, Some(block::q8_a::decode), Some(block::q8_a::encode);
    /// Eight groups of `Q8_A` that have one scale: activations, never in a file.
    Q8_B          "Q8_B"     None, 256, 320, Some(block::q8_a::decode), Some(block::q8_b::encode);
    /// Unsigned 32-bit integers: ids, positions, records.
    U32           "U32"      None, 1, 4, None, None;
    /// Bytes.
    U8            "U8"       None, 1, 1, None, None;
}

impl DType {
    /// The row of the table.
    pub fn info(self) -> &'static DTypeInfo {
        &DTYPES[self as usize]
    }

    /// The type with this id in a GGUF file.
    pub fn from_gguf(id: u32) -> Option<DType> {
        DTYPES.iter().find(|i| i.gguf == Some(id)).map(|i| i.dtype)
    }

    /// Name as llama.cpp prints it.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Values in a block.
    pub fn block(self) -> usize {
        self.info().block
    }

    /// Bytes in a block.
    pub fn block_bytes(self) -> usize {
        self.info().block_bytes
    }

    /// Bytes of a row of `cols` values; `None` if the row is not a whole number of blocks or the product overflows.
    pub fn row_bytes(self, cols: usize) -> Option<usize> {
        let i = self.info();
        if cols.is_multiple_of(i.block) { (cols / i.block).checked_mul(i.block_bytes) } else { None }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        for (i, info) in DTYPES.iter().enumerate() {
            assert_eq!(info.dtype as usize, i);
        }
    }
}
