//! Attention with the nodes between the products and it: the rotation of queries and keys, and the writes of keys and
//! values. A tile of heads computes everything that its own attention needs.

use super::flow::{Flow, NodeId};
use super::region::Draft;
use inkstone_tensor::Op;
use inkstone_tensor::body::{Node, ValueId};

/// The parts before an `attend`.
struct Parts {
    /// Of q, of k.
    ropes: [NodeId; 2],
    /// Of keys, of values.
    writes: [NodeId; 2],
    q: ValueId,
    k: ValueId,
    v: ValueId,
    rows: ValueId,
    caches: [ValueId; 2],
    /// q, turned.
    turned: ValueId,
    /// Keys, values.
    written: [ValueId; 2],
}

/// Around an `attend`.
pub(super) fn rope_attend(flow: &Flow, attend: NodeId) -> Vec<Draft> {
    let parts = parts(flow, attend).filter(|p| p.by_heads(flow, attend, None));
    parts.map(|p| p.draft(flow, attend, None)).into_iter().collect()
}

/// The same with the norms of queries and keys, which are of each head.
pub(super) fn norm_rope_attend(flow: &Flow, attend: NodeId) -> Vec<Draft> {
    let draft = parts(flow, attend).and_then(|p| {
        let norms = p.norms(flow).filter(|norms| p.by_heads(flow, attend, Some(norms)))?;
        Some(p.draft(flow, attend, Some(norms)))
    });
    draft.into_iter().collect()
}

/// The norms of queries and of keys: the node, its operand, its weights.
type Norms = [(NodeId, ValueId, ValueId); 2];

impl Parts {
    /// The norms of each head, if there are both.
    fn norms(&self, flow: &Flow) -> Option<Norms> {
        let norm = |v: ValueId, rope: NodeId| {
            let id = flow.maker_for(v, rope).filter(|id| matches!(flow.op(*id), Some(Op::RmsNorm(_))))?;
            let ins = &flow.node(id)?.ins;
            flow.is_weight(ins[1]).then_some((id, ins[0], ins[1]))
        };
        Some([norm(self.q, self.ropes[0])?, norm(self.k, self.ropes[1])?])
    }

    /// Whether each head can be done for itself: norms and rotations are of one head of the `attend`, and nobody else
    /// reads the turned queries.
    fn by_heads(&self, flow: &Flow, attend: NodeId, norms: Option<&Norms>) -> bool {
        let (Some(Op::Attend(op)), Some(_)) = (flow.op(attend), flow.maker_for(self.turned, attend)) else {
            return false;
        };
        let dim = flow.ty(self.q).cols / op.heads;
        let turns = |id: &NodeId| matches!(flow.op(*id), Some(Op::Rope(rope)) if rope.head_dim == dim);
        self.ropes.iter().all(turns) && norms.iter().copied().flatten().all(|(_, _, w)| flow.ty(*w).cols == dim)
    }

    fn draft(&self, flow: &Flow, attend: NodeId, norms: Option<Norms>) -> Draft {
        let before = norms.iter().flatten().map(|n| n.0).chain(self.ropes).chain(self.writes);
        let heads: Vec<ValueId> = match norms {
            Some([(_, q, q_weights), (_, k, k_weights)]) => vec![q, q_weights, k, k_weights],
            None => vec![self.q, self.k],
        };
        let made = flow.node(attend).into_iter().flat_map(|n| n.outs.iter().copied());
        Draft {
            prologue: Vec::new(),
            members: before.chain([attend]).collect(),
            operands: heads.into_iter().chain([self.v, self.rows]).chain(self.caches).collect(),
            results: made.chain(self.written).collect(),
        }
    }
}

fn parts(flow: &Flow, attend: NodeId) -> Option<Parts> {
    let n = flow.node(attend).filter(|n| matches!(n.op, Op::Attend(_)))?;
    let [q, keys, values, rows] = n.ins[..] else { return None };
    let rope = |v: ValueId| {
        let id = flow.maker(v).filter(|id| matches!(flow.op(*id), Some(Op::Rope(_))))?;
        let ins = &flow.node(id)?.ins;
        (ins[1] == rows).then_some((id, ins[0]))
    };
    let write = |cache: ValueId| {
        let id = flow.maker(cache).filter(|id| matches!(flow.op(*id), Some(Op::KvWrite(_))))?;
        let Node { ins, .. } = flow.node(id)?;
        (ins[2] == rows).then_some((id, ins[0], ins[1]))
    };
    let ((k_write, k_cache, k), (v_write, v_cache, v)) = (write(keys)?, write(values)?);
    let ((q_rope, q_in), (k_rope, k_in)) = (rope(q)?, rope(k)?);
    let distinct = k_write != v_write && q_rope != k_rope;
    distinct.then_some(Parts {
        ropes: [q_rope, k_rope],
        writes: [k_write, v_write],
        q: q_in,
        k: k_in,
        v,
        rows,
        caches: [k_cache, v_cache],
        turned: q,
        written: [keys, values],
    })
}
