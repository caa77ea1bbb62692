//! Causal attention in blocks of 64 positions with an online softmax in the order of blocks (Milakov and Gimelshein
//! 2018). Blocks begin at absolute positions, so a row gives the same bits in any chunk. Scores are sums in the order of
//! d, outputs in the order of positions, the sum of weights one of 16 lanes that is folded after each block.

use super::decoded::decode_row;
use super::on;
use crate::isa::{Isa, LANES, exp, fold_max, fold_sum};
use crate::memory::{View, ViewMut};
use crate::tile::{Places, Tile, step_rows};
use inkstone_compute::Tiling;
use inkstone_tensor::ops::Attend;
use inkstone_tensor::step::{Row, StepError};
use inkstone_tensor::{Op, Type};
use smallvec::SmallVec;

/// Positions in a block.
const BLOCK: usize = 64;
/// Rows of a tile, which share the decoded blocks.
const ROWS: usize = 16;

/// A tile is some rows and one KV head with its queries.
pub(super) fn tiling(op: &Op, outs: &[Type]) -> Tiling {
    let kv_heads = if let Op::Attend(op) = op { op.kv_heads.max(1) } else { 1 };
    let cols = outs.first().map_or(1, |t| t.cols);
    Tiling { row_block: ROWS, col_block: cols.div_ceil(kv_heads).max(1) }
}

/// Shapes, and what of the scratch is what.
struct Shape<'a> {
    op: &'a Attend,
    k_dim: usize,
    v_dim: usize,
    /// Query heads of a KV head.
    group: usize,
}

/// What a query head of a row has seen so far.
struct Seen<'a> {
    max: &'a mut f32,
    total: &'a mut f32,
    sums: &'a mut [f32],
}

pub(super) fn attend<I: Isa>(tile: &mut Tile) -> Result<(), StepError> {
    on!(I, body, tile)
}

#[inline(always)]
fn body(tile: &mut Tile) -> Result<(), StepError> {
    let Op::Attend(op) = tile.op else { unreachable!("the kernel of attend") };
    let [q, k, v, rows] = [tile.ins[0], tile.ins[1], tile.ins[2], tile.ins[3]];
    let (k_dim, v_dim) = (k.ty.cols / op.kv_heads, v.ty.cols / op.kv_heads);
    let shape = Shape { op, k_dim, v_dim, group: op.heads / op.kv_heads };
    let all: SmallVec<[Row; ROWS]> =
        step_rows(&rows).skip(tile.rows.start - rows.first).take(tile.rows.len()).collect();
    let out = &mut tile.outs[0];
    let kv_heads = out.cols.start / (v_dim * shape.group)..out.cols.end.div_ceil(v_dim * shape.group);
    // Rows of one sequence are neighbours.
    let mut from = 0;
    while from < all.len() {
        let count = all[from..].iter().take_while(|r| r.seq == all[from].seq).count();
        let places = Places::of(tile.step, all[from].seq, op.group, tile.sizes.slots)?;
        let first = tile.rows.start + from;
        for kv_head in kv_heads.clone() {
            let floats = tile.scratch.floats(shape.floats(k.ty.cols, v.ty.cols, count));
            shape.rows(q, [k, v], out, kv_head, first, &all[from..from + count], &places, floats)?;
        }
        from += count;
    }
    Ok(())
}

impl Shape<'_> {
    /// Floats of scratch: keys by d, values by position, a decoded row, and what each head of each row has seen.
    fn floats(&self, k_cols: usize, v_cols: usize, rows: usize) -> usize {
        BLOCK * (self.k_dim + self.v_dim) + k_cols.max(v_cols) + rows * self.group * (self.v_dim + 2)
    }

    /// Rows of one sequence, one KV head.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn rows(
        &self,
        q: View,
        [k, v]: [View; 2],
        out: &mut ViewMut,
        kv_head: usize,
        first: usize,
        rows: &[Row],
        places: &Places,
        floats: &mut [f32],
    ) -> Result<(), StepError> {
        let (keys, floats) = floats.split_at_mut(BLOCK * self.k_dim);
        let (values, floats) = floats.split_at_mut(BLOCK * self.v_dim);
        let (row, floats) = floats.split_at_mut(k.ty.cols.max(v.ty.cols));
        let states = rows.len() * self.group;
        let (maxima, floats) = floats.split_at_mut(states);
        let (totals, sums) = floats.split_at_mut(states);
        maxima.fill(f32::NEG_INFINITY);
        totals.fill(0.0);
        sums.fill(0.0);
        let end = rows.iter().map(|r| r.position as usize + 1).max().unwrap_or(0);
        for begin in (0..end).step_by(BLOCK) {
            let count = BLOCK.min(end - begin);
            keys.fill(0.0);
            for t in 0..count {
                let place = places.at(begin + t)?;
                decode_row(&k, place, 0, &mut row[..k.ty.cols]);
                for (d, x) in row[kv_head * self.k_dim..][..self.k_dim].iter().enumerate() {
                    keys[d * BLOCK + t] = *x;
                }
                decode_row(&v, place, 0, &mut row[..v.ty.cols]);
                values[t * self.v_dim..][..self.v_dim].copy_from_slice(&row[kv_head * self.v_dim..][..self.v_dim]);
            }
            for (i, r) in rows.iter().enumerate() {
                let seen = (r.position as usize + 1).saturating_sub(begin).min(count);
                if seen == 0 {
                    continue;
                }
                for head in 0..self.group {
                    let state = i * self.group + head;
                    let query = &q.row::<f32>(first + i)[(kv_head * self.group + head) * self.k_dim..][..self.k_dim];
                    let seen_so_far = Seen {
                        max: &mut maxima[state],
                        total: &mut totals[state],
                        sums: &mut sums[state * self.v_dim..][..self.v_dim],
                    };
                    block(query, keys, values, seen, self.op.scale as f32, seen_so_far);
                }
            }
        }
        for i in 0..rows.len() {
            let cols = out.cols.start;
            let out = out.row::<f32>(first + i);
            for head in 0..self.group {
                let state = i * self.group + head;
                let out = &mut out[(kv_head * self.group + head) * self.v_dim - cols..][..self.v_dim];
                for (out, sum) in out.iter_mut().zip(&sums[state * self.v_dim..]) {
                    *out = sum / totals[state];
                }
            }
        }
        Ok(())
    }
}

/// A block of `count` positions, added to what a head has seen.
#[inline(always)]
fn block(query: &[f32], keys: &[f32], values: &[f32], count: usize, scale: f32, seen: Seen) {
    let mut scores = [0f32; BLOCK];
    for (q, keys) in query.iter().zip(keys.as_chunks::<BLOCK>().0) {
        for (score, k) in scores.iter_mut().zip(keys) {
            *score = q.mul_add(*k, *score);
        }
    }
    scores.iter_mut().for_each(|s| *s *= scale);
    scores[count..].fill(f32::NEG_INFINITY);
    let mut maxima = [f32::NEG_INFINITY; LANES];
    for scores in scores.as_chunks::<LANES>().0 {
        for (max, s) in maxima.iter_mut().zip(scores) {
            *max = if *s > *max { *s } else { *max };
        }
    }
    let largest = fold_max(maxima);
    let max = if largest > *seen.max { largest } else { *seen.max };
    let before = exp(*seen.max - max);
    let before = if *seen.max == f32::NEG_INFINITY { 0.0 } else { before };
    let mut totals = [0f32; LANES];
    for scores in scores.as_chunks_mut::<LANES>().0 {
        for (total, s) in totals.iter_mut().zip(scores) {
            *s = exp(*s - max);
            *total += *s;
        }
    }
    *seen.total = seen.total.mul_add(before, fold_sum(totals));
    *seen.max = max;
    seen.sums.iter_mut().for_each(|s| *s *= before);
    let dim = seen.sums.len();
    for (weight, values) in scores[..count].iter().zip(values.chunks_exact(dim)) {
        for (sum, v) in seen.sums.iter_mut().zip(values) {
            *sum = weight.mul_add(*v, *sum);
        }
    }
}
