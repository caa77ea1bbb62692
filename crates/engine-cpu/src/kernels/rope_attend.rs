//! Attention with the preceding ops: a tile has all rows and one KV head with its queries. It rotates them, writes the
//! rows of the head in both caches and reads them again. No tile uses the rows of another head, so no tile waits for
//! another.

use super::attend::{Head, Queries};
use super::copies::write_heads;
use super::decoded::decode_row;
use super::rope::{angles, rotate};
use super::{on, rms_norm};
use crate::isa::{Floats, LANES};
use crate::memory::View;
use crate::tile::{Places, Tile, step_rows};
use inkstone_compute::{Shape, Tiling, Work};
use inkstone_tensor::ops::{Attend, Rope};
use inkstone_tensor::step::{Row, StepError};
use inkstone_tensor::{Dim, Op};
use smallvec::SmallVec;

/// A KV head a tile; all of them where a cache has them in one row.
pub(super) fn work(shape: &Shape) -> Work {
    let Op::Region(region) = shape.op else { return Work::WHOLE };
    let attend = region.body.nodes.iter().find_map(|n| if let Op::Attend(op) = &n.op { Some(op) } else { None });
    let (Some(attend), [x, caches @ ..]) = (attend, shape.outs) else { return Work::WHOLE };
    let heads = attend.kv_heads.max(1);
    if caches.iter().all(|cache| matches!(cache.rows, Dim::Slots { heads: n, .. } if n == heads)) {
        Work::of(Tiling { col_block: x.cols.div_ceil(heads), ..Tiling::WHOLE })
    } else {
        Work::WHOLE
    }
}

pub(super) fn rope_attend<I: Floats>(tile: &mut Tile) -> Result<(), StepError> {
    on!(I, body, tile)
}

/// Heads to be turned: where they come from, their norm, and their rotation.
struct Heads<'a> {
    x: View<'a>,
    /// Epsilon and weights.
    norm: Option<(f32, View<'a>)>,
    rope: &'a Rope,
}

/// The parts of a region.
struct Parts<'a> {
    q: Heads<'a>,
    k: Heads<'a>,
    v: View<'a>,
    rows: View<'a>,
    /// The attention, which reads the rotated queries and both caches.
    attend: &'a Attend,
}

impl<'a> Parts<'a> {
    /// `None`: another kind of region, or one whose nodes read something else.
    fn of(op: &'a Op, ins: &[View<'a>]) -> Option<Parts<'a>> {
        let Op::Region(region) = op else { return None };
        let body = &region.body;
        let [norms @ .., q_rope, k_rope, k_write, v_write, attends] = &body.nodes[..] else { return None };
        let (Op::Rope(q), Op::Rope(k)) = (&q_rope.op, &k_rope.op) else { return None };
        let (Op::KvWrite(_), Op::KvWrite(_)) = (&k_write.op, &v_write.op) else { return None };
        let Op::Attend(attend) = &attends.op else { return None };
        let [heads @ .., v, rows, k_cache, v_cache] = &body.inputs[..] else { return None };
        // The values that the rotations read, their operands, and their norms.
        let (turned, from, epsilons) = match (norms, heads) {
            ([], [q, k]) => ([*q, *k], [0, 1], None),
            ([n, m], [q, q_weights, k, k_weights]) => {
                let (Op::RmsNorm(a), Op::RmsNorm(b)) = (&n.op, &m.op) else { return None };
                let sound = n.ins[..] == [*q, *q_weights] && m.ins[..] == [*k, *k_weights];
                ([n.outs[0], m.outs[0]], [0, 2], sound.then_some(Some([a.eps, b.eps]))?)
            }
            _ => return None,
        };
        let [turned_q, keys_out, values_out, out] = [q_rope, k_write, v_write, attends].map(|n| n.outs[0]);
        let sound = q_rope.ins[..] == [turned[0], *rows]
            && k_rope.ins[..] == [turned[1], *rows]
            && k_write.ins[..] == [*k_cache, k_rope.outs[0], *rows]
            && v_write.ins[..] == [*v_cache, *v, *rows]
            && attends.ins[..] == [turned_q, keys_out, values_out, *rows]
            && body.outputs[..] == [out, keys_out, values_out];
        let heads = |i: usize, rope| {
            let norm = epsilons.map(|e: [f32; 2]| (e[i], ins[from[i] + 1]));
            Heads { x: ins[from[i]], norm, rope }
        };
        let (v, rows) = (ins[ins.len() - 4], ins[ins.len() - 3]);
        sound.then(|| Parts { q: heads(0, q), k: heads(1, k), v, rows, attend })
    }
}

#[inline(always)]
fn body<I: Floats>(isa: I, tile: &mut Tile) -> Result<(), StepError> {
    let Some(Parts { q, k, v, rows, attend: op }) = Parts::of(tile.op, tile.ins) else {
        panic!("no region of rotations, writes and attention: {}", tile.op)
    };
    let [out, keys, values] = &mut *tile.outs else { panic!("not three results") };
    let (k_dim, v_dim, group) = (k.x.ty.cols / op.kv_heads, v.ty.cols / op.kv_heads, op.heads / op.kv_heads);
    let by_heads = [&q, &k].iter().all(|x| x.rope.head_dim == k_dim && x.norm.is_none_or(|(_, w)| w.ty.cols == k_dim));
    assert!(by_heads, "norms and rotations of heads of {k_dim} values: {}", tile.op);
    let all: SmallVec<[Row; 8]> = step_rows(&rows).collect();
    let kv_heads = out.cols.start / (v_dim * group)..out.cols.end.div_ceil(v_dim * group);
    let cols = |width: usize| kv_heads.start * width..kv_heads.end * width;
    // Queries of all rows, keys of one, room for norms and rotations; each begins at a line of the cache.
    let (stride, k_cols) = (cols(group * k_dim).len(), cols(k_dim));
    let sizes = [all.len() * stride, k_cols.len(), q.floats(stride).max(k.floats(k_cols.len()))];
    let [queries, key, room] = sizes.map(|n| n.next_multiple_of(LANES));
    let (turned, floats) = tile.scratch.floats(queries + key + room).split_at_mut(queries);
    let (key, room) = floats.split_at_mut(key);
    let key = &mut key[..k_cols.len()];
    for ((r, row), turned) in all.iter().enumerate().zip(turned.chunks_exact_mut(stride)) {
        let place = Places::of(tile.step, row.seq, &keys.ty, &tile.sizes)?.at(row.position as usize)?;
        q.turn(isa, &q.x.row(r)[cols(group * k_dim)], row.position, room, turned);
        k.turn(isa, &k.x.row(r)[k_cols.clone()], row.position, room, key);
        write_heads(keys, place, key);
        write_heads(values, place, &v.row(r)[cols(v_dim)]);
    }
    // Rows of one sequence are neighbours.
    let mut first = 0;
    while first < all.len() {
        let count = all[first..].iter().take_while(|r| r.seq == all[first].seq).count();
        let places = Places::of(tile.step, all[first].seq, &keys.ty, &tile.sizes)?;
        for (at, kv_head) in kv_heads.clone().enumerate() {
            let caches = [&*keys, &*values].map(|cache| cache.head(op.kv_heads, kv_head));
            let head = Head::new(op, caches, [k_dim, v_dim]);
            let (turned, floats) = tile.scratch.floats(queries + head.floats(count)).split_at_mut(queries);
            let x = &turned[first * stride + at * group * k_dim..];
            let seen = head.attend(isa, &Queries { x, stride, dim: k_dim }, &all[first..][..count], &places, floats)?;
            for i in 0..count {
                let out = &mut out.row::<f32>(first + i)[at * group * v_dim..][..group * v_dim];
                for (query, out) in out.chunks_exact_mut(v_dim).enumerate() {
                    seen.put(isa, i * group + query, out);
                }
            }
        }
        first += count;
    }
    Ok(())
}

impl Heads<'_> {
    /// Floats of scratch: the table of angles, the weights of the norm, and as many values as are turned at once.
    fn floats(&self, values: usize) -> usize {
        2 * self.rope.frequencies.len() + self.norm.map_or(0, |(_, w)| w.ty.cols) + values
    }

    /// Whole heads at a position.
    #[inline(always)]
    fn turn<I: Floats>(&self, isa: I, x: &[f32], position: u32, floats: &mut [f32], out: &mut [f32]) {
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
