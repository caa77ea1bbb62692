//! GPT-2 (Radford et al. 2019): layer norms before each part, learned positions, biases everywhere, one matrix for
//! queries, keys and values, a plain MLP with GELU. The head is tied to the embedding.

use crate::block::{Bias, Layer, layer_norm, qkv_cols};
use crate::config::{EMBEDDING, Epsilon};
use crate::positions::TABLE;
use crate::{Config, Error, KvFormats, Positions, frame};
use inkstone_gguf::Metadata;
use inkstone_graph::Graph;
use inkstone_tensor::WeightSource;
use inkstone_tensor::ops::Columns;

pub(super) fn config(metadata: &Metadata, source: &dyn WeightSource) -> Result<Config, Error> {
    Config::read(metadata, source, "gpt2", Epsilon::LAYER, Positions::learned)
}

/// The graph from tokens to hidden rows.
pub(super) fn body(c: &Config, source: &dyn WeightSource, kv: KvFormats) -> Result<Graph, Error> {
    let positions = c.positions.limit().unwrap_or(c.context);
    let [q_cols, k_cols, v_cols] = qkv_cols(c);
    let part = |first, count| Columns { first, count };
    frame::body(source, |t, rows| {
        let tokens = t.embed(rows, t.weight(EMBEDDING, c.vocab, c.width)?)?;
        let mut x = t.add(tokens, t.embed_position(rows, t.weight(TABLE, positions, c.width)?)?)?;
        for index in 0..c.layers {
            let l = Layer { t, c, index };
            let h = l.layer_norm("attn_norm", x)?;
            let qkv = l.dense("attn_qkv", q_cols + k_cols + v_cols, Bias::Needed, h)?;
            let q = t.columns(qkv, part(0, q_cols))?;
            let k = t.columns(qkv, part(q_cols, k_cols))?;
            let v = t.columns(qkv, part(q_cols + k_cols, v_cols))?;
            x = t.add(x, l.attention([q, k, v], rows, kv, Bias::Needed)?)?;
            let h = l.layer_norm("ffn_norm", x)?;
            let h = t.gelu(l.dense("ffn_up", c.ffn, Bias::Needed, h)?)?;
            x = t.add(x, l.dense("ffn_down", c.width, Bias::Needed, h)?)?;
        }
        Ok(x)
    })
}

/// The graph from selected rows to logits.
pub(super) fn head(c: &Config, source: &dyn WeightSource) -> Result<Graph, Error> {
    frame::head(c, source, |t, x| layer_norm(t, c, "output_norm", x))
}
