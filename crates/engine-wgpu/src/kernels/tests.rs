//! Dispatches of regions, on a device that computes nothing but checks shaders and limits.

use super::{SHARED, table, with_regions};
use crate::call::{Call, Entry, Operand, PLANES32, Place};
use crate::device::Device;
use crate::faults::Faults;
use crate::pipelines::Pipelines;
use crate::shader::Shader;
use crate::variant::Variant;
use crate::weights::{Matrix, Piece};
use inkstone_compute::{Caps, EngineOptions, Kernel, Query, Registry, Shape};
use inkstone_tensor::body::{Body, Node, Region, ValueId};
use inkstone_tensor::ops::{Attend, Expr, KvWrite, Linear, Map, Pairs, Quantize, RmsNorm, Rope, Term};
use inkstone_tensor::step::ROWS;
use inkstone_tensor::{DType, Dim, Op, Sizes, Slots, Type};
use naga::back::pipeline_constants::process_overrides;
use std::sync::Arc;
use wgpu::{
    BackendOptions, Backends, BufferDescriptor, BufferUsages, Instance, InstanceDescriptor, NoopBackendOptions,
};

/// A device with the limits of WebGPU.
fn device() -> Device {
    let mut description = InstanceDescriptor::new_without_display_handle();
    description.backends = Backends::NOOP;
    description.backend_options =
        BackendOptions { noop: NoopBackendOptions { enable: true, ..Default::default() }, ..Default::default() };
    let instance = Instance::new(description);
    let adapters = pollster::block_on(instance.enumerate_adapters(Backends::NOOP));
    Device::open(&adapters[0], Variant::Core, &EngineOptions::default().isa("core"), Faults::default()).unwrap()
}

/// A region under construction.
struct Sketch {
    name: &'static str,
    body: Body,
}

impl Sketch {
    fn new(name: &'static str) -> Sketch {
        Sketch { name, body: Body::default() }
    }

    fn input(&mut self, ty: Type) -> ValueId {
        let v = self.body.value(ty);
        self.body.inputs.push(v);
        v
    }

    fn values(&mut self, dtype: DType, cols: usize) -> ValueId {
        self.input(Type::new(dtype, Dim::Rows, cols))
    }

    fn weight(&mut self, dtype: DType, rows: usize, cols: usize) -> ValueId {
        self.input(Type::new(dtype, Dim::N(rows), cols))
    }

    fn node(&mut self, op: impl Into<Op>, ins: &[ValueId]) -> ValueId {
        let op = op.into();
        let out = self.body.value(op.infer(&self.body.types_of(ins)).unwrap()[0]);
        self.body.nodes.push(Node { op, ins: ins.iter().copied().collect(), outs: [out].into_iter().collect() });
        out
    }

    fn normed(&mut self, cols: usize) -> ValueId {
        let (x, w) = (self.values(DType::F32, cols), self.weight(DType::F32, 1, cols));
        self.node(RmsNorm { eps: 1e-5 }, &[x, w])
    }

    fn encoded(&mut self, x: ValueId) -> ValueId {
        self.node(Quantize { to: DType::Q8_A }, &[x])
    }

    fn products(&mut self, x: ValueId, weights: &[(DType, usize)]) -> Vec<ValueId> {
        let product = |(dtype, n): &(DType, usize)| {
            let w = self.weight(*dtype, *n, self.body.ty(x).cols);
            self.node(Linear, &[x, w])
        };
        weights.iter().map(product).collect()
    }

    fn region(mut self, outputs: &[ValueId]) -> Op {
        self.body.outputs = outputs.to_vec();
        Op::Region(Arc::new(Region { name: self.name.to_owned(), body: self.body }))
    }
}

/// Sizes of a layer of Llama: of the hidden state, of a head, heads of queries and of keys, of the gated unit.
const LAYER: (usize, usize, usize, usize, usize) = (4096, 128, 32, 8, 11_008);

/// A product of so many columns that is added to the hidden state.
fn residual(encodes: bool, cols: usize) -> Op {
    let mut s = Sketch::new("linear_map");
    let x = s.values(if encodes { DType::F32 } else { DType::Q8_A }, cols);
    let x = if encodes { s.encoded(x) } else { x };
    let y = s.products(x, &[(DType::Q8_0, LAYER.0)])[0];
    let before = s.values(DType::F32, LAYER.0);
    let y = s.node(Map(Expr::new(&[Term::In(0), Term::In(1), Term::Add])), &[y, before]);
    s.region(&[y])
}

/// The regions of a layer, in order. Queries and values have different formats, as in files of mixed ones.
fn layer() -> Vec<Op> {
    let (hidden, dim, heads, kv_heads, unit) = LAYER;
    let mut s = Sketch::new("norm_linear");
    let x = s.normed(hidden);
    let x = s.encoded(x);
    let outs =
        s.products(x, &[(DType::Q4_K, heads * dim), (DType::Q8_0, kv_heads * dim), (DType::Q6_K, kv_heads * dim)]);
    let first = s.region(&outs);

    let mut s = Sketch::new("rope_attend");
    let [q, k, v] = [heads, kv_heads, kv_heads].map(|n| s.values(DType::F32, n * dim));
    let rows = s.input(ROWS);
    let caches = [0, 1].map(|_| s.input(Type::cache(0, DType::F16, kv_heads, dim)));
    let frequencies: Arc<[f64]> = (0..dim / 2).map(|i| 1.0 / (1 + i) as f64).collect();
    let rope = Rope { head_dim: dim, frequencies, magnitude: 1.0, pairs: Pairs::Neighbours };
    let [q, k] = [q, k].map(|x| s.node(rope.clone(), &[x, rows]));
    let [keys, values] = [(caches[0], k), (caches[1], v)].map(|(c, x)| s.node(KvWrite, &[c, x, rows]));
    let attend = s.node(Attend { heads, kv_heads, scale: 0.1, window: None }, &[q, keys, values, rows]);
    let second = s.region(&[attend, keys, values]);

    let mut s = Sketch::new("norm_glu");
    let x = s.normed(hidden);
    let x = s.encoded(x);
    let both = s.products(x, &[(DType::Q4_K, unit), (DType::Q4_K, unit)]);
    let y = s.node(Map(Expr::new(&[Term::In(0), Term::Silu, Term::In(1), Term::Mul])), &both);
    let y = s.encoded(y);
    let fourth = s.region(&[y]);
    vec![first, second, residual(true, heads * dim), fourth, residual(false, unit)]
}

fn types(op: &Op) -> (Vec<Type>, Vec<Type>) {
    let Op::Region(region) = op else { panic!("{op}") };
    let of = |values: &[ValueId]| region.body.types_of(values).to_vec();
    (of(&region.body.inputs), of(&region.body.outputs))
}

/// The kernel that a compiler chooses for a region, or why there is none.
fn choose(op: &Op, rows: usize, caps: &Caps) -> Result<Kernel, String> {
    let (ins, outs) = types(op);
    let matrices = ins.iter().filter(|ty| matches!(ty.rows, Dim::N(2..)));
    let weights: Vec<_> = matrices.map(|ty| (ty.dtype, PLANES32)).collect();
    let query = Query { op, weights: &weights, numerics: None, members: &[], rows, ins: &ins, outs: &outs };
    let registry = Registry { engine: "wgpu", layouts: vec![PLANES32], kernels: table(), outside: 0 };
    registry.find(&query, caps).map(|choice| choice.kernel.clone()).map_err(|error| error.to_string())
}

/// Bytes of the memory of a workgroup that a shader takes. Devices without a driver don't refuse too many.
fn workgroup_bytes(shader: &Shader) -> u32 {
    let module = naga::front::wgsl::parse_str(&shader.assemble().unwrap()).unwrap();
    let capabilities = naga::valid::Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    let info =
        naga::valid::Validator::new(naga::valid::ValidationFlags::all(), capabilities).validate(&module).unwrap();
    let constants = shader.constants().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let main = Some((naga::ShaderStage::Compute, "main"));
    let (module, info) = process_overrides(&module, &info, main, &constants).unwrap();
    let used = module.global_variables.iter().filter(|(handle, variable)| {
        variable.space == naga::AddressSpace::WorkGroup && !info.get_entry_point(0)[*handle].is_empty()
    });
    used.map(|(_, variable)| module.types[variable.ty].inner.size(module.to_ctx())).sum()
}

/// The dispatches of a region for so many rows, whose shaders the device takes, with matrices in pieces of so many rows.
fn dispatches(device: &Device, op: &Op, rows: usize, piece_rows: usize) -> usize {
    let caps = Caps::made_up("wgpu");
    let kernel = choose(op, rows, &caps).unwrap();
    let bucket = Sizes { rows, logit_rows: 1, slots: Slots::new([4096, 0, 0, 0]) };
    let (ins, outs) = types(op);
    let buffer = device.wgpu.create_buffer(&BufferDescriptor {
        label: None,
        size: 4,
        usage: BufferUsages::STORAGE,
        mapped_at_creation: false,
    });
    let operand = |ty: &Type| {
        let place = match ty.rows {
            _ if ty.state => Place::State(0),
            Dim::N(1) => Place::Vector(0),
            Dim::N(rows) => {
                let piece = |first| Piece { first, rows: piece_rows.min(rows - first), buffer: buffer.clone() };
                let pieces = (0..rows).step_by(piece_rows).map(piece).collect();
                Place::Matrix(Arc::new(Matrix { dtype: ty.dtype, rows, cols: ty.cols, pieces }))
            }
            _ => Place::Activations(0),
        };
        Operand { ty: *ty, place }
    };
    assert!((kernel.work)(&Shape::new(op, &ins, &outs, &bucket, &caps)).scratch < 1 << 24);
    let (ins, outs) = (ins.iter().map(operand).collect(), outs.iter().map(operand).collect());
    let entry = kernel.entry.downcast_ref::<Entry>().unwrap();
    let made = entry(&Call { op, ins, outs, bucket, scratch: 0 }).unwrap();
    let pipelines = Pipelines::default();
    for dispatch in &made {
        assert!(dispatch.parameters.len() <= 64, "{}", kernel.name);
        let bytes = workgroup_bytes(&dispatch.shader);
        assert!(bytes <= 16_384, "{}: {bytes} bytes", kernel.name);
        pipelines.get(device, &dispatch.shader).unwrap_or_else(|e| panic!("{}: {e}", kernel.name));
    }
    made.len()
}

#[test]
fn a_row_takes_seven_dispatches_a_layer() {
    let device = device();
    let counts = |rows, piece| layer().iter().map(|op| dispatches(&device, op, rows, piece)).collect::<Vec<_>>();
    assert_eq!(counts(1, usize::MAX), [1, 3, 1, 1, 1]);
    // More rows are normalised and encoded once.
    assert_eq!(counts(8, usize::MAX), [2, 3, 2, 2, 1]);
    // Three pieces at once; two of the same columns; one.
    assert_eq!(counts(1, 1024), [2, 3, 4, 11, 4]);
}

#[test]
fn rows_that_exceed_the_memory_of_a_workgroup_take_another_dispatch() {
    let device = device();
    let counts = [11_008, 14_336].map(|cols| dispatches(&device, &residual(true, cols), 1, usize::MAX));
    assert_eq!(counts, [1, 2]);
}

#[test]
fn many_rows_take_the_map_along_and_nothing_else() {
    let caps = Caps::made_up("wgpu");
    let names = layer().into_iter().map(|op| choose(&op, 64, &caps).map(|kernel| kernel.name));
    let names: Vec<Option<&str>> = names.map(Result::ok).collect();
    assert_eq!(names, [None, Some("rope_attend"), None, None, Some("linear_map.tiled.q8")]);
}

#[test]
fn kernels_of_regions_are_left_out_with_those_whose_texts_they_share() {
    let left_out = with_regions(&["attend.split", "linear.few.q8"]);
    assert_eq!(left_out, ["attend.split", "linear.few.q8", "rope_attend.split", "norm_rope_attend.split"]);
    let known: Vec<&str> = table().iter().map(|kernel| kernel.name).collect();
    assert!(SHARED.iter().all(|(name, regions)| known.contains(name) && regions.iter().all(|r| known.contains(r))));
}
