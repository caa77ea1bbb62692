//! The engine for GPUs: kernels in WGSL on Vulkan, Metal and DirectX 12.

pub mod kernels;
