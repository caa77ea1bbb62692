//! From a draft to a region: what it means, whether a kernel does it, and whether the graph allows it.

use super::Counts;
use super::flow::{Flow, NodeId};
use crate::passes::Context;
use inkstone_tensor::Op;
use inkstone_tensor::body::{Body, Node, Region, ValueId};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// Nodes that could become a region.
pub(super) struct Draft {
    /// Before the members: nodes that are repeated in each region that reads them. They stay for those who read them yet.
    pub(super) prologue: Vec<NodeId>,
    /// In the order in which kernels expect them.
    pub(super) members: Vec<NodeId>,
    /// In the order in which kernels expect them.
    pub(super) operands: Vec<ValueId>,
    /// Among the results of members: those that others may read.
    pub(super) results: Vec<ValueId>,
}

impl Draft {
    /// With the operands that members read from outside, in this order; what is read twice is an operand twice.
    pub(super) fn new(flow: &Flow, prologue: &[NodeId], members: Vec<NodeId>, results: Vec<ValueId>) -> Draft {
        let all: Vec<NodeId> = prologue.iter().chain(&members).copied().collect();
        let reads = all.iter().filter_map(|id| flow.node(*id)).flat_map(|n| n.ins.iter().copied());
        let operands = reads.filter(|v| !flow.maker(*v).is_some_and(|m| all.contains(&m))).collect();
        Draft { prologue: prologue.to_vec(), members, operands, results }
    }

    /// The region of this name, if all that members make is read by them alone, or is a result.
    fn node(&self, flow: &Flow, name: &str) -> Option<Node> {
        let mut body = Body::default();
        let mut inner: HashMap<ValueId, SmallVec<[ValueId; 2]>> = HashMap::new();
        for v in &self.operands {
            let input = body.value(flow.ty(*v));
            body.inputs.push(input);
            inner.entry(*v).or_default().push(input);
        }
        for id in self.prologue.iter().chain(&self.members) {
            let Node { op, ins, outs } = flow.node(*id)?;
            let ins = ins.iter().map(|v| {
                let known = inner.get_mut(v)?;
                // The next of several operands that are one value, or the last.
                if known.len() > 1 { Some(known.remove(0)) } else { known.first().copied() }
            });
            let ins = ins.collect::<Option<SmallVec<[ValueId; 4]>>>()?;
            let new: SmallVec<[ValueId; 2]> = outs.iter().map(|v| body.value(flow.ty(*v))).collect();
            outs.iter().zip(&new).for_each(|(v, new)| drop(inner.insert(*v, SmallVec::from_slice(&[*new]))));
            body.nodes.push(Node { op: op.clone(), ins, outs: new });
        }
        let kept = |v: &ValueId| {
            let own = flow.readers(*v).iter().all(|r| self.members.contains(r));
            self.results.contains(v) || (own && !flow.is_output(*v))
        };
        let made = self.members.iter().filter_map(|id| flow.node(*id)).flat_map(|n| &n.outs);
        if !made.clone().all(kept) || self.operands.iter().any(|v| made.clone().any(|m| m == v)) {
            return None;
        }
        body.outputs = self.results.iter().map(|v| inner.get(v)?.first().copied()).collect::<Option<_>>()?;
        let (ins, outs) = (self.operands.iter().copied().collect(), self.results.iter().copied().collect());
        Some(Node { op: Op::Region(Arc::new(Region { name: name.to_owned(), body })), ins, outs })
    }
}

/// Makes a region of the first draft that a kernel does.
pub(super) fn try_drafts(flow: &mut Flow, name: &str, drafts: Vec<Draft>, cx: &Context, counts: &mut Counts) {
    for draft in drafts {
        let Some(node) = draft.node(flow, name) else { continue };
        match flow.kernel(&node, cx) {
            Err(error) => counts.dissolved(&error),
            Ok(choice) => {
                if flow.merge(&draft.members, node) {
                    // From the last to the first: each is read by the next.
                    draft.prologue.iter().rev().for_each(|id| flow.remove_unread(*id));
                    return counts.fused(choice.kernel.name);
                }
            }
        }
    }
}
