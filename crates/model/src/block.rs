//! Blocks that architectures share, as functions over the tracer.

use crate::{Config, KvFormats};
use inkstone_graph::{Result, Tracer, Value};
use inkstone_tensor::ops::Attend;

/// Whether a matrix has a bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bias {
    /// A bias is used if the file has one.
    Any,
    /// A missing bias is an error.
    Needed,
}

/// A layer of a model, with functions for its parts. Weights are given by their names in the file.
#[derive(Clone, Copy)]
pub(crate) struct Layer<'a, 'w> {
    pub t: &'a Tracer<'w>,
    pub c: &'a Config,
    pub index: usize,
}

impl Layer<'_, '_> {
    fn name(&self, name: &str) -> String {
        format!("blk.{}.{name}", self.index)
    }

    /// `x` times the matrix `NAME.weight` of `n` rows, plus `NAME.bias`.
    #[track_caller]
    pub fn dense(&self, name: &str, n: usize, bias: Bias, x: Value) -> Result<Value> {
        let weight = self.t.weight(&self.name(&format!("{name}.weight")), n, x.ty().cols)?;
        let vector = self.name(&format!("{name}.bias"));
        let bias = if bias == Bias::Needed || self.t.has(&vector) { Some(self.t.vector(&vector, n)?) } else { None };
        self.t.linear(x, weight, bias)
    }

    /// The RMS norm `NAME.weight` of rows, or of parts of rows with `n` values.
    #[track_caller]
    pub fn rms_norm(&self, name: &str, n: usize, x: Value) -> Result<Value> {
        self.t.rms_norm(x, self.t.vector(&self.name(&format!("{name}.weight")), n)?, self.c.eps)
    }

    /// The layer norm `NAME.weight`, `NAME.bias`.
    #[track_caller]
    pub fn layer_norm(&self, name: &str, x: Value) -> Result<Value> {
        layer_norm(self.t, self.c, &self.name(name), x)
    }

    /// Queries, keys and values, each from a separate matrix.
    #[track_caller]
    pub fn qkv(&self, bias: Bias, x: Value) -> Result<[Value; 3]> {
        let [q, k, v] = qkv_cols(self.c);
        let part = |name, n| self.dense(name, n, bias, x);
        Ok([part("attn_q", q)?, part("attn_k", k)?, part("attn_v", v)?])
    }

    /// Grouped-query attention (arXiv 2305.13245) over the caches of the layer, followed by the output matrix.
    #[track_caller]
    pub fn attention(&self, [q, k, v]: [Value; 3], rows: Value, kv: KvFormats, bias: Bias) -> Result<Value> {
        let Layer { t, c, .. } = *self;
        let (group, window) = (c.group(self.index), c.window(self.index));
        let attend = Attend { heads: c.heads, kv_heads: c.kv_heads, scale: c.scale, window };
        let cache = |name, dtype, dim| t.cache(&self.name(name), group, dtype, c.kv_heads, dim);
        let k = t.kv_write(cache("k", kv.keys, c.head_dim), k, rows)?;
        let v = t.kv_write(cache("v", kv.values, c.value_dim), v, rows)?;
        let y = t.attend(q, &k, &v, rows, attend)?;
        t.keep(k);
        t.keep(v);
        self.dense("attn_output", c.width, bias, y)
    }

    /// `down(activation(gate(x)) * up(x))` (Shazeer 2020, arXiv 2002.05202).
    #[track_caller]
    pub fn gated_mlp(&self, activation: impl FnOnce(Value) -> Result<Value>, x: Value) -> Result<Value> {
        let gate = activation(self.dense("ffn_gate", self.c.ffn, Bias::Any, x)?)?;
        let up = self.dense("ffn_up", self.c.ffn, Bias::Any, x)?;
        self.dense("ffn_down", self.c.width, Bias::Any, self.t.mul(gate, up)?)
    }
}

/// Columns of queries, keys and values.
pub(crate) fn qkv_cols(c: &Config) -> [usize; 3] {
    [c.heads * c.head_dim, c.kv_heads * c.head_dim, c.kv_heads * c.value_dim]
}

/// The RMS norm before the head.
#[track_caller]
pub(crate) fn output_rms_norm(t: &Tracer, c: &Config, x: Value) -> Result<Value> {
    t.rms_norm(x, t.vector("output_norm.weight", c.width)?, c.eps)
}

/// The layer norm `NAME.weight`, `NAME.bias`.
#[track_caller]
pub(crate) fn layer_norm(t: &Tracer, c: &Config, name: &str, x: Value) -> Result<Value> {
    let vector = |part: &str| t.vector(&format!("{name}.{part}"), c.width);
    t.layer_norm(x, vector("weight")?, vector("bias")?, c.eps)
}
