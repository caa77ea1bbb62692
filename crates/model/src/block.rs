//! Blocks that architectures share, as functions over the tracer.

use inkstone_graph::{Result, Tracer, Value};
use inkstone_tensor::DType;
use inkstone_tensor::ops::{Attend, Rope};

/// A matrix with its bias, where the file has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dense {
    weight: Value,
    bias: Option<Value>,
}

impl Dense {
    /// The tensors `NAME.weight` [n, k] and, if it is there, `NAME.bias` [n].
    #[track_caller]
    pub fn load(t: &Tracer, name: &str, n: usize, k: usize) -> Result<Dense> {
        let weight = t.weight(&format!("{name}.weight"), n, k)?;
        let bias = format!("{name}.bias");
        let bias = if t.has(&bias) { Some(t.vector(&bias, n)?) } else { None };
        Ok(Dense { weight, bias })
    }

    #[track_caller]
    pub fn apply(&self, t: &Tracer, x: Value) -> Result<Value> {
        t.linear(x, self.weight, self.bias)
    }
}

/// Weights and shapes of an attention layer.
pub(crate) struct Attention {
    /// Queries, keys, values, output.
    pub q: Dense,
    pub k: Dense,
    pub v: Dense,
    pub out: Dense,
    pub rope: Rope,
    pub heads: Attend,
    /// Columns of the key and the value cache.
    pub kv_cols: [usize; 2],
    /// Their formats.
    pub formats: [DType; 2],
}

/// Grouped-query attention with rotary positions (arXiv 2305.13245, 2104.09864) over the layer's caches.
#[track_caller]
pub(crate) fn attention(t: &Tracer, a: &Attention, layer: usize, x: Value, rows: Value) -> Result<Value> {
    let cache = |part: &str, i: usize| t.cache(&format!("blk.{layer}.{part}"), a.formats[i], a.kv_cols[i]);
    let q = t.rope(a.q.apply(t, x)?, rows, &a.rope)?;
    let k = t.rope(a.k.apply(t, x)?, rows, &a.rope)?;
    let k = t.kv_write(cache("k", 0), k, rows, a.heads.group)?;
    let v = t.kv_write(cache("v", 1), a.v.apply(t, x)?, rows, a.heads.group)?;
    let y = t.attend(q, &k, &v, rows, a.heads)?;
    t.keep(k);
    t.keep(v);
    a.out.apply(t, y)
}

/// Weights of a gated feed-forward part.
pub(crate) struct GatedMlp {
    pub gate: Dense,
    pub up: Dense,
    pub down: Dense,
}

/// `down(silu(gate(x)) * up(x))` (Shazeer 2020, arXiv 2002.05202).
#[track_caller]
pub(crate) fn gated_mlp(t: &Tracer, m: &GatedMlp, x: Value) -> Result<Value> {
    let gate = t.silu(m.gate.apply(t, x)?)?;
    let up = m.up.apply(t, x)?;
    m.down.apply(t, t.mul(gate, up)?)
}
