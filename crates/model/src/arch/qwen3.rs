//! Qwen3 (arXiv 2505.09388): like Llama, with an RMS norm of each head of queries and keys (arXiv 2302.05442). Each
//! value in the first half of a head is rotated with its counterpart in the second half.

use crate::block::{Bias, Layer, output_rms_norm};
use crate::config::{EMBEDDING, Epsilon};
use crate::{Config, Error, KvFormats, Positions, frame, positions};
use inkstone_gguf::Metadata;
use inkstone_graph::Graph;
use inkstone_tensor::WeightSource;
use inkstone_tensor::ops::Pairs;

pub(super) fn config(metadata: &Metadata, source: &dyn WeightSource) -> Result<Config, Error> {
    Config::read(metadata, source, "qwen3", Epsilon::RMS, Positions::rotary)
}

/// The graph from tokens to hidden rows.
pub(super) fn body(c: &Config, source: &dyn WeightSource, kv: KvFormats) -> Result<Graph, Error> {
    let rope = positions::rope(c, source, Pairs::Halves)?;
    frame::body(source, |t, rows| {
        let mut x = t.embed(rows, t.weight(EMBEDDING, c.vocab, c.width)?)?;
        for index in 0..c.layers {
            let l = Layer { t, c, index };
            let h = l.rms_norm("attn_norm", c.width, x)?;
            let [q, k, v] = l.qkv(Bias::Any, h)?;
            let q = l.rms_norm("attn_q_norm", c.head_dim, q)?;
            let k = l.rms_norm("attn_k_norm", c.head_dim, k)?;
            let (q, k) = (t.rope(q, rows, &rope)?, t.rope(k, rows, &rope)?);
            x = t.add(x, l.attention([q, k, v], rows, kv, Bias::Any)?)?;
            let h = l.rms_norm("ffn_norm", c.width, x)?;
            x = t.add(x, l.gated_mlp(|gate| t.silu(gate), h)?)?;
        }
        Ok(x)
    })
}

/// The graph from selected rows to logits.
pub(super) fn head(c: &Config, source: &dyn WeightSource) -> Result<Graph, Error> {
    frame::head(c, source, |t, x| output_rms_norm(t, c, x))
}
