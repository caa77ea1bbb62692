//! Queries and keys turned, keys and values written, in one step: what lies between products and attention. Where each head
//! has norms of queries and keys, they come first.

use super::copies::write_row;
use super::decoded::decode_row;
use super::rope::{angles, rotate};
use super::{on, rms_norm};
use crate::isa::Floats;
use crate::memory::View;
use crate::tile::{Places, Tile, step_rows};
use inkstone_tensor::Op;
use inkstone_tensor::ops::{Attend, KvWrite, Rope};
use inkstone_tensor::step::StepError;

pub(super) fn rope_write<I: Floats>(tile: &mut Tile) -> Result<(), StepError> {
    on!(I, body, tile)
}

/// Heads to be turned: where they come from, their norm, and their rotation.
pub(super) struct Heads<'a> {
    pub(super) x: View<'a>,
    /// Epsilon and weights.
    pub(super) norm: Option<(f32, View<'a>)>,
    pub(super) rope: &'a Rope,
}

/// What a region is made of.
pub(super) struct Parts<'a> {
    pub(super) q: Heads<'a>,
    pub(super) k: Heads<'a>,
    pub(super) v: View<'a>,
    pub(super) rows: View<'a>,
    /// Of keys, of values.
    pub(super) writes: [&'a KvWrite; 2],
    /// What reads the turned queries and both caches, in the same region.
    pub(super) attend: Option<&'a Attend>,
}

impl<'a> Parts<'a> {
    /// `None`: another kind of region, or one whose nodes read something else.
    pub(super) fn of(op: &'a Op, ins: &[View<'a>]) -> Option<Parts<'a>> {
        let Op::Region(region) = op else { return None };
        let body = &region.body;
        let (attend, nodes) = match body.nodes.split_last()? {
            (node, nodes) if matches!(node.op, Op::Attend(_)) => (Some(node), nodes),
            _ => (None, &body.nodes[..]),
        };
        let [norms @ .., q_rope, k_rope, k_write, v_write] = nodes else { return None };
        let (Op::Rope(q), Op::Rope(k), Op::KvWrite(keys), Op::KvWrite(values)) =
            (&q_rope.op, &k_rope.op, &k_write.op, &v_write.op)
        else {
            return None;
        };
        let [heads @ .., v, rows, k_cache, v_cache] = &body.inputs[..] else { return None };
        // What ropes read, from which operands, by which norms.
        let (turned, from, epsilons) = match (norms, heads) {
            ([], [q, k]) => ([*q, *k], [0, 1], None),
            ([n, m], [q, q_weights, k, k_weights]) => {
                let (Op::RmsNorm(a), Op::RmsNorm(b)) = (&n.op, &m.op) else { return None };
                let sound = n.ins[..] == [*q, *q_weights] && m.ins[..] == [*k, *k_weights];
                ([n.outs[0], m.outs[0]], [0, 2], sound.then_some(Some([a.eps, b.eps]))?)
            }
            _ => return None,
        };
        let mut results = [q_rope, k_write, v_write].map(|n| n.outs[0]);
        let reads = attend.is_none_or(|n| n.ins[..] == [results[0], results[1], results[2], *rows]);
        results[0] = attend.map_or(results[0], |n| n.outs[0]);
        let sound = q_rope.ins[..] == [turned[0], *rows]
            && k_rope.ins[..] == [turned[1], *rows]
            && k_write.ins[..] == [*k_cache, k_rope.outs[0], *rows]
            && v_write.ins[..] == [*v_cache, *v, *rows]
            && reads
            && body.outputs[..] == results;
        let attend = attend.and_then(|n| if let Op::Attend(op) = &n.op { Some(op) } else { None });
        let heads = |i: usize, rope| {
            let norm = epsilons.map(|e: [f32; 2]| (e[i], ins[from[i] + 1]));
            Heads { x: ins[from[i]], norm, rope }
        };
        let (v, rows) = (ins[ins.len() - 4], ins[ins.len() - 3]);
        sound.then(|| Parts { q: heads(0, q), k: heads(1, k), v, rows, writes: [keys, values], attend })
    }
}

#[inline(always)]
fn body<I: Floats>(isa: I, tile: &mut Tile) -> Result<(), StepError> {
    let Some(parts) = Parts::of(tile.op, tile.ins) else { panic!("no region of rotations and writes: {}", tile.op) };
    let Parts { q, k, v, rows, writes, .. } = parts;
    let [turned, keys, values] = &mut *tile.outs else { panic!("not three results") };
    let (key, floats) =
        tile.scratch.floats(k.x.ty.cols + q.floats(q.x.ty.cols).max(k.floats(k.x.ty.cols))).split_at_mut(k.x.ty.cols);
    for (r, row) in step_rows(&rows).enumerate() {
        let place = |group| Places::of(tile.step, row.seq, group, tile.sizes.slots)?.at(row.position as usize);
        q.turn(isa, q.x.row(r), row.position, floats, turned.row(r));
        k.turn(isa, k.x.row(r), row.position, floats, key);
        write_row(keys, place(writes[0].group)?, key);
        write_row(values, place(writes[1].group)?, v.row(r));
    }
    Ok(())
}

impl Heads<'_> {
    /// Floats of scratch: the table of angles, the weights of the norm, and as many values as are turned at once.
    pub(super) fn floats(&self, values: usize) -> usize {
        2 * self.rope.frequencies.len() + self.norm.map_or(0, |(_, w)| w.ty.cols) + values
    }

    /// Whole heads at a position.
    #[inline(always)]
    pub(super) fn turn<I: Floats>(&self, isa: I, x: &[f32], position: u32, floats: &mut [f32], out: &mut [f32]) {
        let (table, floats) = floats.split_at_mut(2 * self.rope.frequencies.len());
        angles(isa, self.rope, position, table);
        let Some((eps, w)) = self.norm else { return rotate(isa, self.rope, table, x, out) };
        let (weights, floats) = floats.split_at_mut(w.ty.cols);
        let normed = &mut floats[..x.len()];
        decode_row(&w, 0, 0, weights);
        rms_norm::row(isa, x, weights, eps, normed);
        rotate(isa, self.rope, table, normed, out);
    }
}
