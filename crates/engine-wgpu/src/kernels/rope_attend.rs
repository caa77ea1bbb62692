//! Attention with what comes before it: perhaps norms of the heads of queries and keys, their rotations, and the writes of
//! keys and values. The first dispatch does these, so that attention reads the caches and the turned queries.

use super::attend::{self, Operands};
use super::caches::{group, lies, writer};
use super::groups;
use super::norms::Norm;
use super::rope::{angles, turns};
use crate::call::{Call, Dispatch, NONE, word};
use crate::shader::Shader;
use inkstone_compute::{Caps, Query, Shape, Work};
use inkstone_tensor::body::{Body, ValueId};
use inkstone_tensor::ops::{Attend, Rope};
use inkstone_tensor::{Dim, Op, Type};

/// Most values of a row of a cache: a workgroup has one in its memory.
const LINE: usize = 2048;

/// The operands by their number in the region.
struct Parts<'b> {
    body: &'b Body,
    q: usize,
    k: usize,
    /// The norms of q and k, and their weights.
    norms: Option<([&'b Op; 2], [usize; 2])>,
    v: usize,
    rows: usize,
    caches: [usize; 2],
    ropes: [&'b Rope; 2],
    attend: &'b Attend,
}

impl<'b> Parts<'b> {
    /// `None`: another kind of region, or one whose nodes read something else.
    fn of(op: &'b Op) -> Option<Parts<'b>> {
        let Op::Region(region) = op else { return None };
        let body = &region.body;
        let [norms @ .., q_rope, k_rope, k_write, v_write, attends] = &body.nodes[..] else { return None };
        let (Op::Rope(q), Op::Rope(k), Op::Attend(attend)) = (&q_rope.op, &k_rope.op, &attends.op) else { return None };
        let (Op::KvWrite(_), Op::KvWrite(_)) = (&k_write.op, &v_write.op) else { return None };
        let [heads @ .., v, rows, k_cache, v_cache] = &body.inputs[..] else { return None };
        let (turned, from, norms): ([ValueId; 2], [usize; 2], _) = match (norms, heads) {
            ([], [q, k]) => ([*q, *k], [0, 1], None),
            ([n, m], [q, q_weights, k, k_weights]) => {
                let sound = [&n.op, &m.op].iter().all(|op| matches!(op, Op::RmsNorm(_)))
                    && n.ins[..] == [*q, *q_weights]
                    && m.ins[..] == [*k, *k_weights];
                sound.then_some(([n.outs[0], m.outs[0]], [0, 2], Some(([&n.op, &m.op], [1, 3]))))?
            }
            _ => return None,
        };
        let [turned_q, keys, values, out] = [q_rope, k_write, v_write, attends].map(|n| n.outs[0]);
        let sound = q_rope.ins[..] == [turned[0], *rows]
            && k_rope.ins[..] == [turned[1], *rows]
            && k_write.ins[..] == [*k_cache, k_rope.outs[0], *rows]
            && v_write.ins[..] == [*v_cache, *v, *rows]
            && attends.ins[..] == [turned_q, keys, values, *rows]
            && body.outputs[..] == [out, keys, values];
        let last = body.inputs.len();
        let (v, rows, caches) = (last - 4, last - 3, [last - 2, last - 1]);
        sound.then_some(Parts { body, q: from[0], k: from[1], norms, v, rows, caches, ropes: [q, k], attend })
    }

    fn ty(&self, input: usize) -> Type {
        self.body.ty(self.body.inputs[input])
    }

    /// The values of a head of q and k.
    fn dim(&self) -> usize {
        self.ty(self.q).cols / self.attend.heads.max(1)
    }

    /// The words of turned queries.
    fn queries(&self, rows: usize) -> u64 {
        (rows as u64).saturating_mul(self.ty(self.q).cols as u64)
    }

    /// The operands of attention.
    fn operands<'c>(&self, call: &'c Call) -> Result<Operands<'c>, String> {
        let parts = u64::from(call.scratch).saturating_add(self.queries(call.rows() as usize));
        let parts = u32::try_from(parts).map_err(|_| format!("word {parts} can't be addressed"))?;
        let (caches, rows) = (self.caches.map(|i| &call.ins[i]), &call.ins[self.rows]);
        Ok(Operands { q: call.scratch, dim: self.dim(), caches, rows, out: &call.outs[0], parts })
    }
}

/// The scratch of turned queries.
pub(super) fn work(shape: &Shape) -> Work {
    let words = Parts::of(shape.op).map_or(0, |parts| parts.queries(Dim::Rows.at(&shape.bucket)));
    Work { scratch: words.saturating_mul(4), ..Work::WHOLE }
}

/// The scratch of turned queries, then of the parts of a split.
pub(super) fn split_work(shape: &Shape) -> Work {
    let (Some(parts), Some(out)) = (Parts::of(shape.op), shape.outs.first()) else { return Work::WHOLE };
    let split = attend::parts(parts.attend, Dim::Rows.at(&shape.bucket), out).saturating_mul(4);
    Work { scratch: work(shape).scratch.saturating_add(split), ..Work::WHOLE }
}

/// Shapes and orders of nodes.
pub(super) fn refuses(query: &Query, _caps: &Caps) -> Option<String> {
    let (Some(parts), Some(out)) = (Parts::of(query.op), query.outs.first()) else {
        return Some("another order of nodes".to_owned());
    };
    let (dim, caches) = (parts.dim(), parts.caches.map(|cache| parts.ty(cache)));
    if parts.ropes[0] != parts.ropes[1] || parts.ropes[0].head_dim != dim {
        return Some("rotations of queries and keys that differ, or that are not of heads".to_owned());
    }
    if let Some((norms, weights)) = parts.norms
        && (norms[0] != norms[1] || weights.iter().any(|w| parts.ty(*w).cols != dim))
    {
        return Some("norms of queries and keys that differ, or that are not of heads".to_owned());
    }
    let line = caches.iter().map(|cache| cache.cols).fold(dim, usize::max);
    if line > LINE || !caches[0].cols.is_multiple_of(dim.max(1)) {
        return Some(format!("rows of caches of {line} values in heads of {dim}, allowed: {LINE}"));
    }
    attend::unfit(parts.attend, &parts.ty(parts.q), [&caches[0], &caches[1]], out)
}

/// Three dispatches, for few rows.
pub(super) fn split(call: &Call) -> Result<Vec<Dispatch>, String> {
    let parts = Parts::of(call.op).ok_or_else(|| super::other(call))?;
    let rest = attend::split_of(call, parts.attend, &parts.operands(call)?)?;
    Ok([turn_and_write(call, &parts)?].into_iter().chain(rest).collect())
}

/// Two dispatches.
pub(super) fn whole(call: &Call) -> Result<Vec<Dispatch>, String> {
    let parts = Parts::of(call.op).ok_or_else(|| super::other(call))?;
    let rest = attend::attend(call, parts.attend, &parts.operands(call)?, false)?;
    Ok(vec![turn_and_write(call, &parts)?, rest])
}

/// The dispatch before attention, which leaves turned queries in the scratch.
fn turn_and_write(call: &Call, parts: &Parts) -> Result<Dispatch, String> {
    let [q, k, v, rows] = [parts.q, parts.k, parts.v, parts.rows].map(|i| &call.ins[i]);
    let [keys, values] = parts.caches.map(|i| &call.ins[i]);
    let norm = |i: usize| parts.norms.and_then(|(ops, weights)| Norm::of(ops[i], &[&call.ins[weights[i]]]));
    let norms = [norm(0), norm(1)];
    let weights = |norm: &Option<Norm>| norm.as_ref().map_or(Ok([0; 3]), Norm::words);
    let ([w_q, _, eps], [w_k, ..]) = (weights(&norms[0])?, weights(&norms[1])?);
    let [k_lies, v_lies] = [keys, values].map(|cache| lies(&cache.ty, &call.bucket));
    let [dim, q_heads, k_heads, v_heads] = [parts.dim(), parts.attend.heads, k_lies.heads, v_lies.heads].map(word);
    let [k_cols, v_cols, places] = [keys.ty.cols, values.ty.cols, k_lies.slots].map(word);
    let mut parameters = call.parameters(&[rows.at()?, dim?, q.at()?, call.scratch, q_heads?, w_q]);
    parameters.extend([k.at()?, w_k, k_heads?, k_cols?, v.at()?, v_heads?, v_cols?, places?, group(keys)]);
    parameters.extend(turns(parts.ropes[0])?);
    parameters.extend([NONE, eps]);
    let ((_, encode_k), (_, encode_v)) = (writer(keys.ty.dtype)?, writer(values.ty.dtype)?);
    let line = keys.ty.cols.max(values.ty.cols).max(parts.dim());
    let shader = Shader::named("rope_write")
        .file("places", "shared/places")
        .slot("normed", Norm::texts(norms[0].as_ref()).collect::<String>())
        .file("turn", "shared/turn")
        .file("f16", "shared/f16")
        .slot("encode_0", encode_k)
        .slot("encode_1", encode_v.replace("_0", "_1").replace("k[", "v["))
        .constant("LINE", word(line)?);
    let lines = [parts.attend.heads, k_lies.heads, v_lies.heads].into_iter().fold(0, usize::saturating_add);
    let grid = [groups(lines)?, groups(call.rows() as usize)?, 1];
    let dispatch = Dispatch::new(shader, parameters, grid).states(Some(keys.state()?), Some(values.state()?));
    Ok(dispatch.reading(angles(parts.ropes[0])))
}
