//! Products and their prologue in the same step: a norm, the encoding of activations, or both. Each region that reads a
//! prologue repeats it, so it becomes a prologue only if all its readers are products.

use super::flow::{Flow, NodeId};
use inkstone_tensor::Op;
use inkstone_tensor::body::ValueId;

/// The operands and the result of a product.
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub(super) node: NodeId,
    /// Its activations.
    pub(super) x: ValueId,
    pub(super) result: ValueId,
}

/// A node as a product of activations with a weight, perhaps with a bias.
pub(super) fn product(flow: &Flow, node: NodeId) -> Option<Product> {
    let n = flow.node(node).filter(|n| matches!(n.op, Op::Linear(_)))?;
    let (x, weights) = n.ins.split_first()?;
    let sound = !flow.is_weight(*x) && weights.iter().all(|w| flow.is_weight(*w));
    sound.then_some(Product { node, x: *x, result: n.outs[0] })
}

/// The nodes before the products that read `x`: a norm, and optionally a quantize after it.
pub(super) fn norm(flow: &Flow, x: ValueId) -> Option<Vec<NodeId>> {
    let mut before = quantize(flow, x).map_or_else(Vec::new, |q| vec![q]);
    let front = before.first().and_then(|q| flow.node(*q)).map_or(x, |q| q.ins[0]);
    before.insert(0, flow.maker(front).filter(|n| is_norm(flow, *n) && for_products(flow, front))?);
    Some(before)
}

/// The encoding of the activations that products read.
pub(super) fn quantize(flow: &Flow, x: ValueId) -> Option<NodeId> {
    flow.maker(x).filter(|id| matches!(flow.op(*id), Some(Op::Quantize(_))) && for_products(flow, x))
}

/// A norm of whole rows by weights.
pub(super) fn is_norm(flow: &Flow, id: NodeId) -> bool {
    flow.node(id).is_some_and(|n| match n.op {
        Op::RmsNorm(_) | Op::LayerNorm(_) => {
            n.ins[1..].iter().all(|w| flow.is_weight(*w) && flow.ty(*w).cols == flow.ty(n.ins[0]).cols)
        }
        _ => false,
    })
}

/// Whether products are all who read a value, encoded or as it is.
fn for_products(flow: &Flow, v: ValueId) -> bool {
    let reads = |id: &NodeId| match flow.node(*id) {
        Some(n) if matches!(n.op, Op::Quantize(_)) => for_products(flow, n.outs[0]),
        _ => product(flow, *id).is_some_and(|p| p.x == v),
    };
    !flow.is_output(v) && flow.readers(v).iter().all(reads)
}
