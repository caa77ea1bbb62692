//! AVX2 and AVX-512.

mod avx2;
mod avx512;
mod float_mode;

pub use avx2::Avx2;
pub use avx512::{Avx512, Avx512Bf16};
pub use float_mode::FloatMode;
