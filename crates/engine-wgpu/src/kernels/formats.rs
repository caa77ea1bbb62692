//! The formats of weights: the texts by which kernels unpack them.

use crate::planes::{Planes, planes};
use crate::weights::Matrix;
use inkstone_tensor::DType;

macro_rules! formats {
    ($($name:ident: $($dtype:ident $file:literal,)*;)*) => {
        $(pub(super) static $name: &[DType] = &[$(DType::$dtype),*];)*

        /// The file of each format.
        static FILES: &[(DType, &str)] = &[$($((DType::$dtype, concat!("formats/", $file)),)*)*];
    };
}

formats! {
    // Blocks of codes of few bits.
    BLOCKS:
        Q4_0 "q4_0", Q4_1 "q4_1", Q5_0 "q5_0", Q5_1 "q5_1", Q8_0 "q8_0", Q2_K "q2_k", Q3_K "q3_k", Q4_K "q4_k", Q5_K "q5_k",
        Q6_K "q6_k", IQ4_NL "iq4_nl", IQ4_XS "iq4_xs", MXFP4 "mxfp4",;
    // Single values.
    FLOATS: F32 "f32", F16 "f16", BF16 "bf16",;
}

/// The text that unpacks a format.
pub(super) fn unpack(dtype: DType) -> Result<&'static str, String> {
    let file = FILES.iter().find(|(known, _)| *known == dtype);
    let file = file.ok_or_else(|| format!("no kernel unpacks {dtype}"))?;
    Ok(inkstone_shaders::wgsl::text(file.1).unwrap_or_default())
}

/// Where the words of a row are.
pub(super) fn layout(matrix: &Matrix) -> Result<Planes, String> {
    planes(matrix.dtype, matrix.cols).ok_or_else(|| format!("{matrix:?} has no planes"))
}
