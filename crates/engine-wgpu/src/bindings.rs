//! The bindings of kernels: one layout for all, so that a kernel can be bound to every step.

use std::num::NonZeroU64;
use wgpu::{
    BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingType, BufferBindingType, PipelineLayout,
    PipelineLayoutDescriptor, ShaderStages,
};

/// Bytes of the parameters of a dispatch: offsets of bindings are multiples of this.
pub(crate) const PARAMETERS: u64 = 256;

/// The bindings of group 0 and their types; the first is the uniform parameters.
const STORAGE: [(u32, bool); 8] = [
    (STEP, true),
    (ACTIVATIONS, false),
    (VECTORS, true),
    (WEIGHTS, true),
    (WEIGHTS + 1, true),
    (WEIGHTS + 2, true),
    (STATES, false),
    (STATES + 1, false),
];
pub(crate) const STEP: u32 = 1;
pub(crate) const ACTIVATIONS: u32 = 2;
pub(crate) const VECTORS: u32 = 3;
/// Three matrices or tables.
pub(crate) const WEIGHTS: u32 = 4;
/// Two states.
pub(crate) const STATES: u32 = 7;

/// The layout of the bindings and of pipelines.
pub(crate) struct Layouts {
    pub(crate) group: BindGroupLayout,
    pub(crate) pipeline: PipelineLayout,
}

impl Layouts {
    pub(crate) fn new(device: &wgpu::Device) -> Layouts {
        let entry = |binding, ty, least| BindGroupLayoutEntry {
            binding,
            visibility: ShaderStages::COMPUTE,
            ty: BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: least },
            count: None,
        };
        let mut entries = vec![entry(0, BufferBindingType::Uniform, NonZeroU64::new(PARAMETERS))];
        entries.extend(
            STORAGE.iter().map(|(binding, read_only)| {
                entry(*binding, BufferBindingType::Storage { read_only: *read_only }, None)
            }),
        );
        let group =
            device.create_bind_group_layout(&BindGroupLayoutDescriptor { label: Some("step"), entries: &entries });
        let pipeline = device.create_pipeline_layout(&PipelineLayoutDescriptor {
            label: Some("step"),
            bind_group_layouts: &[Some(&group)],
            immediate_size: 0,
        });
        Layouts { group, pipeline }
    }
}
