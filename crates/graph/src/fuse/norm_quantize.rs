//! A norm and the encoding of its result, where no product takes them in.

use super::flow::{Flow, NodeId};
use super::prologue::is_norm;
use super::region::Draft;
use inkstone_tensor::Op;

/// The norm is one that only the quantize reads.
pub(super) fn norm_quantize(flow: &Flow, quantize: NodeId) -> Vec<Draft> {
    let Some(n) = flow.node(quantize).filter(|n| matches!(n.op, Op::Quantize(_))) else { return Vec::new() };
    let norm = flow.maker_for(n.ins[0], quantize).filter(|id| is_norm(flow, *id));
    norm.map(|norm| Draft::new(flow, &[], vec![norm, quantize], n.outs.to_vec())).into_iter().collect()
}
