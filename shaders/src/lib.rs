//! The kernels of GPUs as texts. A crate can embed only files of its own package, so the texts have one; engines choose the
//! language with a feature.

#[cfg(feature = "wgsl")]
pub mod wgsl;
