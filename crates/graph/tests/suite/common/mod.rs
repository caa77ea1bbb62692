//! A llama of two layers traced through the public API, its weights, and two ways to run it: the graphs with
//! `interpret`, and plans on a byte arena with nothing but the ops' definitions.

mod machine;
mod several;
mod shapes;
mod steps;
mod tensors;

pub use machine::{Eager, Machine};
pub use several::{SEVERAL, chosen_and_all, encoding_for, encodings, parts, sum_and_product, with_several};
pub use shapes::{SHAPES, Shape};
pub use steps::{SLOTS, STEPS, words};
pub use tensors::{Tensors, uniform};

use inkstone_compute::{Grid, Kernel, Layout, Numerics, Pattern, Port, Registry, Tiling, Work};
use inkstone_graph::{Graph, Kind, Result, Tracer, Value};
use inkstone_tensor::ops::{Attend, Pairs, Rope};
use inkstone_tensor::step::ROWS;
use inkstone_tensor::{DType, Dim, Op, Type, WeightSource};
use std::sync::Arc;

pub const VOCAB: usize = 50;
pub const WIDTH: usize = 32;
pub const LAYERS: usize = 2;
pub const HEADS: usize = 4;
pub const KV_HEADS: usize = 2;
pub const HEAD_DIM: usize = 8;
pub const FFN: usize = 64;
const EPS: f32 = 1e-5;

/// Its graphs. The head is tied if there is no `output.weight`; keys are kept in f16, values in f32.
pub fn llama(w: &dyn WeightSource) -> Result<Vec<(Kind, Graph)>> {
    let select = |name, scored| select(w, name, scored);
    let select = [(Kind::SELECT, select("select", false)?), (Kind::SELECT_SCORED, select("scored", true)?)];
    Ok([(Kind::BODY, body(w)?), (Kind::HEAD, head(w)?)].into_iter().chain(select).collect())
}

/// Tokens to hidden rows.
pub fn body(w: &dyn WeightSource) -> Result<Graph> {
    let t = Tracer::new("body", w);
    let carry = t.carry();
    let rows = t.begin_step(&carry)?;
    t.keep(t.history_write(t.history(), rows)?);
    let mut x = t.embed(rows, t.weight("token_embd.weight", VOCAB, WIDTH)?)?;
    for layer in 0..LAYERS {
        x = block(&t, layer, x, rows)?;
    }
    t.keep(t.advance(carry, rows)?);
    t.output(Port::ROWS, rows);
    t.output(Port::HIDDEN, x);
    t.finish()
}

fn block(t: &Tracer, layer: usize, x: Value, rows: Value) -> Result<Value> {
    let matrix = |part: &str, n, k| t.weight(&format!("blk.{layer}.{part}.weight"), n, k);
    let vector = |part: &str, n| t.vector(&format!("blk.{layer}.{part}"), n);
    let bias = |part: &str, n| {
        t.has(&format!("blk.{layer}.{part}.bias")).then(|| vector(&format!("{part}.bias"), n)).transpose()
    };
    let (q_cols, kv_cols) = (HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM);
    let frequencies = (0..HEAD_DIM / 2).map(|i| 1e4f64.powf(-2.0 * i as f64 / HEAD_DIM as f64));
    let rope =
        Rope { head_dim: HEAD_DIM, frequencies: frequencies.collect(), magnitude: 1.0, pairs: Pairs::Neighbours };

    let h = t.rms_norm(x, vector("attn_norm.weight", WIDTH)?, EPS)?;
    let q = t.rope(t.linear(h, matrix("attn_q", q_cols, WIDTH)?, bias("attn_q", q_cols)?)?, rows, &rope)?;
    let k = t.rope(t.linear(h, matrix("attn_k", kv_cols, WIDTH)?, None)?, rows, &rope)?;
    let v = t.linear(h, matrix("attn_v", kv_cols, WIDTH)?, None)?;
    let k = t.kv_write(t.cache(&format!("blk.{layer}.k"), 0, DType::F16, KV_HEADS, HEAD_DIM), k, rows)?;
    let v = t.kv_write(t.cache(&format!("blk.{layer}.v"), 0, DType::F32, KV_HEADS, HEAD_DIM), v, rows)?;
    let scale = 1.0 / (HEAD_DIM as f64).sqrt();
    let a = t.attend(q, &k, &v, rows, Attend { heads: HEADS, kv_heads: KV_HEADS, scale, window: None })?;
    t.keep(k);
    t.keep(v);
    let x = t.add(x, t.linear(a, matrix("attn_output", WIDTH, q_cols)?, None)?)?;

    let h = t.rms_norm(x, vector("ffn_norm.weight", WIDTH)?, EPS)?;
    let gate = t.silu(t.linear(h, matrix("ffn_gate", FFN, WIDTH)?, None)?)?;
    let up = t.linear(h, matrix("ffn_up", FFN, WIDTH)?, None)?;
    t.add(x, t.linear(t.mul(gate, up)?, matrix("ffn_down", WIDTH, FFN)?, None)?)
}

/// Chosen rows to logits.
fn head(w: &dyn WeightSource) -> Result<Graph> {
    let t = Tracer::new("head", w);
    let x = t.gather_rows(t.input(Port::HIDDEN, Type::f32(Dim::Rows, WIDTH)))?;
    let h = t.rms_norm(x, t.vector("output_norm.weight", WIDTH)?, EPS)?;
    let name = if t.has("output.weight") { "output.weight" } else { "token_embd.weight" };
    t.output(Port::LOGITS, t.linear(h, t.weight(name, VOCAB, WIDTH)?, None)?);
    t.finish()
}

/// Logits to records.
fn select(w: &dyn WeightSource, name: &str, scored: bool) -> Result<Graph> {
    let t = Tracer::new(name, w);
    let logits = t.input(Port::LOGITS, Type::f32(Dim::LogitRows, VOCAB));
    let history = t.history();
    let records = t.sample(logits, t.input(Port::ROWS, ROWS), &history)?;
    t.keep(history);
    if scored {
        t.output(Port::SCORES, t.score(logits, records)?);
    }
    t.keep(t.accept(t.carry(), records)?);
    t.output(Port::RECORDS, records);
    t.finish()
}

/// A registry like that of the reference engine: one kernel that is the definitions.
pub fn reference() -> Registry {
    Registry { engine: "reference", layouts: vec![Layout::FILE], kernels: vec![eval()], outside: 0 }
}

pub fn eval() -> Kernel {
    Kernel::by_definition("eval", Pattern::AnyOp, Arc::new(()))
}

const PANEL: Layout = Layout("panel16");

fn fast_layouts() -> &'static [Layout] {
    &[PANEL, Layout::FILE]
}

/// A registry with a kernel for every region, of an arithmetic for products: with a norm or a quantize in front for few
/// rows, else for any number.
macro_rules! with_regions {
    ($registry:expr, $product:expr) => {{
        const ALONE: Numerics = Numerics::DEFINITION;
        const AFTER: &[(&str, Numerics)] = &[("linear", $product), ("map", ALONE)];
        const ENCODED: &[(&str, Numerics)] = &[("quantize", ALONE), ("linear", $product), ("map", ALONE)];
        const BEFORE: &[(&str, Numerics)] =
            &[("rms_norm", ALONE), ("layer_norm", ALONE), ("quantize", ALONE), ("linear", $product), ("map", ALONE)];
        const NORMED: &[(&str, Numerics)] = &[("rms_norm", ALONE), ("layer_norm", ALONE), ("map", ALONE)];
        const WRITE: &[(&str, Numerics)] =
            &[("rms_norm", ALONE), ("rope", ALONE), ("kv_write", ALONE), ("attend", ALONE)];
        let columns = |_: &inkstone_compute::Shape| Work::of(Tiling { col_block: 16, ..Tiling::WHOLE });
        // Of what may be encoded: whole blocks.
        let blocks = |_: &inkstone_compute::Shape| Work::of(Tiling { col_block: 32, ..Tiling::WHOLE });
        let halves =
            |shape: &inkstone_compute::Shape| Work::of(Tiling { col_block: shape.outs[0].cols / 2, ..Tiling::WHOLE });
        let region = |op, name, members, rows, work: fn(&inkstone_compute::Shape) -> Work| {
            let layouts = fast_layouts();
            Kernel { implements: Pattern::Named(op), members, layouts, rows, work, ..eval() }.named(name)
        };
        let whole = eval().work;
        let mut registry: Registry = $registry;
        let regions = [
            region("norm_glu", "norm_glu.r8", BEFORE, 8, blocks),
            region("glu", "glu", ENCODED, usize::MAX, blocks),
            region("norm_linear_map", "norm_linear_map.r8", BEFORE, 8, columns),
            region("linear_map", "linear_map.r8", BEFORE, 8, columns),
            region("linear_map", "linear_map", AFTER, usize::MAX, columns),
            region("norm_linear", "norm_linear.r8", BEFORE, 8, columns),
            region("quantize_linear", "quantize_linear.r8", BEFORE, 8, columns),
            region("norm_map", "norm_map", NORMED, usize::MAX, whole),
            region("norm_quantize", "norm_quantize", BEFORE, usize::MAX, whole),
            region("norm_rope_attend", "norm_rope_attend.r8", WRITE, 8, halves),
            region("rope_attend", "rope_attend.r8", WRITE, 8, halves),
        ];
        registry.kernels.splice(0..0, regions);
        registry
    }};
}

/// A registry of a made-up fast engine: kernels of linear by rows, on quantized activations and packed weights.
pub fn fast() -> Registry {
    let linear = |name, rows| {
        Kernel {
            implements: Pattern::Named("linear"),
            numerics: Numerics("q8/32.i32"),
            weights: &[DType::Q8_0],
            layouts: &[PANEL],
            activations: Some(DType::Q8_0),
            rows,
            work: |_| Work::of(Tiling { row_block: 4, col_block: 16 }),
            ..eval()
        }
        .named(name)
    };
    let vnni = Kernel { requires: &["vnni"], ..linear("linear.q8_0.vnni", usize::MAX) };
    let embed = Kernel { implements: Pattern::Named("embed"), layouts: fast_layouts(), ..eval() }.named("embed");
    let kernels = vec![vnni, linear("linear.q8_0.r4", 4), linear("linear.q8_0.tile", usize::MAX), embed, eval()];
    Registry { engine: "fast", layouts: fast_layouts().to_vec(), kernels, outside: 0 }
}

/// The same with a kernel for every region.
pub fn fused() -> Registry {
    with_regions!(fast(), Numerics("q8/32.i32"))
}

/// The engine of [`fused`] whose products of more than 8 rows have a first phase, in which all workers arrange the rows,
/// and whose attention is split into parts that are merged later.
pub fn phased() -> Registry {
    let arranged = |shape: &inkstone_compute::Shape| {
        let tiled = Work::of(Tiling { col_block: 32, ..Tiling::WHOLE });
        let rows = shape.bucket.rows;
        if rows <= 8 || Grid::along(shape.ins, shape.outs) != Dim::Rows {
            return tiled;
        }
        let first = Grid { rows: Dim::Rows, row_block: 48, col_block: usize::MAX, col_blocks: 1 };
        Work { scratch: 2 * shape.ins[0].bytes(&shape.bucket), first: Some(first), ..tiled }
    };
    let split = |shape: &inkstone_compute::Shape| {
        let first = Grid { rows: Dim::Rows, row_block: 16, col_block: usize::MAX, col_blocks: 4 };
        Work { scratch: 4 * shape.outs[0].bytes(&shape.bucket), first: Some(first), ..Work::WHOLE }
    };
    let mut registry = fused();
    for kernel in &mut registry.kernels {
        if kernel.rows == usize::MAX && ["linear", "linear_map", "glu"].map(Pattern::Named).contains(&kernel.implements)
        {
            kernel.work = arranged;
        }
    }
    registry
        .kernels
        .insert(0, Kernel { implements: Pattern::Named("attend"), work: split, ..eval() }.named("attend.split"));
    registry
}

/// The definitions, with scratch and a first phase for everything that has rows.
pub fn phased_reference() -> Registry {
    let work = |shape: &inkstone_compute::Shape| match Grid::along(shape.ins, shape.outs) {
        rows @ (Dim::Rows | Dim::LogitRows) => {
            let first = Grid { rows, row_block: 2, col_block: usize::MAX, col_blocks: 1 };
            Work { scratch: shape.outs[0].bytes(&shape.bucket), first: Some(first), ..Work::WHOLE }
        }
        _ => Work::WHOLE,
    };
    Registry { kernels: vec![Kernel { work, ..eval() }], ..reference() }
}

/// The definitions, with kernels for every region that compute as they do.
pub fn fused_reference() -> Registry {
    with_regions!(reference(), Numerics::DEFINITION)
}

/// The engine of two encodings with a kernel for every region, on products with weights in f16.
pub fn fused_encodings() -> Registry {
    with_regions!(encodings(), Numerics("q8_b"))
}

trait Named {
    fn named(self, name: &'static str) -> Self;
}

impl Named for Kernel {
    fn named(self, name: &'static str) -> Kernel {
        Kernel { name, ..self }
    }
}
