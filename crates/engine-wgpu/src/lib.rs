//! The engine for GPUs: kernels in WGSL on Vulkan, Metal and DirectX 12.

mod adapters;
mod bindings;
pub mod call;
mod device;
mod engine;
pub mod faults;
mod kernels;
mod memory;
mod pipelines;
mod planes;
mod program;
mod queue;
mod self_check;
mod shader;
mod tables;
mod times;
mod variant;
mod vulkan_heap;
mod weights;
mod words;

pub use engine::Wgpu;
pub use kernels::{F32, Q8};
pub use shader::Shader;
pub use variant::VARIANTS;
