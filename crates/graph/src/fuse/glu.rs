//! Gated units (Shazeer 2020, arXiv 2002.05202): two products of the same activations and a map of both, whose result
//! may be encoded at once for the product that follows.

use super::flow::{Flow, NodeId};
use super::prologue::{self, product};
use super::region::Draft;
use inkstone_tensor::Op;
use inkstone_tensor::body::ValueId;

/// With the norm, and the encoding, that come before.
pub(super) fn norm_glu(flow: &Flow, map: NodeId) -> Vec<Draft> {
    let unit = unit(flow, map);
    unit.and_then(|(x, members)| Some(drafts(flow, &prologue::norm(flow, x)?, x, members))).unwrap_or_default()
}

/// On activations as they are.
pub(super) fn glu(flow: &Flow, map: NodeId) -> Vec<Draft> {
    unit(flow, map).map(|(x, members)| drafts(flow, &[], x, members)).unwrap_or_default()
}

/// With the encoding of the result, and without.
fn drafts(flow: &Flow, prologue: &[NodeId], x: ValueId, members: [NodeId; 3]) -> Vec<Draft> {
    let encode = encoding(flow, members[2]).map(|q| [&members[..], &[q]].concat());
    encode.into_iter().chain([members.to_vec()]).map(|members| draft(flow, prologue, x, members)).collect()
}

/// The node that encodes the result of a node. If another node reads the result itself, the draft with both is not a
/// region.
fn encoding(flow: &Flow, node: NodeId) -> Option<NodeId> {
    let made = flow.node(node)?.outs.first()?;
    flow.readers(*made).iter().copied().find(|id| matches!(flow.op(*id), Some(Op::Quantize(_))))
}

fn draft(flow: &Flow, prologue: &[NodeId], x: ValueId, members: Vec<NodeId>) -> Draft {
    let results = members.last().and_then(|last| flow.node(*last)).map_or_else(Vec::new, |n| n.outs.to_vec());
    let mut draft = Draft::new(flow, prologue, members, results);
    // Both products read one operand.
    if let Some(again) = draft.operands.iter().rposition(|v| *v == x).filter(|i| *i > 0) {
        draft.operands.remove(again);
    }
    draft
}

/// The activations, and gate, up and map: the gate is the map's first operand.
fn unit(flow: &Flow, map: NodeId) -> Option<(ValueId, [NodeId; 3])> {
    let n = flow.node(map).filter(|n| matches!(n.op, Op::Map(_)))?;
    let [gate, up] = n.ins[..] else { return None };
    let [gate, up] = [gate, up].map(|v| product(flow, flow.maker_for(v, map)?));
    let (gate, up) = (gate?, up?);
    (gate.x == up.x && gate.node != up.node).then_some((gate.x, [gate.node, up.node, map]))
}
