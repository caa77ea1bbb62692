//! How many lanes there are.

/// Lanes that all kernels count in, whatever the registers hold.
pub const LANES: usize = 16;

/// 16 values of f32.
pub type F16x = [f32; LANES];
