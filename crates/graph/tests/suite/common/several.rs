//! Ops with several results, and an engine whose products want their activations in two encodings of 8 bits.

use super::*;
use inkstone_tensor::body::{Body, Node, Region, ValueId};
use inkstone_tensor::ops::{Columns, Expr, GatherRows, Map, Term};

/// Their names.
pub const SEVERAL: [&str; 3] = ["sum_and_product", "parts", "chosen_and_all"];

/// The encoding that the engine's products with weights of a dtype want.
pub fn encoding_for(weight: DType) -> Option<DType> {
    encodings().kernels.iter().find(|k| k.weights == [weight])?.activations
}

/// (a, b) -> a + b, a * b
pub fn sum_and_product(ty: Type) -> Op {
    let both = |term| Op::from(Map(Expr::new(&[Term::In(0), Term::In(1), term])));
    region(SEVERAL[0], &[ty, ty], &[(both(Term::Add), &[0, 1]), (both(Term::Mul), &[0, 1])], &[2, 3])
}

/// (x) -> its columns in so many parts
pub fn parts(x: Type, parts: usize) -> Op {
    let count = x.cols / parts;
    let part = |i| (Op::from(Columns { first: i * count, count }), &[0][..]);
    region(SEVERAL[1], &[x], &(0..parts).map(part).collect::<Vec<_>>(), &(1..=parts).collect::<Vec<_>>())
}

/// (x) -> silu(x) of the rows whose logits are wanted, silu(x) of all rows
pub fn chosen_and_all(x: Type) -> Op {
    let silu = Op::from(Map(Expr::new(&[Term::In(0), Term::Silu])));
    region(SEVERAL[2], &[x], &[(silu, &[0]), (GatherRows.into(), &[1])], &[2, 1])
}

/// Inputs, nodes, each with the values that it reads, and outputs. Values are counted from the inputs on.
fn region(name: &str, ins: &[Type], nodes: &[(Op, &[usize])], outs: &[usize]) -> Op {
    let mut body = Body::default();
    body.inputs = ins.iter().map(|ty| body.value(*ty)).collect();
    for (op, ins) in nodes {
        let ins = ins.iter().map(|i| ValueId(*i as u32)).collect::<smallvec::SmallVec<[ValueId; 4]>>();
        let types = op.infer(&body.types_of(&ins)).unwrap();
        let outs = types.iter().map(|ty| body.value(*ty)).collect();
        body.nodes.push(Node { op: op.clone(), ins, outs });
    }
    body.outputs = outs.iter().map(|i| ValueId(*i as u32)).collect();
    Op::Region(Arc::new(Region { name: name.to_owned(), body }))
}

/// A registry with kernels for the ops with several results.
pub fn with_several(mut registry: Registry) -> Registry {
    const ALONE: Numerics = Numerics::DEFINITION;
    const MEMBERS: &[(&str, Numerics)] = &[("map", ALONE), ("columns", ALONE), ("gather_rows", ALONE)];
    let kernels =
        SEVERAL.map(|name| Kernel { implements: Pattern::Named(name), members: MEMBERS, ..eval() }.named(name));
    registry.kernels.splice(0..0, kernels);
    registry
}

/// Products with weights in Q8_0 take activations in Q8_A, products with weights in f16 take them in Q8_B; all else is as
/// defined.
pub fn encodings() -> Registry {
    let linear = |name, weights, numerics, to| {
        let activations = Some(to);
        Kernel { implements: Pattern::Named("linear"), weights, numerics, activations, ..eval() }.named(name)
    };
    let kernels = vec![
        linear("linear.q8_a", &[DType::Q8_0], Numerics("q8_a"), DType::Q8_A),
        linear("linear.q8_b", &[DType::F16], Numerics("q8_b"), DType::Q8_B),
        eval(),
    ];
    with_several(Registry { engine: "encodings", kernels, ..reference() })
}
