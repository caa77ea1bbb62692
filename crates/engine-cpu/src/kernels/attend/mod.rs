//! Causal attention in blocks of 64 positions with an online softmax in the order of blocks, in segments of 2,048
//! positions that are merged in their order. Blocks and segments begin at absolute positions, so a row gives the same
//! bits in any chunk. Scores are sums in the order of d, outputs in the order of positions, the sum of weights one of
//! 16 lanes that is folded after each block. Queries of one KV head go through a block together, a few at a time in
//! registers.

mod block;
mod seen;
mod tiles;

use super::cached::{BlockRows, rows};
use super::on;
use crate::isa::{self, Body, Cache, F16x, Floats, LANES};
use crate::memory::{HeadRows, Run};
use crate::tile::{Places, Tile, step_rows};
use block::{Block, Format};
use inkstone_compute::{Shape, Tiling, Work};
use inkstone_tensor::Op;
use inkstone_tensor::ops::Attend;
use inkstone_tensor::step::{Row, StepError};
use seen::Seen;
use smallvec::SmallVec;
use tiles::{Next, Rows, Values, most};

/// Positions in a block.
pub(super) const BLOCK: usize = 64;
/// Vectors of scores of a block.
const VECTORS: usize = BLOCK / LANES;
/// Positions in a segment.
const SEGMENT: usize = 2048;
/// Rows of a tile, which share the decoded blocks.
const ROWS: usize = 16;

/// A tile is some rows and one KV head with its queries.
pub(super) fn work(shape: &Shape) -> Work {
    let kv_heads = if let Op::Attend(op) = shape.op { op.kv_heads.max(1) } else { 1 };
    let cols = shape.outs.first().map_or(1, |t| t.cols);
    Work::of(Tiling { row_block: ROWS, col_block: cols.div_ceil(kv_heads) })
}

pub(super) fn attend<I: Floats>(tile: &mut Tile) -> Result<(), StepError> {
    on!(I, body, tile)
}

#[inline(always)]
fn body<I: Floats>(isa: I, tile: &mut Tile) -> Result<(), StepError> {
    let Op::Attend(op) = tile.op else { unreachable!("the kernel of attend") };
    let [q, k, v, rows] = [tile.ins[0], tile.ins[1], tile.ins[2], tile.ins[3]];
    let all: SmallVec<[Row; ROWS]> =
        step_rows(&rows).skip(tile.rows.start - rows.first).take(tile.rows.len()).collect();
    let out = &mut tile.outs[0];
    let (k_dim, v_dim) = (q.ty.cols / op.heads, out.ty.cols / op.heads);
    let group = op.heads / op.kv_heads;
    let kv_heads = out.cols.start / (v_dim * group)..out.cols.end.div_ceil(v_dim * group);
    // Rows of one sequence are neighbours.
    let mut from = 0;
    while from < all.len() {
        let count = all[from..].iter().take_while(|r| r.seq == all[from].seq).count();
        let places = Places::of(tile.step, all[from].seq, &k.ty, &tile.sizes)?;
        let first = tile.rows.start + from;
        for kv_head in kv_heads.clone() {
            let cols = |dim: usize| kv_head * dim..(kv_head + 1) * dim;
            let head = Head::new(op, [k, v].map(|cache| cache.head(op.kv_heads, kv_head)), [k_dim, v_dim]);
            let x = &q.all::<f32>()[(first - q.first) * q.ty.cols + cols(k_dim * group).start..];
            let queries = Queries { x, stride: q.ty.cols, dim: k_dim };
            let floats = tile.scratch.floats(head.floats(count));
            let seen = head.attend(isa, &queries, &all[from..from + count], &places, floats)?;
            for i in 0..count {
                let cols = cols(v_dim * group).start - out.cols.start;
                let out = &mut out.row::<f32>(first + i)[cols..][..v_dim * group];
                for (head, out) in out.chunks_exact_mut(v_dim).enumerate() {
                    seen.put(isa, i * group + head, out);
                }
            }
        }
        from += count;
    }
    Ok(())
}

/// The queries of one KV head of neighbouring rows.
pub(super) struct Queries<'a> {
    /// From the first query on.
    pub(super) x: &'a [f32],
    /// From a row to the next.
    pub(super) stride: usize,
    /// Values of a query.
    pub(super) dim: usize,
}

impl<'a> Queries<'a> {
    /// A query of a row.
    fn get(&self, row: usize, query: usize) -> &'a [f32] {
        &self.x[row * self.stride + query * self.dim..][..self.dim]
    }
}

/// One KV head of a layer.
pub(super) struct Head<'a> {
    /// Keys, values.
    caches: [HeadRows<'a>; 2],
    formats: [Format; 2],
    /// Query heads.
    group: usize,
    scale: f32,
}

impl<'a> Head<'a> {
    /// Of these keys and values, of so many values each.
    pub(super) fn new(op: &Attend, caches: [HeadRows<'a>; 2], dims: [usize; 2]) -> Head<'a> {
        let formats = [Format::of(&caches[0], dims[0]), Format::of(&caches[1], dims[1])];
        Head { caches, formats, group: op.heads / op.kv_heads, scale: op.scale as f32 }
    }

    /// Floats of scratch for so many rows.
    pub(super) fn floats(&self, rows: usize) -> usize {
        let queries = rows * self.group;
        self.block_floats() + 2 * Seen::floats(queries, self.vectors())
    }

    fn block_floats(&self) -> usize {
        let room = self.caches[0].values().max(self.caches[1].values());
        Block::floats(self.formats, room.next_multiple_of(LANES))
    }

    /// Of values.
    fn vectors(&self) -> usize {
        self.formats[1].padded() / LANES
    }

    /// Computes the attention of the queries of rows of one sequence. `floats` must have [`Head::floats`] values. A
    /// separate function, which several kernels share.
    #[inline(always)]
    pub(super) fn attend<'f, I: Floats>(
        &self,
        isa: I,
        queries: &Queries,
        rows: &[Row],
        places: &Places,
        floats: &'f mut [f32],
    ) -> Result<Seen<'f>, StepError> {
        isa.run(OfRows { isa, head: self, queries, rows, places, floats })
    }

    #[inline(always)]
    fn attend_rows<'f, I: Floats>(
        &self,
        isa: I,
        queries: &Queries,
        rows: &[Row],
        places: &Places,
        floats: &'f mut [f32],
    ) -> Result<Seen<'f>, StepError> {
        let count = rows.len() * self.group;
        let (block, floats) = floats.split_at_mut(self.block_floats());
        let (seen, floats) = floats.split_at_mut(Seen::floats(count, self.vectors()));
        let (mut seen, mut segment) = (Seen::split(seen, count), Seen::split(floats, count));
        let mut block = Block::split(block, self.formats, count);
        let caches = [&self.caches[0], &self.caches[1]];
        let end = rows.iter().map(|r| r.position as usize + 1).max().unwrap_or(0);
        let positions = |begin: usize| begin..end.min(begin + BLOCK);
        // The rows of a block and of the next block, in turn.
        let mut found = [BlockRows::none(), BlockRows::none()];
        found[0].find(caches, places, positions(0))?;
        let into = isa::far().keys(rows.len());
        for runs in [found[0].keys(), found[0].values()] {
            ask(isa, runs, into);
        }
        for from in (0..end).step_by(SEGMENT) {
            segment.clear();
            for begin in (from..end.min(from + SEGMENT)).step_by(BLOCK) {
                let at = begin / BLOCK % 2;
                found[1 - at].find(caches, places, positions(begin + BLOCK))?;
                // Contiguous rows are prefetched while tiles compute.
                for (cache, runs) in self.caches.iter().zip([found[1 - at].keys(), found[1 - at].values()]) {
                    if cache.is_apart() {
                        ask(isa, runs, into);
                    }
                }
                block.load_keys(isa, self.formats[0], found[at].keys());
                block.load_values(isa, self.formats[1], found[at].values());
                let sight = Sight { rows, begin, found: &found[at], following: &found[1 - at], into };
                self.see(isa, &block, queries, &sight, &mut segment);
            }
            for (i, _) in rows.iter().enumerate().filter(|(_, r)| r.position as usize >= from) {
                for query in i * self.group..(i + 1) * self.group {
                    seen.merge(isa, &segment, query, from == 0);
                }
            }
        }
        Ok(seen)
    }

    /// A block: tiles of neighbouring queries that see any of it.
    #[inline(always)]
    fn see<I: Floats>(&self, isa: I, block: &Block, queries: &Queries, sight: &Sight, seen: &mut Seen) {
        let values = block.values(self.formats[1], sight.found.values());
        let call = Call { head: self, block, queries, sight, values };
        let all = sight.rows.len();
        let (mut row, mut is_first) = (0, true);
        while row < all {
            let run = (row..all).take_while(|row| sight.count(*row) > 0).count();
            let (mut first, end) = (row * self.group, (row + run) * self.group);
            row += run.max(1);
            while first < end {
                let left = end - first;
                let count = left.div_ceil(left.div_ceil(most::<I>()));
                let next = if is_first { sight.next(&self.caches) } else { [Next::NONE; 2] };
                macro_rules! tile {
                    ($($n:literal)*) => {
                        match count {
                            $($n if const { $n <= most::<I>() } => {
                                isa.run(TileOf::<I, $n> { isa, call: &call, first, next, seen });
                            })*
                            count => unreachable!("{count} of {} queries at most", most::<I>()),
                        }
                    };
                }
                tile!(1 2 3 4 5 6);
                first += count;
                is_first = false;
            }
        }
    }
}

/// See [`Head::attend`].
struct OfRows<'c, 'a, 'f, I> {
    isa: I,
    head: &'c Head<'a>,
    queries: &'c Queries<'c>,
    rows: &'c [Row],
    places: &'c Places<'c>,
    floats: &'f mut [f32],
}

impl<'f, I: Floats> Body for OfRows<'_, '_, 'f, I> {
    type Output = Result<Seen<'f>, StepError>;

    #[inline(always)]
    fn call(self) -> Result<Seen<'f>, StepError> {
        self.head.attend_rows(self.isa, self.queries, self.rows, self.places, self.floats)
    }
}

/// Asks for all rows at once.
#[inline(always)]
fn ask<I: Floats>(isa: I, runs: &[Run], into: Cache) {
    for row in rows(runs) {
        isa.prefetch_all(row, into);
    }
}

/// A block of positions, and who sees how much of it.
struct Sight<'c, 'a> {
    rows: &'c [Row],
    /// Its first position.
    begin: usize,
    found: &'c BlockRows<'a>,
    /// Of the block that follows, and where it comes.
    following: &'c BlockRows<'a>,
    into: Cache,
}

impl Sight<'_, '_> {
    /// How many of its positions a row sees.
    fn count(&self, row: usize) -> usize {
        (self.rows[row].position as usize + 1).saturating_sub(self.begin).min(BLOCK)
    }

    /// The contiguous keys and values, to be prefetched while tiles compute.
    fn next(&self, caches: &[HeadRows; 2]) -> [Next<'_>; 2] {
        let of = |cache: &HeadRows, runs| Next { runs: if cache.is_apart() { &[] } else { runs }, into: self.into };
        [of(&caches[0], self.following.keys()), of(&caches[1], self.following.values())]
    }
}

/// The shared inputs of tiles of queries in a block.
struct Call<'c, 'a> {
    head: &'c Head<'a>,
    block: &'c Block<'c>,
    queries: &'c Queries<'c>,
    sight: &'c Sight<'c, 'a>,
    values: Rows<'c>,
}

/// A tile of `Q` queries. Compiled for itself, not into what calls it.
struct TileOf<'c, 'a, 's, I, const Q: usize> {
    isa: I,
    call: &'c Call<'c, 'a>,
    /// The first query.
    first: usize,
    /// Keys and values of the next block, to be asked for.
    next: [Next<'c>; 2],
    seen: &'c mut Seen<'s>,
}

impl<I: Floats, const Q: usize> Body for TileOf<'_, '_, '_, I, Q> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let TileOf { isa, call, first, next, seen } = self;
        let Call { head, block, queries, sight, values } = *call;
        let (mut x, mut counts): ([&[f32]; Q], [usize; Q]) = ([&[]; Q], [0; Q]);
        let (mut row, mut query) = (first / head.group, first % head.group);
        for q in 0..Q {
            (x[q], counts[q]) = (queries.get(row, query), sight.count(row));
            query += 1;
            if query == head.group {
                (row, query) = (row + 1, 0);
            }
        }
        let mut weights = [[[0.0; LANES]; VECTORS]; Q];
        let [keys, next] = next;
        block.scores(isa, x, queries.dim, keys, &mut weights);
        let before = seen.weigh(isa, first, &mut weights, counts, head.scale);
        let weights = weights.as_flattened().as_flattened();
        // First the positions that all of them see, then the positions that only some see.
        let vectors = head.vectors();
        let sums: &mut [F16x] = &mut seen.sums[first * vectors..][..Q * vectors];
        let all = counts.iter().copied().min().unwrap_or(0);
        let mut of: [&[f32]; Q] = [&[]; Q];
        for q in 0..Q {
            of[q] = &weights[q * BLOCK..][..BLOCK];
        }
        let format = head.formats[1];
        block.add(isa, format, Values { rows: values.part(0..all), weights: of, before, sums, next });
        for q in 0..Q {
            if counts[q] > all {
                let (rows, weights) = (values.part(all..counts[q]), &of[q][all..]);
                let sums = &mut seen.sums[(first + q) * vectors..][..vectors];
                isa.run(Rest { isa, block, format, rows, weights, sums });
            }
        }
    }
}

/// The positions that only one query of a tile sees.
struct Rest<'c, I> {
    isa: I,
    block: &'c Block<'c>,
    format: Format,
    rows: Rows<'c>,
    weights: &'c [f32],
    sums: &'c mut [F16x],
}

impl<I: Floats> Body for Rest<'_, I> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Rest { isa, block, format, rows, weights, sums } = self;
        block.add(isa, format, Values { rows, weights: [weights], before: [1.0], sums, next: Next::NONE });
    }
}
