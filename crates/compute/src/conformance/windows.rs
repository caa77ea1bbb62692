//! Attention with windows, compared with a plain loop that shares no code with the definition. Sizes are around the ends of
//! blocks and segments, and pages are in random order. A page that no row of a step sees has been given back, or holds NaN,
//! as do all hidden places. The bits of a row are the same in a chunk and for itself, and those of a row from which a window
//! hides nothing are the bits of attention without a window.

use super::plan::{How, PlanBuilder};
use super::rig::{Definition, MadeWeights, Rig};
use super::scenes::{Composer, first_carry};
use super::values::{Random, difference};
use super::{CaseResult, Outcome, Stop, bucket, candidates, tolerance};
use crate::engine::Engine;
use crate::kernel::{Kernel, Numerics};
use crate::plan::{Port, Region};
use inkstone_tensor::cache::Cache;
use inkstone_tensor::ops::{Attend, BeginStep, Window};
use inkstone_tensor::step::{LogitWish, NONE, ROWS, SeqStep, StepBuffer, StepView, carry};
use inkstone_tensor::{Array, DType, Dim, Op, Sizes, Slots, Type};
use std::sync::Arc;

const SIZES: [usize; 10] = [1, 2, 63, 64, 65, 66, 2047, 2048, 2049, 9000];
const FIRSTS: [usize; 4] = [0, 1, 4, 64];
/// Tokens per page.
const PAGES: [usize; 5] = [16, 32, 64, 128, 256];
/// Dtypes of caches.
const DTYPES: [DType; 3] = [DType::F32, DType::F16, DType::Q8_0];
/// Lengths of the sequence after the chunk: two for each window, in turn.
const ENDS: [usize; 6] = [70, 2060, 131, 2200, 25, 2113];
/// Rows of a chunk: more than a tile has, and few.
const CHUNKS: [usize; 2] = [20, 5];
const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const DIM: usize = 32;
const X: Type = Type::f32(Dim::Rows, HEADS * DIM);

/// All windows, in a fixed order.
pub(super) fn all() -> impl Iterator<Item = Window> {
    SIZES.into_iter().flat_map(|size| FIRSTS.map(|first| Window { size, first }))
}

/// The result of the window with this number in the order, for all kernels.
pub(super) fn run(engine: &dyn Engine, (i, window): (usize, Window)) -> CaseResult {
    let (page, dtype) = (PAGES[i % PAGES.len()], DTYPES[i % DTYPES.len()]);
    let Window { size, first } = window;
    let case = format!("a window of {size} and the first {first}, caches of {dtype} in pages of {page}");
    let (seed, mut kernels) = (Random::seed(&case), Vec::new());
    let mut random = Random::new(seed);
    let looked = [0, 1].into_iter().try_for_each(|j| {
        let end = ENDS[(2 * i + j) % ENDS.len()];
        Text::new(window, page, dtype, end, &mut random).look(engine, &mut kernels, &mut random)
    });
    let outcome = looked.err().map_or(Outcome::Passed, Stop::outcome);
    CaseResult { case, kernels: kernels.join(", "), seed, host: 0, outcome }
}

pub(super) fn op(window: Option<Window>) -> Op {
    Attend { heads: HEADS, kv_heads: KV_HEADS, scale: SCALE, window }.into()
}

/// A sequence with keys, values and queries at all its positions.
struct Text {
    window: Window,
    page: usize,
    cache: Type,
    end: usize,
    /// The page of each position, in random order.
    table: Vec<u32>,
    /// Places of a head.
    slots: usize,
    caches: [Array; 2],
    /// The query of each of the last rows.
    queries: Array,
    /// What the plain loop gives for them.
    wanted: Array,
}

impl Text {
    fn new(window: Window, page: usize, dtype: DType, end: usize, random: &mut Random) -> Text {
        let pages = end.div_ceil(page) + 3;
        let (cache, slots) = (Type::cache(0, dtype, KV_HEADS, DIM), pages * page);
        let sizes = Sizes { rows: CHUNKS[0], logit_rows: 0, slots: Slots::one_group(slots) };
        let table = random.permutation(pages)[..end.div_ceil(page)].to_vec();
        let caches = [0; 2].map(|_| random.array(&cache, &sizes));
        let queries = random.array(&X, &sizes);
        let wanted = queries.clone();
        let mut text = Text { window, page, cache, end, table, slots, caches, queries, wanted };
        text.wanted = text.plain();
        text
    }

    /// Whether a row sees a position.
    fn sees(&self, row: usize, position: usize) -> bool {
        position <= row && (position < self.window.first || row - position < self.window.size)
    }

    /// The row of a cache with a head of a position.
    fn row(&self, head: usize, position: usize) -> usize {
        let place = self.table[position / self.page] as usize * self.page + position % self.page;
        Cache { heads: self.cache.rows.heads(), slots: self.slots }.row(head, place)
    }

    /// The values of all heads at all positions, one after the other.
    fn decoded(&self, cache: &Array) -> Vec<f32> {
        let (heads, cols) = (self.cache.rows.heads(), self.cache.cols);
        let mut values = vec![0.0; self.end * heads * cols];
        for (i, values) in values.chunks_exact_mut(cols).enumerate() {
            cache.decode_row(self.row(i % heads, i / heads), values);
        }
        values
    }

    /// Attention of the last rows, one position after the other.
    fn plain(&self) -> Array {
        let [keys, values] = self.caches.each_ref().map(|cache| self.decoded(cache));
        Array::from_rows(CHUNKS[0], X.cols, |r, out| {
            let row = self.end - CHUNKS[0] + r;
            for (head, (query, out)) in self.queries.row(r).chunks(DIM).zip(out.chunks_mut(DIM)).enumerate() {
                let at = |position: usize| (position * KV_HEADS + head / (HEADS / KV_HEADS)) * DIM;
                let score = |position: usize| {
                    let key = &keys[at(position)..][..DIM];
                    query.iter().zip(key).map(|(q, k)| f64::from(*q) * f64::from(*k)).sum::<f64>() * SCALE
                };
                let seen = (0..self.end).filter(|position| self.sees(row, *position));
                let scores: Vec<(usize, f64)> = seen.map(|position| (position, score(position))).collect();
                let largest = scores.iter().fold(f64::MIN, |most, (_, score)| most.max(*score));
                let (mut sums, mut total) = ([0.0; DIM], 0.0);
                for (position, score) in scores {
                    let weight = (score - largest).exp();
                    total += weight;
                    let value = &values[at(position)..][..DIM];
                    sums.iter_mut().zip(value).for_each(|(sum, v)| *sum += weight * f64::from(*v));
                }
                out.iter_mut().zip(sums).for_each(|(o, sum)| *o = (sum / total) as f32);
            }
        })
    }

    /// Asks all kernels, for chunks and for single rows.
    fn look(&self, engine: &dyn Engine, names: &mut Vec<String>, random: &mut Random) -> Result<(), Stop> {
        // The results of the largest chunk, by arithmetic.
        let mut firsts: Vec<(Numerics, Array)> = Vec::new();
        for count in CHUNKS {
            let caps = engine.caps();
            let Some(rows) = bucket(&caps.rows, count) else { continue };
            let (found, refusals) =
                candidates(engine, &op(Some(self.window)), &[X, self.cache, self.cache, ROWS], &[], rows);
            if found.is_empty() {
                return Err(Stop::Skipped(refusals));
            }
            for (kernel, _) in found {
                if !names.iter().any(|name| name == kernel.name) {
                    names.push(kernel.name.to_owned());
                }
                let results = self.ask(engine, kernel, rows, count, random).map_err(|stop| match stop {
                    Stop::Failed(fault) => {
                        Stop::Failed(format!("{}, {count} rows up to {}: {fault}", kernel.name, self.end))
                    }
                    other => other,
                })?;
                match firsts.iter().find(|(numerics, _)| *numerics == kernel.numerics) {
                    None => firsts.push((kernel.numerics, results)),
                    Some((_, first)) => same(&last(first, count), &results, "a kernel of the same arithmetic")?,
                }
            }
        }
        Ok(())
    }

    /// The results of a kernel for the last rows.
    fn ask(
        &self,
        engine: &dyn Engine,
        kernel: &Kernel,
        rows: usize,
        count: usize,
        random: &mut Random,
    ) -> Result<Array, Stop> {
        let mut rig = self.rig(engine, kernel, rows, Some(self.window))?;
        let from = self.end - count;
        let found = self.results(&mut rig, from..self.end, random.below(2) == 0)?;
        let allowed = tolerance(kernel.numerics).max(1e-6);
        if let Some(fault) = difference(&last(&self.wanted, count), &found, allowed) {
            return Err(Stop::Failed(fault));
        }
        for row in [from, self.end - 1 - random.below(count), self.end - 1] {
            let single = self.results(&mut rig, row..row + 1, random.below(2) == 0)?;
            let whole = Array::from_rows(1, X.cols, |_, out| out.copy_from_slice(found.row(row - from)));
            same(&whole, &single, &format!("row {row} for itself"))?;
        }
        let whole = |row: &usize| (0..=*row).all(|position| self.sees(*row, position));
        let whole: Vec<usize> = (from..self.end).filter(whole).collect();
        if !whole.is_empty() {
            let plain = self.results(&mut self.rig(engine, kernel, rows, None)?, from..self.end, false)?;
            let row = |of: &Array, row: usize| Array::from_rows(1, X.cols, |_, out| out.copy_from_slice(of.row(row)));
            whole.into_iter().try_for_each(|r| {
                same(&row(&plain, r - from), &row(&found, r - from), &format!("row {r} without a window"))
            })?;
        }
        // A page that some row sees can't have been given back.
        let seen = (0..self.end).filter(|p| (from..self.end).any(|row| self.sees(row, *p))).collect::<Vec<usize>>();
        let mut table = self.table.clone();
        table[seen[random.below(seen.len())] / self.page] = NONE;
        rig.write(Region::State(0), &first_carry(from)?)?;
        match rig.submit(&self.words(&table, count)) {
            Err(error) if error.to_string().contains("page") => Ok(found),
            Err(error) => Err(Stop::Failed(format!("a visible page that was given back: {error}"))),
            Ok(()) => Err(Stop::Failed("a visible page that was given back is taken".to_owned())),
        }
    }

    /// A plan that attends from queries in a port, at the lengths that the carry has.
    fn rig(&self, engine: &dyn Engine, kernel: &Kernel, rows: usize, window: Option<Window>) -> Result<Rig, Stop> {
        let bucket = Sizes { rows, logit_rows: 0, slots: Slots::one_group(self.slots) };
        let (weights, definition) = (MadeWeights::default(), Definition::default());
        let plan = PlanBuilder::new("windows", bucket);
        let mut c = Composer { engine, plan, weights, definition, bucket, tolerance: 0.0, kernels: &mut Vec::new() };
        let carry = c.plan.state("carry", carry::CARRY);
        let [keys, values] = ["keys", "values"].map(|name| c.plan.state(name, self.cache));
        let [queries, out] = [Port::HIDDEN, Port::LOGITS].map(|port| c.plan.port(port, X));
        let positions = c.step(BeginStep, &[carry], &[])?;
        let (op, ins) = (op(window), [queries, keys, values, positions]);
        let how = How::by(kernel, &op, &ins.map(|p| p.ty), bucket, engine.caps())?;
        c.plan.step(how, op, &ins, &[out])?;
        Ok(Rig::new(engine, &Arc::new(c.plan.finish()), &c.weights)?)
    }

    /// The results of some of the last rows in one step. Hidden places hold NaN; if `gone`, their pages were given back.
    fn results(&self, rig: &mut Rig, rows: std::ops::Range<usize>, gone: bool) -> Result<Array, Stop> {
        let windowed =
            rig.executable.plan().steps.iter().any(|s| matches!(&s.op, Op::Attend(op) if op.window.is_some()));
        let (mut table, mut caches) = (self.table.clone(), self.caches.clone());
        let hidden = |position: usize| windowed && !rows.clone().any(|row| self.sees(row, position));
        for position in (0..self.end).filter(|position| hidden(*position)) {
            for head in 0..self.cache.rows.heads() {
                let nan = vec![f32::NAN; self.cache.cols];
                caches.iter_mut().for_each(|cache| cache.encode_row(self.row(head, position), &nan));
            }
        }
        for (index, page) in table.iter_mut().enumerate().filter(|_| gone) {
            if (index * self.page..(index + 1) * self.page).all(|p| p >= rows.end || hidden(p)) {
                *page = NONE;
            }
        }
        rig.write(Region::State(0), &first_carry(rows.start)?)?;
        for (id, cache) in caches.iter().enumerate() {
            rig.write(Region::State(id as u32 + 1), cache)?;
        }
        let first = rows.start - (self.end - CHUNKS[0]);
        let queries = Array::from_rows(rows.len(), X.cols, |r, out| out.copy_from_slice(self.queries.row(first + r)));
        rig.write(Region::Port(Port::HIDDEN), &queries)?;
        let words = self.words(&table, rows.len());
        rig.submit(&words)?;
        Ok(rig.read(Region::Port(Port::LOGITS), &X, &StepView::new(&words)?.sizes(Slots::one_group(self.slots)))?)
    }

    /// A step of this number of rows.
    fn words(&self, table: &[u32], rows: usize) -> Vec<u32> {
        let mut step = StepBuffer::with_capacity(self.page, rows, table.len(), 0);
        let (tokens, tables) = (vec![0; rows], [table]);
        step.push(&SeqStep { slot: 0, tokens: &tokens, tables: &tables, logits: LogitWish::None, sampler: None });
        step.encode(0, 0).to_vec()
    }
}

const SCALE: f64 = 0.2;

/// The last rows.
fn last(all: &Array, count: usize) -> Array {
    Array::from_rows(count, all.cols(), |r, out| out.copy_from_slice(all.row(all.rows() - count + r)))
}

fn same(wanted: &Array, found: &Array, what: &str) -> Result<(), Stop> {
    let fault = difference(wanted, found, 0.0);
    fault.map_or(Ok(()), |fault| Err(Stop::Failed(format!("other bits than those of {what}: {fault}"))))
}
