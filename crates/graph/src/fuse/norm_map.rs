//! A norm and the map that reads its result: the norm behind a part of a layer, and the residual.

use super::flow::{Flow, NodeId};
use super::prologue::is_norm;
use super::region::Draft;
use inkstone_tensor::Op;

/// The norm is one that only the map reads.
pub(super) fn norm_map(flow: &Flow, map: NodeId) -> Vec<Draft> {
    let Some(n) = flow.node(map).filter(|n| matches!(n.op, Op::Map(_))) else { return Vec::new() };
    let norms = n.ins.iter().filter_map(|v| flow.maker_for(*v, map).filter(|id| is_norm(flow, *id)));
    norms.map(|norm| Draft::new(flow, &[], vec![norm, map], n.outs.to_vec())).collect()
}
