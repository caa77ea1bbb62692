//! Turns a draft into a region: builds its meaning, and checks that a kernel computes it and that the graph allows it.

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
    /// Before the members: nodes that are repeated in each region that reads them. They stay for those who read them
    /// yet.
    pub(super) prologue: Vec<NodeId>,
    /// In the order in which kernels expect them.
    pub(super) members: Vec<NodeId>,
    /// In the order in which kernels expect them.
    pub(super) operands: Vec<ValueId>,
    /// Among the results of members: those that others may read.
    pub(super) results: Vec<ValueId>,
}

impl Draft {
    /// A draft whose operands are the values that members read from other nodes, in this order. A value that is read
    /// twice is two operands.
    pub(super) fn new(flow: &Flow, prologue: &[NodeId], members: Vec<NodeId>, results: Vec<ValueId>) -> Draft {
        let all: Vec<NodeId> = prologue.iter().chain(&members).copied().collect();
        let reads = all.iter().filter_map(|id| flow.node(*id)).flat_map(|n| n.ins.iter().copied());
        let operands = reads.filter(|v| !flow.maker(*v).is_some_and(|m| all.contains(&m))).collect();
        Draft { prologue: prologue.to_vec(), members, operands, results }
    }

    /// The region of this name, if all values that members produce are results or are read only by members.
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

    /// The reason for a rejection if a custom kernel computes a member: a region of the engine must not replace it.
    fn done_outside(&self, flow: &Flow, cx: &Context) -> Option<String> {
        let members = self.prologue.iter().chain(&self.members).filter_map(|id| flow.node(*id));
        members.filter_map(|n| Some((n, flow.kernel(n, cx).ok()?.kernel))).find_map(|(n, kernel)| {
            cx.registry
                .is_outside(kernel)
                .then(|| format!("{} is done by {}, a custom kernel", n.op.name(), kernel.name))
        })
    }
}

/// Makes a region of the first draft that a kernel does.
pub(super) fn try_drafts(flow: &mut Flow, name: &str, drafts: Vec<Draft>, cx: &Context, counts: &mut Counts) {
    let mut refused = Vec::new();
    for draft in drafts {
        let Some(node) = draft.node(flow, name) else { continue };
        match flow.kernel(&node, cx) {
            Err(error) => refused.push(reason(error)),
            Ok(choice) => {
                if let Some(outside) = draft.done_outside(flow, cx).filter(|_| !cx.registry.is_outside(choice.kernel)) {
                    refused.push(outside);
                    continue;
                }
                if flow.merge(&draft.members, node) {
                    // From the last to the first: each is read by the next.
                    draft.prologue.iter().rev().for_each(|id| flow.remove_unread(*id));
                    counts.fused(choice.kernel.name);
                    break;
                }
            }
        }
    }
    counts.dissolved(refused);
}

/// Why there is no kernel.
pub(super) fn reason(error: inkstone_compute::Error) -> String {
    match error {
        inkstone_compute::Error::NoKernel { reasons, .. } => reasons,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::{Tracer, test_support};
    use inkstone_compute::Port;
    use inkstone_tensor::step::ROWS;
    use inkstone_tensor::{Dim, Type};

    /// A sample that depends on a map and reads the history, which is written behind it; and what reads the sample.
    fn graph() -> Graph {
        let t = Tracer::new("g", &test_support::Shapes(&[]));
        let (x, rows) = (t.input(Port::HIDDEN, Type::f32(Dim::LogitRows, 4)), t.input(Port::ROWS, ROWS));
        let history = t.history();
        let logits = t.silu(x).unwrap();
        let records = t.sample(logits, rows, &history).unwrap();
        t.keep(t.history_write(history, rows).unwrap());
        let scores = t.score(logits, records).unwrap();
        t.output(Port::RECORDS, records);
        t.output(Port::SCORES, scores);
        t.finish().unwrap()
    }

    const MAP: NodeId = 0;
    const SAMPLE: NodeId = 1;
    const WRITE: NodeId = 2;
    const SCORE: NodeId = 3;

    /// The names of nodes after these became a region, which gives all that they make; none if they can't be one.
    fn merged(members: &[NodeId]) -> Option<Vec<String>> {
        let mut flow = Flow::new(graph());
        let made = |id: &NodeId| flow.node(*id).unwrap().outs.to_vec();
        let draft = Draft::new(&flow, &[], members.to_vec(), members.iter().flat_map(made).collect());
        let node = draft.node(&flow, "region").unwrap();
        let merged = flow.merge(members, node);
        let g = flow.finish();
        assert_eq!(g.faults(), []);
        merged.then(|| g.body.nodes.iter().map(|n| n.op.name().to_owned()).collect())
    }

    #[test]
    fn what_needs_a_member_goes_behind_the_region() {
        assert_eq!(merged(&[MAP, SAMPLE]).unwrap(), ["region", "history_write", "score"]);
        // The write consumes what the sample reads.
        assert_eq!(merged(&[SAMPLE, SCORE]).unwrap(), ["map", "region", "history_write"]);
        assert_eq!(merged(&[WRITE]).unwrap(), ["map", "sample", "region", "score"]);
    }

    #[test]
    fn a_path_out_of_a_region_and_back_is_none() {
        assert_eq!(merged(&[MAP, SCORE]), None, "the sample is between");
        assert_eq!(merged(&[MAP, WRITE]), None, "the sample must read the history before it is written");
    }

    #[test]
    fn what_others_read_is_a_result() {
        let flow = Flow::new(graph());
        let draft = |results: &[NodeId]| {
            let made = results.iter().flat_map(|id| flow.node(*id).unwrap().outs.to_vec()).collect();
            Draft::new(&flow, &[], vec![MAP, SAMPLE], made).node(&flow, "region").is_some()
        };
        assert_eq!([&[MAP, SAMPLE][..], &[SAMPLE], &[MAP]].map(draft), [true, false, false]);
    }
}
