//! Causal attention in blocks of 64 positions with an online softmax in the order of blocks (Milakov and Gimelshein
//! 2018), in segments of 2,048 positions that are merged in their order. Blocks and segments begin at absolute positions,
//! so a row gives the same bits in any chunk. Scores are sums in the order of d, outputs in the order of positions, the
//! sum of weights one of 16 lanes that is folded after each block.

use super::cached::head;
use super::on;
use crate::isa::math::exp;
use crate::isa::{F16x, Floats, LANES};
use crate::memory::{View, ViewMut};
use crate::tile::{Places, Tile, step_rows};
use inkstone_compute::Tiling;
use inkstone_tensor::ops::Attend;
use inkstone_tensor::step::{Row, StepError};
use inkstone_tensor::{Op, Type};
use smallvec::SmallVec;
use std::ops::Range;

/// Positions in a block.
const BLOCK: usize = 64;
/// Vectors of scores of a block.
const VECTORS: usize = BLOCK / LANES;
/// Positions in a segment.
const SEGMENT: usize = 2048;
/// Rows of a tile, which share the decoded blocks.
const ROWS: usize = 16;

/// A tile is some rows and one KV head with its queries.
pub(super) fn tiling(op: &Op, outs: &[Type]) -> Tiling {
    let kv_heads = if let Op::Attend(op) = op { op.kv_heads.max(1) } else { 1 };
    let cols = outs.first().map_or(1, |t| t.cols);
    Tiling { row_block: ROWS, col_block: cols.div_ceil(kv_heads) }
}

/// Heads and their sizes.
struct Shape<'a> {
    op: &'a Attend,
    k_dim: usize,
    v_dim: usize,
    /// Query heads of a KV head.
    group: usize,
}

/// A block of one KV head: keys by d, 64 positions each, and values by position, padded to whole vectors.
struct Block<'a> {
    keys: &'a mut [f32],
    values: &'a mut [f32],
    /// 16 rows of keys, and a row of a cache.
    rows: &'a mut [f32],
    room: &'a mut [f32],
}

/// What a query head of a row has seen: the largest score, the sum of weights, and weighted values.
struct Seen<'a> {
    max: &'a mut f32,
    total: &'a mut f32,
    sums: &'a mut [f32],
}

/// What all heads of all rows have seen.
struct AllSeen<'a> {
    maxima: &'a mut [f32],
    totals: &'a mut [f32],
    sums: &'a mut [f32],
}

pub(super) fn attend<I: Floats>(tile: &mut Tile) -> Result<(), StepError> {
    on!(I, body, tile)
}

#[inline(always)]
fn body<I: Floats>(isa: I, tile: &mut Tile) -> Result<(), StepError> {
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
            let floats = tile.scratch.floats(shape.floats(&k, &v, count));
            shape.rows(isa, q, [k, v], out, kv_head, first, &all[from..from + count], &places, floats)?;
        }
        from += count;
    }
    Ok(())
}

impl Shape<'_> {
    /// Columns of keys in whole vectors.
    fn k_stride(&self) -> usize {
        self.k_dim.next_multiple_of(LANES)
    }

    /// Columns of values in whole vectors.
    fn v_stride(&self) -> usize {
        self.v_dim.next_multiple_of(LANES)
    }

    /// Floats of scratch: a block, and twice what each head of each row has seen.
    fn floats(&self, k: &View, v: &View, rows: usize) -> usize {
        let block = (BLOCK + LANES) * self.k_stride() + BLOCK * self.v_stride() + k.ty.cols.max(v.ty.cols);
        block + 2 * rows * self.group * (self.v_stride() + 2)
    }

    /// Rows of one sequence, one KV head.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn rows<I: Floats>(
        &self,
        isa: I,
        q: View,
        [k, v]: [View; 2],
        out: &mut ViewMut,
        kv_head: usize,
        first: usize,
        rows: &[Row],
        places: &Places,
        floats: &mut [f32],
    ) -> Result<(), StepError> {
        let states = rows.len() * self.group;
        let (keys, floats) = floats.split_at_mut(BLOCK * self.k_stride());
        let (values, floats) = floats.split_at_mut(BLOCK * self.v_stride());
        let (key_rows, floats) = floats.split_at_mut(LANES * self.k_stride());
        let (room, floats) = floats.split_at_mut(k.ty.cols.max(v.ty.cols));
        let (seen, floats) = floats.split_at_mut(states * (self.v_stride() + 2));
        let mut seen = AllSeen::split(seen, states);
        let mut segment = AllSeen::split(floats, states);
        let mut block = Block { keys, values, rows: key_rows, room };
        // Columns beyond a head stay zero.
        block.values.fill(0.0);
        block.rows.fill(0.0);
        let end = rows.iter().map(|r| r.position as usize + 1).max().unwrap_or(0);
        for from in (0..end).step_by(SEGMENT) {
            segment.clear();
            for begin in (from..end.min(from + SEGMENT)).step_by(BLOCK) {
                let positions = begin..end.min(begin + BLOCK);
                self.load(isa, &mut block, [&k, &v], kv_head, positions.clone(), places)?;
                for (i, r) in rows.iter().enumerate() {
                    let count = (r.position as usize + 1).saturating_sub(begin).min(positions.len());
                    let queries = &q.row::<f32>(first + i)[kv_head * self.group * self.k_dim..];
                    for (head, query) in queries.chunks_exact(self.k_dim).take(self.group).enumerate() {
                        if count > 0 {
                            let seen = segment.of(i * self.group + head);
                            add(isa, query, &block, count, self.op.scale as f32, seen);
                        }
                    }
                }
            }
            for (i, _) in rows.iter().enumerate().filter(|(_, r)| r.position as usize >= from) {
                for state in i * self.group..(i + 1) * self.group {
                    merge(isa, from == 0, seen.of(state), segment.of(state));
                }
            }
        }
        for i in 0..rows.len() {
            let cols = out.cols.start;
            let out = &mut out.row::<f32>(first + i)[kv_head * self.group * self.v_dim - cols..];
            for (head, out) in out.chunks_exact_mut(self.v_dim).take(self.group).enumerate() {
                let seen = seen.of(i * self.group + head);
                let total = isa.splat_float(*seen.total);
                for i in 0..self.v_dim.div_ceil(LANES) {
                    isa.put(out, i, isa.quotient(isa.take(seen.sums, i, 0.0), total));
                }
            }
        }
        Ok(())
    }

    /// Reads a block; what lies beyond its positions is left over.
    #[inline(always)]
    fn load<I: Floats>(
        &self,
        isa: I,
        block: &mut Block,
        [k, v]: [&View; 2],
        kv_head: usize,
        positions: Range<usize>,
        places: &Places,
    ) -> Result<(), StepError> {
        let (k_cols, v_cols) = (kv_head * self.k_dim.., kv_head * self.v_dim..);
        let (k_cols, v_cols) = (k_cols.start..k_cols.start + self.k_dim, v_cols.start..v_cols.start + self.v_dim);
        for (t, position) in positions.clone().enumerate() {
            let place = places.at(position)?;
            let row = &mut block.rows[t % LANES * self.k_stride()..][..self.k_dim];
            head(isa, k, place, k_cols.clone(), block.room, row);
            let value = &mut block.values[t * self.v_stride()..][..self.v_dim];
            head(isa, v, place, v_cols.clone(), block.room, value);
            if t % LANES == LANES - 1 || t + 1 == positions.len() {
                turn(isa, block.rows, self.k_stride(), t / LANES, block.keys);
            }
        }
        Ok(())
    }
}

/// 16 rows of keys, turned into vector `at` of the positions of each d.
#[inline(always)]
fn turn<I: Floats>(isa: I, rows: &[f32], stride: usize, at: usize, keys: &mut [f32]) {
    for d in 0..stride / LANES {
        let mut square = [isa.splat_float(0.0); LANES];
        for (i, lanes) in square.iter_mut().enumerate() {
            *lanes = isa.take(&rows[i * stride..], d, 0.0);
        }
        let square = isa.transpose(square);
        for (i, lanes) in square.into_iter().enumerate() {
            isa.put(keys, (d * LANES + i) * VECTORS + at, lanes);
        }
    }
}

impl<'a> AllSeen<'a> {
    fn split(floats: &'a mut [f32], states: usize) -> AllSeen<'a> {
        let (maxima, floats) = floats.split_at_mut(states);
        let (totals, sums) = floats.split_at_mut(states);
        AllSeen { maxima, totals, sums }
    }

    /// Nothing, so far.
    fn clear(&mut self) {
        self.maxima.fill(f32::NEG_INFINITY);
        self.totals.fill(0.0);
        self.sums.fill(0.0);
    }

    fn of(&mut self, state: usize) -> Seen<'_> {
        let dim = self.sums.len() / self.maxima.len();
        let sums = &mut self.sums[state * dim..][..dim];
        Seen { max: &mut self.maxima[state], total: &mut self.totals[state], sums }
    }
}

/// The first `count` positions of a block, added to what a head has seen.
#[inline(always)]
fn add<I: Floats>(isa: I, query: &[f32], block: &Block, count: usize, scale: f32, seen: Seen) {
    let mut scores = [isa.splat_float(0.0); VECTORS];
    for (q, keys) in query.iter().zip(block.keys.as_chunks::<BLOCK>().0) {
        let q = isa.splat_float(*q);
        for (i, score) in scores.iter_mut().enumerate() {
            *score = isa.fma(q, isa.take(keys, i, 0.0), *score);
        }
    }
    let infinite = isa.splat_float(f32::NEG_INFINITY);
    let mut largest = infinite;
    for (i, score) in scores.iter_mut().enumerate() {
        let indices: [f32; LANES] = std::array::from_fn(|lane| (i * LANES + lane) as f32);
        let scaled = isa.product(*score, isa.splat_float(scale));
        *score = isa.below(isa.floats(&indices), isa.splat_float(count as f32), scaled, infinite);
        largest = isa.larger(*score, largest);
    }
    let largest = isa.fold_max(largest);
    let max = if largest > *seen.max { largest } else { *seen.max };
    let before = share(isa, *seen.max, max);
    let mut weights = [0f32; BLOCK];
    let mut totals = isa.splat_float(0.0);
    for (i, score) in scores.into_iter().enumerate() {
        let weight = exp(isa, isa.difference(score, isa.splat_float(max)));
        totals = isa.sum(totals, weight);
        isa.put(&mut weights, i, weight);
    }
    *seen.total = seen.total.mul_add(before, isa.fold_sum(totals));
    *seen.max = max;
    accumulate(isa, &weights[..count], block.values, before, seen.sums);
}

/// sums before + the weighted values, in the order of positions; four vectors of columns at a time.
#[inline(always)]
fn accumulate<I: Floats>(isa: I, weights: &[f32], values: &[f32], before: f32, sums: &mut [f32]) {
    const SIDE: usize = 4;
    let (values, sums) = (values.as_chunks::<LANES>().0, sums.as_chunks_mut::<LANES>().0);
    let stride = sums.len();
    let (sides, rest) = sums.as_chunks_mut::<SIDE>();
    for (at, sums) in sides.iter_mut().enumerate() {
        columns(isa, weights, values, stride, SIDE * at, before, sums);
    }
    for (at, sums) in rest.iter_mut().enumerate() {
        columns(isa, weights, values, stride, stride / SIDE * SIDE + at, before, std::array::from_mut(sums));
    }
}

/// `N` vectors of columns from `at` on, of rows of `stride` vectors.
#[inline(always)]
fn columns<I: Floats, const N: usize>(
    isa: I,
    weights: &[f32],
    values: &[F16x],
    stride: usize,
    at: usize,
    before: f32,
    sums: &mut [F16x; N],
) {
    let before = isa.splat_float(before);
    let mut lanes = [before; N];
    for i in 0..N {
        lanes[i] = isa.product(isa.floats(&sums[i]), before);
    }
    for (weight, values) in weights.iter().zip(values.chunks_exact(stride)) {
        let (weight, Some(values)) = (isa.splat_float(*weight), values[at..].first_chunk::<N>()) else { return };
        for i in 0..N {
            lanes[i] = isa.fma(weight, isa.floats(&values[i]), lanes[i]);
        }
    }
    for i in 0..N {
        sums[i] = isa.lanes(lanes[i]);
    }
}

/// What weights by a largest score are worth by another, which is not below it; nothing if there were none.
#[inline(always)]
fn share<I: Floats>(isa: I, max: f32, by: f32) -> f32 {
    let power = isa.lanes(exp(isa, isa.splat_float(max - by)))[0];
    if max == f32::NEG_INFINITY { 0.0 } else { power }
}

/// A segment, added to those before. The first is taken as it is.
#[inline(always)]
fn merge<I: Floats>(isa: I, first: bool, seen: Seen, segment: Seen) {
    if first {
        (*seen.max, *seen.total) = (*segment.max, *segment.total);
        seen.sums.copy_from_slice(segment.sums);
        return;
    }
    let max = if *segment.max > *seen.max { *segment.max } else { *seen.max };
    let (before, after) = (share(isa, *seen.max, max), share(isa, *segment.max, max));
    *seen.total = seen.total.mul_add(before, *segment.total * after);
    *seen.max = max;
    let (before, after) = (isa.splat_float(before), isa.splat_float(after));
    for i in 0..seen.sums.len() / LANES {
        let added = isa.product(isa.take(segment.sums, i, 0.0), after);
        isa.put(seen.sums, i, isa.fma(isa.take(seen.sums, i, 0.0), before, added));
    }
}
