//! Cases of the regions that compilers fuse, for engines that have kernels of them. A kernel must compute the same bits
//! as the kernels of the members one after the other.

use super::candidates;
use super::cases::{Case, Operand};
use crate::engine::Engine;
use crate::kernel::{Kernel, Layout};
use inkstone_tensor::body::{Body, Node, Region, ValueId};
use inkstone_tensor::ops::{
    Attend, Expr, KvWrite, LayerNorm, Linear, Map, Pairs, Quantize, RmsNorm, Rope, Term, Window,
};
use inkstone_tensor::{DType, Dim, Op, Sizes, Type};
use std::sync::Arc;

/// Whether a kernel does all members of a region, on their activations.
pub(super) fn fits(kernel: &Kernel, body: &Body) -> bool {
    body.nodes.iter().all(|n| {
        let activations = |v: ValueId| body.ty(v).dtype == kernel.activations.unwrap_or(DType::F32);
        kernel.member(n.op.name()).is_some() && (!matches!(n.op, Op::Linear(_)) || activations(n.ins[0]))
    })
}

/// A kernel for each member, with the arithmetic that `kernel` has for it; `None`: some member has none.
pub(super) fn members<'e>(
    engine: &'e dyn Engine,
    kernel: &Kernel,
    layout: Layout,
    body: &Body,
    bucket: Sizes,
) -> Option<Vec<&'e Kernel>> {
    let member = |n: &Node| {
        let ins = body.types_of(&n.ins);
        let weights: Vec<Type> = ins.iter().copied().filter(|ty| matches!(ty.rows, Dim::N(_))).collect();
        let matrix = weights.iter().any(|w| w.rows != Dim::N(1));
        let (found, _) = candidates(engine, &n.op, &ins, &weights, bucket.rows);
        let right = |(k, l): &&(&Kernel, Layout)| {
            Some(k.numerics) == kernel.member(n.op.name())
                && (!matrix || *l == layout)
                && (!matches!(n.op, Op::Linear(_)) || k.activations == kernel.activations)
        };
        found.iter().find(right).map(|(k, _)| *k)
    };
    body.nodes.iter().map(member).collect()
}

/// A region under construction.
#[derive(Default)]
struct Sketch {
    body: Body,
    operands: Vec<Operand>,
}

impl Sketch {
    fn operand(&mut self, operand: Operand) -> ValueId {
        let v = self.body.value(operand.ty());
        self.operands.push(operand);
        self.body.inputs.push(v);
        v
    }

    fn values(&mut self, dtype: DType, cols: usize) -> ValueId {
        self.operand(Operand::Values(Type::new(dtype, Dim::Rows, cols)))
    }

    fn weight(&mut self, dtype: DType, rows: usize, cols: usize) -> ValueId {
        self.operand(Operand::Weight(Type::new(dtype, Dim::N(rows), cols)))
    }

    fn node(&mut self, op: impl Into<Op>, ins: &[ValueId]) -> ValueId {
        let op = op.into();
        let types = op.infer(&self.body.types_of(ins)).expect("sketches are well-typed");
        let out = self.body.value(types[0]);
        self.body.nodes.push(Node { op, ins: ins.iter().copied().collect(), outs: [out].into_iter().collect() });
        out
    }

    fn region(mut self, name: &str, rows: usize, outputs: &[ValueId]) -> Case {
        self.body.outputs = outputs.to_vec();
        let op = Op::Region(Arc::new(Region { name: name.to_owned(), body: self.body }));
        Case::new(op, rows, &self.operands)
    }
}

/// The rows of steps: a single row, and as many as a small bucket holds.
const ROWS_OF_STEPS: [usize; 3] = [1, 3, 8];
/// The columns of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cols {
    /// Of activations.
    pub(super) x: usize,
    /// Of the results of up to three products.
    pub(super) outs: [usize; 3],
    /// Of results that are encoded, if blocks are not large.
    pub(super) encoded: usize,
}

/// Whole groups of encoded results, and no whole tile at the end.
const COLS: Cols = Cols { x: 256, outs: [45, 16, 33], encoded: 160 };
/// Weights, and what their products take.
const PRODUCTS: [(DType, Option<DType>); 6] = [
    (DType::F32, None),
    (DType::BF16, None),
    (DType::BF16, Some(DType::BF16)),
    (DType::Q8_0, Some(DType::Q8_A)),
    (DType::Q4_K, Some(DType::Q8_A)),
    (DType::Q4_K, Some(DType::Q8_B)),
];
pub(super) const GATE: [Term; 4] = [Term::In(0), Term::Silu, Term::In(1), Term::Mul];
pub(super) const ADD: [Term; 3] = [Term::In(0), Term::In(1), Term::Add];

/// All of them, in a fixed order.
pub(super) fn all() -> Vec<Case> {
    let of_rows = |rows| {
        let products = PRODUCTS.into_iter().flat_map(move |(dtype, to)| {
            [
                norm_linear(rows, dtype, to, COLS),
                norm_glu(rows, dtype, to, false, COLS),
                norm_glu(rows, dtype, to, true, COLS),
                glu(rows, dtype, to, false, COLS),
                glu(rows, dtype, to, true, COLS),
                norm_linear_map(rows, dtype, to, COLS),
                linear_map(rows, dtype, to, false, COLS),
                linear_map(rows, dtype, to, true, COLS),
            ]
        });
        let caches = [DType::F32, DType::F16, DType::Q8_0].into_iter();
        let attends = caches.flat_map(move |d| [attend(rows, d, false, 2, None), attend(rows, d, true, 2, None)]);
        let window = Some(Window { size: 70, first: 3 });
        let windows = [false, true].map(|norms| attend(rows, DType::F16, norms, 2, window));
        // So many tiles that several are claimed at once.
        let many = attend(rows, DType::F16, false, 8, None);
        let encoded = PRODUCTS.into_iter().filter_map(move |(dtype, to)| Some(quantize_linear(rows, dtype, to?)));
        let maps = [false, true].map(|bias| norm_map(rows, bias));
        products
            .chain([norm_quantize(rows, COLS)])
            .chain(encoded)
            .chain(maps)
            .chain(attends)
            .chain(windows)
            .chain([many])
    };
    let mut cases: Vec<Case> = ROWS_OF_STEPS.into_iter().flat_map(of_rows).collect();
    // Where nothing is encoded, the two forms of some regions are one.
    let mut names = std::collections::HashSet::new();
    cases.retain(|case| names.insert(case.name()));
    cases
}

/// The encoding of what products take, if they do.
fn encode(s: &mut Sketch, x: ValueId, to: Option<DType>) -> ValueId {
    to.map_or(x, |to| s.node(Quantize { to }, &[x]))
}

fn normed(s: &mut Sketch, cols: Cols) -> ValueId {
    let (x, w) = (s.values(DType::F32, cols.x), s.weight(DType::F32, 1, cols.x));
    s.node(RmsNorm { eps: 1e-5 }, &[x, w])
}

pub(super) fn norm_quantize(rows: usize, cols: Cols) -> Case {
    let mut s = Sketch::default();
    let x = normed(&mut s, cols);
    let encoded = encode(&mut s, x, Some(DType::Q8_A));
    s.region("norm_quantize", rows, &[encoded])
}

/// A norm, with a bias or without, and the residual as the first or the second operand of the sum.
fn norm_map(rows: usize, bias: bool) -> Case {
    let mut s = Sketch::default();
    let (x, w) = (s.values(DType::F32, COLS.x), s.weight(DType::F32, 1, COLS.x));
    let normed = match bias {
        true => {
            let bias = s.weight(DType::F32, 1, COLS.x);
            s.node(LayerNorm { eps: 1e-5 }, &[x, w, bias])
        }
        false => s.node(RmsNorm { eps: 1e-5 }, &[x, w]),
    };
    let residual = s.values(DType::F32, COLS.x);
    let operands = if bias { [normed, residual] } else { [residual, normed] };
    let y = s.node(Map(Expr::new(&ADD)), &operands);
    s.region("norm_map", rows, &[y])
}

/// Two products of activations that the region encodes.
fn quantize_linear(rows: usize, dtype: DType, to: DType) -> Case {
    let mut s = Sketch::default();
    let x = s.values(DType::F32, COLS.x);
    let x = encode(&mut s, x, Some(to));
    let outs = [COLS.outs[0], 16].map(|n| {
        let w = s.weight(dtype, n, COLS.x);
        s.node(Linear, &[x, w])
    });
    s.region("quantize_linear", rows, &outs)
}

pub(super) fn norm_linear(rows: usize, dtype: DType, to: Option<DType>, cols: Cols) -> Case {
    let mut s = Sketch::default();
    let x = normed(&mut s, cols);
    let x = encode(&mut s, x, to);
    let outs = [0, 1, 2].map(|i| {
        let n = cols.outs[i];
        let mut ins = vec![x, s.weight(dtype, n, cols.x)];
        if i == 1 {
            ins.push(s.weight(DType::F32, 1, n));
        }
        s.node(Linear, &ins)
    });
    s.region("norm_linear", rows, &outs)
}

/// A gated unit, whose result is encoded if the product behind it takes that.
fn gate(s: &mut Sketch, x: ValueId, dtype: DType, to: Option<DType>, cols: Cols) -> ValueId {
    let products = [0, 1].map(|_| {
        let w = s.weight(dtype, to.map_or(cols.outs[0], |to| cols.encoded.max(2 * to.block())), cols.x);
        s.node(Linear, &[x, w])
    });
    let y = s.node(Map(Expr::new(&GATE)), &products);
    encode(s, y, to)
}

pub(super) fn norm_glu(rows: usize, dtype: DType, to: Option<DType>, encodes: bool, cols: Cols) -> Case {
    let mut s = Sketch::default();
    let x = normed(&mut s, cols);
    let x = encode(&mut s, x, to);
    let y = gate(&mut s, x, dtype, to.filter(|_| encodes), cols);
    s.region("norm_glu", rows, &[y])
}

pub(super) fn glu(rows: usize, dtype: DType, to: Option<DType>, encodes: bool, cols: Cols) -> Case {
    let mut s = Sketch::default();
    let x = s.values(to.unwrap_or(DType::F32), cols.x);
    let y = gate(&mut s, x, dtype, to.filter(|_| encodes), cols);
    s.region("glu", rows, &[y])
}

pub(super) fn norm_linear_map(rows: usize, dtype: DType, to: Option<DType>, cols: Cols) -> Case {
    let mut s = Sketch::default();
    let x = s.values(DType::F32, cols.x);
    let norm = [x, s.weight(DType::F32, 1, cols.x), s.weight(DType::F32, 1, cols.x)];
    let x = s.node(LayerNorm { eps: 1e-5 }, &norm);
    let x = encode(&mut s, x, to);
    let product = [x, s.weight(dtype, cols.outs[0], cols.x), s.weight(DType::F32, 1, cols.outs[0])];
    let y = s.node(Linear, &product);
    let y = s.node(Map(Expr::new(&[Term::In(0), Term::Gelu])), &[y]);
    s.region("norm_linear_map", rows, &[y])
}

/// Activations come encoded, or the region encodes them.
pub(super) fn linear_map(rows: usize, dtype: DType, to: Option<DType>, encodes: bool, cols: Cols) -> Case {
    let mut s = Sketch::default();
    let x = s.values(to.filter(|_| !encodes).unwrap_or(DType::F32), cols.x);
    let x = encode(&mut s, x, to.filter(|_| encodes));
    let w = s.weight(dtype, cols.outs[0], cols.x);
    let y = s.node(Linear, &[x, w]);
    let residual = s.values(DType::F32, cols.outs[0]);
    let y = s.node(Map(Expr::new(&ADD)), &[y, residual]);
    s.region("linear_map", rows, &[y])
}

/// Two query heads for each head of keys and values. One head is not a whole block of a cache format with blocks.
fn attend(rows: usize, cache: DType, norms: bool, kv_heads: usize, window: Option<Window>) -> Case {
    let dim = if cache.block() > 1 { 16 } else { 24 };
    attend_of(rows, cache, norms, [2 * kv_heads, kv_heads, dim], window)
}

/// With so many query heads, heads of keys and values, and values of a head. All values of a head except four are rotated.
pub(super) fn attend_of(
    rows: usize,
    cache: DType,
    norms: bool,
    [queries, kv_heads, dim]: [usize; 3],
    window: Option<Window>,
) -> Case {
    let mut s = Sketch::default();
    let heads = |s: &mut Sketch, n: usize| {
        let x = s.values(DType::F32, n * dim);
        (x, norms.then(|| s.weight(DType::F32, 1, dim)))
    };
    let (q, k) = (heads(&mut s, queries), heads(&mut s, kv_heads));
    let v = s.values(DType::F32, kv_heads * dim);
    let positions = s.operand(Operand::Rows(1));
    let caches = [0, 1].map(|_| s.operand(Operand::Values(Type::cache(usize::from(norms), cache, kv_heads, dim))));
    let normed = [q, k].map(|(x, w)| w.map_or(x, |w| s.node(RmsNorm { eps: 1e-6 }, &[x, w])));
    let frequencies: Arc<[f64]> = (0..dim / 2 - 2).map(|i| 1.0 / f64::from(1 << i)).collect();
    let rope = Rope { head_dim: dim, frequencies, magnitude: 1.0, pairs: Pairs::Halves };
    let [q, k] = normed.map(|x| s.node(rope.clone(), &[x, positions]));
    let [keys, values] = [(caches[0], k), (caches[1], v)].map(|(c, x)| s.node(KvWrite, &[c, x, positions]));
    let attend = Attend { heads: queries, kv_heads, scale: 0.25, window };
    let x = s.node(attend, &[q, keys, values, positions]);
    s.region(if norms { "norm_rope_attend" } else { "rope_attend" }, rows, &[x, keys, values])
}
