use super::{dot, one};
use crate::array::{collect, zeros};
use crate::cache::Cache;
use crate::math;
use crate::op::{Arrays, Cost, Mismatch, OpDef, Operands, Types};
use crate::step::{GROUPS, ROWS, Row, StepView, rows};
use crate::{Array, Dim, Sizes, Slots, Type, Visible};

/// `(q, k, v, rows) -> x`: causal attention (Vaswani et al. 2017) of each row over its own position and earlier positions of
/// its sequence, read from the caches that `kv_write` returned. Query head h reads KV head h / (heads / kv_heads).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attend {
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; a divisor of `heads`.
    pub kv_heads: usize,
    /// The factor of scores, usually 1 / sqrt(head_dim).
    pub scale: f64,
    /// The positions that a row sees; all of them from 0 to its own if this is `None`. Hidden positions need no page.
    pub window: Option<Window>,
}

/// A sliding window (Beltagy et al. 2020, arXiv 2004.05150), perhaps with the first tokens (Xiao et al. 2023, arXiv 2309.17453).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Window {
    /// A row sees itself and the `size - 1` rows before it; at least 1.
    pub size: usize,
    /// It also sees the first tokens of its sequence, as many as this.
    pub first: usize,
}

impl Window {
    /// A window that hides nothing.
    pub const ALL: Window = Window { size: usize::MAX, first: 0 };

    /// What a row at a position sees.
    pub fn visible(self, position: usize) -> Visible {
        let end = position.saturating_add(1);
        Visible::new(self.first, end.saturating_sub(self.size), end)
    }

    /// The most positions that a row sees.
    pub fn most(self) -> usize {
        self.size.saturating_add(self.first)
    }
}

impl Attend {
    /// What a row at a position sees.
    pub fn visible(&self, position: usize) -> Visible {
        self.window.unwrap_or(Window::ALL).visible(position)
    }
}

impl OpDef for Attend {
    fn name(&self) -> &'static str {
        "attend"
    }

    fn attributes(&self) -> String {
        let Attend { heads, kv_heads, scale, window } = self;
        let window = match window {
            None => String::new(),
            Some(Window { size, first: 0 }) => format!(", window {size}"),
            Some(Window { size, first }) => format!(", window {size} and the first {first}"),
        };
        format!("heads {heads}/{kv_heads}, scale {scale}{window}")
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(4, 4)?;
        let (heads, kv_heads) = (self.heads, self.kv_heads);
        let split = heads > 0 && kv_heads > 0 && heads % kv_heads == 0;
        let q =
            ins.some(0, &format!("f32[Rows, {heads} heads]"), |q| q.rows == Dim::Rows && split && q.cols % heads == 0)?;
        ins.f32(0)?;
        let head_dim = q.cols / heads;
        let is_cache = |t: &Type, group| group < GROUPS && t.state && t.dtype.info().decode.is_some();
        // Values of a KV head in a cache, each of whose rows has one or several of them.
        let dim = |t: &Type| match t.rows {
            Dim::Slots { heads: n, group } if n > 0 && kv_heads % n == 0 && is_cache(t, group) => {
                let heads = kv_heads / n;
                t.cols.is_multiple_of(heads).then_some(t.cols / heads)
            }
            _ => None,
        };
        let keys = format!("a cache of {kv_heads} heads of {head_dim} keys");
        let group = ins.some(1, &keys, |k| dim(k) == Some(head_dim))?.rows.group();
        let values = format!("a cache of {kv_heads} heads in layer group {group}");
        let v = ins.some(2, &values, |v| dim(v).is_some() && v.rows.group() == group)?;
        ins.is(3, ROWS)?;
        if self.window.is_some_and(|w| w.size == 0) {
            return Err(ins.mismatch(0, "a window of at least 1 position"));
        }
        Ok(Types::from_slice(&[Type::f32(q.rows, dim(&v).unwrap_or_default().saturating_mul(heads))]))
    }

    fn eval(&self, step: &StepView, ins: Arrays) -> Arrays {
        let [q, k, v] = [&ins[0], &ins[1], &ins[2]];
        let rows: Vec<Row> = rows(ins[3].all()).collect();
        let k_dim = q.cols() / self.heads;
        let apart = self.kv_heads * k_dim / k.cols();
        let slots = k.rows() / apart;
        let [k, v] = [k, v].map(|cache| (cache, Cache { heads: cache.rows() / slots.max(1), slots }));
        let width = |(cache, lie): (&Array, Cache)| lie.heads * cache.cols();
        let v_dim = width(v) / self.kv_heads;
        // Keys and values of one sequence, decoded once for all of its rows.
        let (mut of, mut keys, mut values) = (None, Vec::new(), Vec::new());
        one(Array::from_rows(q.rows(), v_dim * self.heads, |r, out| {
            let row = rows[r];
            if of != Some(row.seq) {
                of = Some(row.seq);
                let seen = self.seen(&rows, row.seq);
                [keys, values] = [k, v].map(|(cache, lie)| decoded(step, cache, lie, row.seq, &seen));
            }
            let visible = self.visible(row.position as usize).ranges();
            let positions = || visible.iter().cloned().flatten();
            let n = positions().count();
            let mut sums = zeros::<f64>(v_dim);
            for head in 0..self.heads {
                let kv_head = head / (self.heads / self.kv_heads);
                let query = &q.row(r)[head * k_dim..][..k_dim];
                let key = |t: usize| &keys[t * width(k) + kv_head * k_dim..][..k_dim];
                let scores = collect(n, positions().map(|t| dot(query, key(t)) * self.scale));
                let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let weights = collect(n, scores.iter().map(|s| math::exp(s - max)));
                let total: f64 = weights.iter().sum();
                sums.fill(0.0);
                for (t, weight) in positions().zip(&weights) {
                    let value = &values[t * width(v) + kv_head * v_dim..][..v_dim];
                    sums.iter_mut().zip(value).for_each(|(sum, v)| *sum += weight * f64::from(*v));
                }
                let out = &mut out[head * v_dim..][..v_dim];
                out.iter_mut().zip(&sums).for_each(|(o, sum)| *o = (sum / total) as f32);
            }
        }))
    }

    /// Every row reads all places of its sequence that it sees, at most; how many those are only the step knows.
    fn cost(&self, ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        let (rows, slots) = (ins[0].rows.at(sizes), sizes.slots.of(ins[1].rows.group()));
        let of = |places: usize| Sizes { slots: Slots::every_group(places.min(slots)), ..*sizes };
        let most = self.window.unwrap_or(Window::ALL).most();
        let (all, one) = (of(most.saturating_mul(rows)), of(most));
        let caches = ins[1].bytes(&all).saturating_add(ins[2].bytes(&all));
        let macs = ins[1].elements(&one).saturating_add(ins[2].elements(&one));
        let heads = (self.heads / self.kv_heads) as u64;
        Cost {
            bytes: caches.saturating_add(ins[0].bytes(sizes)).saturating_add(outs[0].bytes(sizes)),
            flops: macs.saturating_mul(2 * heads).saturating_mul(rows as u64),
        }
    }
}

impl Attend {
    /// Of each position of a sequence, whether one of its rows sees it.
    fn seen(&self, rows: &[Row], seq: u32) -> Vec<bool> {
        let visible = rows.iter().filter(|row| row.seq == seq).map(|row| self.visible(row.position as usize));
        let mut seen = zeros::<bool>(visible.clone().map(|v| v.end).max().unwrap_or(0));
        visible.flat_map(Visible::ranges).for_each(|range| seen[range].fill(true));
        seen
    }
}

/// The heads of each position that is seen, one after the other; zeros for the other positions.
fn decoded(step: &StepView, cache: &Array, lie: Cache, seq: u32, seen: &[bool]) -> Vec<f32> {
    let mut values = zeros::<f32>(seen.len().saturating_mul(lie.heads * cache.cols()));
    for (i, row) in values.chunks_exact_mut(cache.cols()).enumerate() {
        let (t, head) = (i / lie.heads, i % lie.heads);
        if seen[t] {
            cache.decode_row(lie.row(head, step.place(seq as usize, cache.group(), t)), row);
        }
    }
    values
}
