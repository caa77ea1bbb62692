//! Causal attention, perhaps with a window, in blocks of 64 positions with an online softmax in the order of blocks, in
//! segments of 2,048 positions that are merged in their order. Blocks and segments begin at absolute positions, and a
//! row skips those in which it sees nothing, so it gives the same bits in any chunk. Scores are sums in the order of d,
//! outputs in the order of positions, the sum of weights one of 16 lanes that is folded after each block. Queries of
//! one KV head go through a block together, a few at a time in registers.

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
use inkstone_tensor::ops::Attend;
use inkstone_tensor::step::{Row, StepError};
use inkstone_tensor::{Op, Visible};
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
    op: &'a Attend,
}

impl<'a> Head<'a> {
    /// Of these keys and values, of so many values each.
    pub(super) fn new(op: &'a Attend, caches: [HeadRows<'a>; 2], dims: [usize; 2]) -> Head<'a> {
        let formats = [Format::of(&caches[0], dims[0]), Format::of(&caches[1], dims[1])];
        Head { caches, formats, group: op.heads / op.kv_heads, op }
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
        let sees = |row: &Row| self.op.visible(row.position as usize);
        // Of the block with the first position that some row sees from `position` on: its beginning, and what is seen of it.
        let block_from = |position: usize| {
            let begin = rows.iter().filter_map(|row| sees(row).next(position)).min()? / BLOCK * BLOCK;
            let visible = rows.iter().map(|row| sees(row).cut(begin, BLOCK));
            Some((begin, visible.fold(Visible::NONE, Visible::join)))
        };
        // The rows of a block and of the next block, in turn.
        let mut found = [BlockRows::none(), BlockRows::none()];
        let mut at = 0;
        let mut next = block_from(0);
        if let Some((begin, visible)) = next {
            found[at].find(caches, places, begin, visible)?;
        }
        let into = isa::far().keys(rows.len());
        for runs in [found[at].keys(), found[at].values()] {
            ask(isa, runs, into);
        }
        while let Some((begin, _)) = next {
            let from = begin / SEGMENT * SEGMENT;
            segment.clear();
            while let Some((begin, _)) = next.filter(|(begin, _)| *begin < from + SEGMENT) {
                next = block_from(begin + BLOCK);
                let (following, visible) = next.unwrap_or((begin, Visible::NONE));
                found[1 - at].find(caches, places, following, visible)?;
                // Contiguous rows are prefetched while tiles compute.
                for (cache, runs) in self.caches.iter().zip([found[1 - at].keys(), found[1 - at].values()]) {
                    if cache.is_apart() {
                        ask(isa, runs, into);
                    }
                }
                block.load_keys(isa, self.formats[0], found[at].keys());
                block.load_values(isa, self.formats[1], found[at].values());
                let sight = Sight { rows, op: self.op, begin, found: &found[at], following: &found[1 - at], into };
                self.see(isa, &block, queries, &sight, &mut segment);
                at = 1 - at;
            }
            for (i, visible) in rows.iter().map(sees).enumerate().filter(|(_, v)| !v.cut(from, SEGMENT).is_empty()) {
                for query in i * self.group..(i + 1) * self.group {
                    seen.merge(isa, &segment, query, visible.begin() >= from);
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
            let run = (row..all).take_while(|row| !sight.visible(*row).is_empty()).count();
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
    op: &'c Attend,
    /// Its first position.
    begin: usize,
    found: &'c BlockRows<'a>,
    /// Of the block that follows, and where it comes.
    following: &'c BlockRows<'a>,
    into: Cache,
}

impl Sight<'_, '_> {
    /// What a row sees of it.
    #[inline(always)]
    fn visible(&self, row: usize) -> Visible {
        self.op.visible(self.rows[row].position as usize).cut(self.begin, BLOCK)
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
        let (mut x, mut visible): ([&[f32]; Q], [Visible; Q]) = ([&[]; Q], [Visible::NONE; Q]);
        let (mut row, mut query) = (first / head.group, first % head.group);
        for q in 0..Q {
            (x[q], visible[q]) = (queries.get(row, query), sight.visible(row));
            query += 1;
            if query == head.group {
                (row, query) = (row + 1, 0);
            }
        }
        let mut weights = [[[0.0; LANES]; VECTORS]; Q];
        let [keys, next] = next;
        block.scores(isa, x, queries.dim, keys, &mut weights);
        let mut before = seen.weigh(isa, first, &mut weights, visible, head.op.scale as f32);
        let weights = weights.as_flattened().as_flattened();
        let vectors = head.vectors();
        let sums: &mut [F16x] = &mut seen.sums[first * vectors..][..Q * vectors];
        let mut of: [&[f32]; Q] = [&[]; Q];
        let (mut from, mut end) = (0, BLOCK);
        for q in 0..Q {
            of[q] = &weights[q * BLOCK..][..BLOCK];
            (from, end) = (from.max(visible[q].from), end.min(visible[q].end));
        }
        end = end.max(from);
        // In ascending order: what only some of them see, then what all of them see, then what only some see.
        let format = head.formats[1];
        for q in 0..Q {
            let Visible { first, from: own, end: last } = visible[q];
            for part in [0..first, own..last.min(from)] {
                if !part.is_empty() {
                    let (rows, weights) = (values.part(part.clone()), &of[q][part.start..]);
                    let sums = &mut sums[q * vectors..][..vectors];
                    isa.run(Rest { isa, block, format, rows, weights, before: before[q], sums });
                    before[q] = 1.0;
                }
            }
        }
        let mut shared: [&[f32]; Q] = [&[]; Q];
        for q in 0..Q {
            shared[q] = &of[q][from..];
        }
        block.add(isa, format, Values { rows: values.part(from..end), weights: shared, before, sums, next });
        for q in 0..Q {
            let last = visible[q].end;
            if last > end {
                let (rows, weights) = (values.part(end..last), &of[q][end..]);
                let sums = &mut seen.sums[(first + q) * vectors..][..vectors];
                isa.run(Rest { isa, block, format, rows, weights, before: 1.0, sums });
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
    /// What the sums are worth now.
    before: f32,
    sums: &'c mut [F16x],
}

impl<I: Floats> Body for Rest<'_, I> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Rest { isa, block, format, rows, weights, before, sums } = self;
        block.add(isa, format, Values { rows, weights: [weights], before: [before], sums, next: Next::NONE });
    }
}
