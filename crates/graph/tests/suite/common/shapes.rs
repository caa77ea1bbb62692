//! The layers of the architectures, as far as fusion can tell them apart: bodies of any number of layers with made-up
//! weights.

use super::*;
use inkstone_tensor::ops::{Columns, Window};

/// A kind of layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Llama,
    /// With biases of queries, keys and values.
    Qwen2,
    /// With norms of the heads of queries and keys.
    Qwen3,
    /// Layer norms, one matrix for queries, keys and values, a plain MLP, biases everywhere.
    Gpt2,
    /// As the third one, with a window, norms also behind each part and a gate of GELU.
    Gemma3,
}

pub const SHAPES: [Shape; 5] = [Shape::Llama, Shape::Qwen2, Shape::Qwen3, Shape::Gpt2, Shape::Gemma3];

const Q: usize = HEADS * HEAD_DIM;
const KV: usize = KV_HEADS * HEAD_DIM;

impl Shape {
    /// Its matrices by name, with rows and columns.
    fn matrices(self) -> &'static [(&'static str, usize, usize)] {
        match self {
            Shape::Gpt2 => &[
                ("attn_qkv", Q + 2 * KV, WIDTH),
                ("attn_output", WIDTH, Q),
                ("ffn_up", FFN, WIDTH),
                ("ffn_down", WIDTH, FFN),
            ],
            _ => &[
                ("attn_q", Q, WIDTH),
                ("attn_k", KV, WIDTH),
                ("attn_v", KV, WIDTH),
                ("attn_output", WIDTH, Q),
                ("ffn_gate", FFN, WIDTH),
                ("ffn_up", FFN, WIDTH),
                ("ffn_down", WIDTH, FFN),
            ],
        }
    }

    fn has_bias(self, matrix: &str) -> bool {
        self == Shape::Gpt2 || self == Shape::Qwen2 && ["attn_q", "attn_k", "attn_v"].contains(&matrix)
    }

    /// The weights of a body of so many layers.
    pub fn weights(self, dtype: DType, layers: usize) -> Tensors {
        let mut w = Tensors::default();
        w.add("token_embd.weight", dtype, &[WIDTH, VOCAB]);
        for layer in 0..layers {
            let mut vector = |name: &str, n| w.add(&format!("blk.{layer}.{name}"), DType::F32, &[n]);
            for norm in ["attn_norm", "ffn_norm", "post_attention_norm", "post_ffw_norm"] {
                vector(&format!("{norm}.weight"), WIDTH);
                vector(&format!("{norm}.bias"), WIDTH);
            }
            vector("attn_q_norm.weight", HEAD_DIM);
            vector("attn_k_norm.weight", HEAD_DIM);
            self.matrices().iter().for_each(|(name, n, _)| vector(&format!("{name}.bias"), *n));
            for (name, n, k) in self.matrices() {
                w.add(&format!("blk.{layer}.{name}.weight"), dtype, &[*k, *n]);
            }
        }
        w
    }

    /// Tokens to hidden rows.
    pub fn body(self, w: &dyn WeightSource, layers: usize) -> Result<Graph> {
        let t = Tracer::new("body", w);
        let carry = t.carry();
        let rows = t.begin_step(&carry)?;
        t.keep(t.history_write(t.history(), rows)?);
        let mut x = t.embed(rows, t.weight("token_embd.weight", VOCAB, WIDTH)?)?;
        for layer in 0..layers {
            x = Layer { t: &t, shape: self, layer }.run(x, rows)?;
        }
        t.keep(t.advance(carry, rows)?);
        t.output(Port::ROWS, rows);
        t.output(Port::HIDDEN, x);
        t.finish()
    }
}

struct Layer<'a, 'w> {
    t: &'a Tracer<'w>,
    shape: Shape,
    layer: usize,
}

impl Layer<'_, '_> {
    fn vector(&self, name: &str, n: usize) -> Result<Value> {
        self.t.vector(&format!("blk.{}.{name}", self.layer), n)
    }

    fn norm(&self, name: &str, x: Value) -> Result<Value> {
        let w = self.vector(&format!("{name}.weight"), WIDTH)?;
        match self.shape {
            Shape::Gpt2 => self.t.layer_norm(x, w, self.vector(&format!("{name}.bias"), WIDTH)?, EPS),
            _ => self.t.rms_norm(x, w, EPS),
        }
    }

    /// The norm behind a part, if there is one.
    fn behind(&self, name: &str, x: Value) -> Result<Value> {
        if self.shape == Shape::Gemma3 { self.norm(name, x) } else { Ok(x) }
    }

    fn dense(&self, name: &str, x: Value) -> Result<Value> {
        let (_, n, k) = self.shape.matrices().iter().find(|(m, ..)| *m == name).unwrap();
        let w = self.t.weight(&format!("blk.{}.{name}.weight", self.layer), *n, *k)?;
        let bias = self.shape.has_bias(name).then(|| self.vector(&format!("{name}.bias"), *n)).transpose()?;
        self.t.linear(x, w, bias)
    }

    fn qkv(&self, x: Value, rows: Value) -> Result<[Value; 3]> {
        let t = self.t;
        if self.shape == Shape::Gpt2 {
            let qkv = self.dense("attn_qkv", x)?;
            let part = |first, count| t.columns(qkv, Columns { first, count });
            return Ok([part(0, Q)?, part(Q, KV)?, part(Q + KV, KV)?]);
        }
        let frequencies = (0..HEAD_DIM / 2).map(|i| 1e4f64.powf(-2.0 * i as f64 / HEAD_DIM as f64)).collect();
        let rope = Rope { head_dim: HEAD_DIM, frequencies, magnitude: 1.0, pairs: Pairs::Halves };
        let part = |part: &str| {
            let x = self.dense(&format!("attn_{part}"), x)?;
            let normed = [Shape::Qwen3, Shape::Gemma3].contains(&self.shape);
            let norm = || t.rms_norm(x, self.vector(&format!("attn_{part}_norm.weight"), HEAD_DIM)?, EPS);
            t.rope(if normed { norm()? } else { x }, rows, &rope)
        };
        Ok([part("q")?, part("k")?, self.dense("attn_v", x)?])
    }

    fn run(&self, x: Value, rows: Value) -> Result<Value> {
        let t = self.t;
        let [q, k, v] = self.qkv(self.norm("attn_norm", x)?, rows)?;
        let k = t.kv_write(t.cache(&format!("blk.{}.k", self.layer), 0, DType::F16, KV_HEADS, HEAD_DIM), k, rows)?;
        let v = t.kv_write(t.cache(&format!("blk.{}.v", self.layer), 0, DType::F32, KV_HEADS, HEAD_DIM), v, rows)?;
        let scale = 1.0 / (HEAD_DIM as f64).sqrt();
        let window = (self.shape == Shape::Gemma3).then_some(Window { size: 3, first: 1 });
        let a = t.attend(q, &k, &v, rows, Attend { heads: HEADS, kv_heads: KV_HEADS, scale, window })?;
        t.keep(k);
        t.keep(v);
        let x = t.add(x, self.behind("post_attention_norm", self.dense("attn_output", a)?)?)?;
        let h = self.norm("ffn_norm", x)?;
        let h = match self.shape {
            Shape::Gpt2 => t.gelu(self.dense("ffn_up", h)?)?,
            Shape::Gemma3 => t.mul(t.gelu(self.dense("ffn_gate", h)?)?, self.dense("ffn_up", h)?)?,
            _ => t.mul(t.silu(self.dense("ffn_gate", h)?)?, self.dense("ffn_up", h)?)?,
        };
        t.add(x, self.behind("post_ffw_norm", self.dense("ffn_down", h)?)?)
    }
}
