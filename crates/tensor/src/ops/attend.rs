use super::{dot, one};
use crate::array::{collect, zeros};
use crate::cache::Cache;
use crate::math;
use crate::op::{Arrays, Cost, Mismatch, OpDef, Operands, Types};
use crate::step::{GROUPS, ROWS, Row, StepView, rows};
use crate::{Array, Dim, Sizes, Type};

/// `(q, k, v, rows) -> x`: causal attention (Vaswani et al. 2017) of each row over the positions 0 to its own of its
/// sequence, read from the caches that `kv_write` returned. Query head h reads KV head h / (heads / kv_heads).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attend {
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; a divisor of `heads`.
    pub kv_heads: usize,
    /// The factor of scores, usually 1 / sqrt(head_dim).
    pub scale: f64,
}

impl OpDef for Attend {
    fn name(&self) -> &'static str {
        "attend"
    }

    fn attributes(&self) -> String {
        let Attend { heads, kv_heads, scale } = self;
        format!("heads {heads}/{kv_heads}, scale {scale}")
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
                let reach =
                    rows.iter().filter(|o| o.seq == row.seq).map(|o| o.position as usize + 1).max().unwrap_or(0);
                [keys, values] = [k, v].map(|(cache, lie)| self.decoded(step, cache, lie, row.seq, reach));
            }
            let n = row.position as usize + 1;
            let mut sums = zeros::<f64>(v_dim);
            for head in 0..self.heads {
                let kv_head = head / (self.heads / self.kv_heads);
                let query = &q.row(r)[head * k_dim..][..k_dim];
                let key = |t: usize| &keys[t * width(k) + kv_head * k_dim..][..k_dim];
                let scores = collect(n, (0..n).map(|t| dot(query, key(t)) * self.scale));
                let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let weights = collect(n, scores.iter().map(|s| math::exp(s - max)));
                let total: f64 = weights.iter().sum();
                sums.fill(0.0);
                for (t, weight) in weights.iter().enumerate() {
                    let value = &values[t * width(v) + kv_head * v_dim..][..v_dim];
                    sums.iter_mut().zip(value).for_each(|(sum, v)| *sum += weight * f64::from(*v));
                }
                let out = &mut out[head * v_dim..][..v_dim];
                out.iter_mut().zip(&sums).for_each(|(o, sum)| *o = (sum / total) as f32);
            }
        }))
    }

    /// Every row reads all places of its sequence, at most; how many those are only the step knows.
    fn cost(&self, ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        let caches = ins[1].bytes(sizes).saturating_add(ins[2].bytes(sizes));
        let macs = ins[1].elements(sizes).saturating_add(ins[2].elements(sizes));
        let heads = (self.heads / self.kv_heads) as u64;
        let rows = ins[0].rows.at(sizes) as u64;
        Cost {
            bytes: caches.saturating_add(ins[0].bytes(sizes)).saturating_add(outs[0].bytes(sizes)),
            flops: macs.saturating_mul(2 * heads).saturating_mul(rows),
        }
    }
}

impl Attend {
    /// The heads of each position, one after the other.
    fn decoded(&self, step: &StepView, cache: &Array, lie: Cache, seq: u32, reach: usize) -> Vec<f32> {
        let mut values = zeros::<f32>(reach.saturating_mul(lie.heads * cache.cols()));
        for (i, row) in values.chunks_exact_mut(cache.cols()).enumerate() {
            let (t, head) = (i / lie.heads, i % lie.heads);
            cache.decode_row(lie.row(head, step.place(seq as usize, cache.group(), t)), row);
        }
        values
    }
}
