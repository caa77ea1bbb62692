//! What is between products and attention: queries and keys are turned, keys and values written.

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
    /// q rotated, keys, values.
    results: [ValueId; 3],
}

/// Around an `attend`, which stays outside.
pub(super) fn rope_write(flow: &Flow, attend: NodeId) -> Vec<Draft> {
    let draft = parts(flow, attend).map(|p| Draft {
        prologue: Vec::new(),
        members: p.ropes.into_iter().chain(p.writes).collect(),
        operands: [p.q, p.k, p.v, p.rows].into_iter().chain(p.caches).collect(),
        results: p.results.into(),
    });
    draft.into_iter().collect()
}

/// The same with the norms of queries and keys, which are of each head.
pub(super) fn norm_rope_write(flow: &Flow, attend: NodeId) -> Vec<Draft> {
    let draft = parts(flow, attend).and_then(|p| {
        let norm = |v: ValueId, rope: NodeId| {
            let id = flow.maker_for(v, rope).filter(|id| matches!(flow.op(*id), Some(Op::RmsNorm(_))))?;
            let ins = &flow.node(id)?.ins;
            flow.is_weight(ins[1]).then_some((id, ins[0], ins[1]))
        };
        let ((q_norm, q, q_weights), (k_norm, k, k_weights)) = (norm(p.q, p.ropes[0])?, norm(p.k, p.ropes[1])?);
        Some(Draft {
            prologue: Vec::new(),
            members: [q_norm, k_norm].into_iter().chain(p.ropes).chain(p.writes).collect(),
            operands: [q, q_weights, k, k_weights, p.v, p.rows].into_iter().chain(p.caches).collect(),
            results: p.results.into(),
        })
    });
    draft.into_iter().collect()
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
        results: [q, keys, values],
    })
}
