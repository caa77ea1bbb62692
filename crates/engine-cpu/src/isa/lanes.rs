//! How many lanes there are.

/// The number of lanes in all kernels, independent of the width of registers.
pub const LANES: usize = 16;

/// 16 values of f32.
pub type F16x = [f32; LANES];
