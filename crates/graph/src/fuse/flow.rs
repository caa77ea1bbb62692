//! A graph whose nodes are being replaced: the producer and the readers of each value, in an order that stays valid.

use crate::graph::{Graph, Source, Sources};
use crate::passes::Context;
use inkstone_compute::Choice;
use inkstone_tensor::body::{Node, ValueId};
use inkstone_tensor::{Op, Type};
use smallvec::SmallVec;
use std::collections::HashSet;
use std::panic::Location;

/// A node of a [`Flow`]; it stays the same wherever the node moves.
pub(super) type NodeId = usize;

/// A node with the line of the model that it comes from; none if it was taken out.
type Slot = Option<(Node, &'static Location<'static>)>;

pub(super) struct Flow {
    /// Without its nodes.
    graph: Graph,
    sources: Sources,
    nodes: Vec<Slot>,
    /// Nodes in order, with gaps where some were taken out.
    order: Vec<Option<NodeId>>,
    /// By node: where it is in the order.
    place: Vec<usize>,
    /// By value.
    maker: Vec<Option<NodeId>>,
    /// By value, each reader once.
    readers: Vec<Vec<NodeId>>,
    outputs: HashSet<ValueId>,
}

impl Flow {
    pub(super) fn new(mut graph: Graph) -> Flow {
        let sources = graph.sources();
        let outputs = graph.body.outputs.iter().copied().collect();
        let (nodes, lines) = (std::mem::take(&mut graph.body.nodes), std::mem::take(&mut graph.at));
        let values = graph.body.types.len();
        let mut flow = Flow {
            graph,
            sources,
            nodes: Vec::with_capacity(nodes.len()),
            order: (0..nodes.len()).map(Some).collect(),
            place: (0..nodes.len()).collect(),
            maker: vec![None; values],
            readers: vec![Vec::new(); values],
            outputs,
        };
        for (node, at) in nodes.into_iter().zip(lines) {
            flow.add(node, at);
        }
        flow
    }

    /// The graph that it has become.
    pub(super) fn finish(mut self) -> Graph {
        let nodes = self.order.iter().flatten().filter_map(|id| self.nodes[*id].take());
        (self.graph.body.nodes, self.graph.at) = nodes.unzip();
        self.graph
    }

    pub(super) fn name(&self) -> &str {
        &self.graph.name
    }

    /// The kernel for a node that is not in the graph yet.
    pub(super) fn kernel<'a>(&self, node: &Node, cx: &Context<'a>) -> inkstone_compute::Result<Choice<'a>> {
        cx.find(&self.graph.body, &self.sources, node)
    }

    /// The nodes that there are, in order.
    pub(super) fn nodes(&self) -> Vec<NodeId> {
        self.order.iter().copied().flatten().collect()
    }

    /// A node, unless it was taken out.
    pub(super) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes[id].as_ref().map(|(node, _)| node)
    }

    pub(super) fn op(&self, id: NodeId) -> Option<&Op> {
        self.node(id).map(|n| &n.op)
    }

    pub(super) fn line(&self, id: NodeId) -> Option<&'static Location<'static>> {
        self.nodes[id].as_ref().map(|(_, at)| *at)
    }

    pub(super) fn ty(&self, v: ValueId) -> Type {
        self.graph.body.ty(v)
    }

    pub(super) fn is_weight(&self, v: ValueId) -> bool {
        matches!(self.sources[v.at()], Some(Source::Weight(_)))
    }

    /// The node that makes a value; none for inputs.
    pub(super) fn maker(&self, v: ValueId) -> Option<NodeId> {
        self.maker[v.at()]
    }

    /// The nodes that read a value.
    pub(super) fn readers(&self, v: ValueId) -> &[NodeId] {
        &self.readers[v.at()]
    }

    pub(super) fn is_output(&self, v: ValueId) -> bool {
        self.outputs.contains(&v)
    }

    /// The node that makes a value which only `reader` reads.
    pub(super) fn maker_for(&self, v: ValueId, reader: NodeId) -> Option<NodeId> {
        self.maker(v).filter(|_| self.readers(v) == [reader] && !self.is_output(v))
    }

    fn add(&mut self, node: Node, at: &'static Location<'static>) -> NodeId {
        let id = self.nodes.len();
        self.nodes.push(Some((node, at)));
        self.link(id);
        id
    }

    fn link(&mut self, id: NodeId) {
        let Some((node, _)) = &self.nodes[id] else { return };
        for v in &node.ins {
            let readers = &mut self.readers[v.at()];
            if !readers.contains(&id) {
                readers.push(id);
            }
        }
        node.outs.iter().for_each(|v| self.maker[v.at()] = Some(id));
    }

    fn unlink(&mut self, id: NodeId) {
        let Some((node, _)) = &self.nodes[id] else { return };
        node.ins.iter().for_each(|v| self.readers[v.at()].retain(|r| *r != id));
        node.outs.iter().for_each(|v| self.maker[v.at()] = None);
    }

    /// Puts another node in the place of one; it reads nothing that is made later.
    pub(super) fn replace(&mut self, id: NodeId, node: Node) {
        let Some(at) = self.line(id) else { return };
        self.unlink(id);
        self.nodes[id] = Some((node, at));
        self.link(id);
    }

    /// Takes a node out.
    pub(super) fn remove(&mut self, id: NodeId) {
        self.unlink(id);
        self.nodes[id] = None;
        self.order[self.place[id]] = None;
    }

    /// Takes a node out if nobody reads its results.
    pub(super) fn remove_unread(&mut self, id: NodeId) {
        let unread = |v: &ValueId| self.readers(*v).is_empty() && !self.is_output(*v);
        if self.node(id).is_some_and(|n| n.outs.iter().all(unread)) {
            self.remove(id);
        }
    }

    /// The nodes that must run before a node: those that make what it reads, and those that read a version of a state
    /// before it consumes that.
    fn before(&self, node: &Node) -> SmallVec<[NodeId; 8]> {
        let makers = node.ins.iter().filter_map(|v| self.maker(*v));
        makers.chain(node.versions().flat_map(|(state, _)| self.readers(state).iter().copied())).collect()
    }

    /// Replaces `members` with `node`, in an order where it runs after all its operands and before all its readers.
    /// Returns false and changes nothing if there is no such order because another node is on a path from a member to
    /// `node`.
    pub(super) fn merge(&mut self, members: &[NodeId], node: Node) -> bool {
        let places = members.iter().map(|id| self.place[*id]);
        let (Some(first), Some(last)) = (places.clone().min(), places.max()) else { return false };
        let Some(at) = self.line(members[members.len() - 1]) else { return false };
        let among: Vec<NodeId> = self.order[first..=last].iter().copied().flatten().collect();
        // All nodes that depend on a member, directly or indirectly, move after the region.
        let mut behind: HashSet<NodeId> = members.iter().copied().collect();
        for id in among.iter().filter(|id| !members.contains(id)) {
            let Some(other) = self.node(*id) else { continue };
            if self.before(other).iter().any(|b| b != id && behind.contains(b)) {
                behind.insert(*id);
            }
        }
        if self.before(&node).iter().any(|b| behind.contains(b) && !members.contains(b)) {
            return false;
        }
        members.iter().for_each(|id| self.remove(*id));
        let region = self.add(node, at);
        let rest = among.iter().copied().filter(|id| !members.contains(id));
        let (after, before): (Vec<NodeId>, Vec<NodeId>) = rest.partition(|id| behind.contains(id));
        self.place.push(first);
        self.order[first..=last].fill(None);
        for (i, id) in before.into_iter().chain([region]).chain(after).enumerate() {
            self.order[first + i] = Some(id);
            self.place[id] = first + i;
        }
        true
    }
}
