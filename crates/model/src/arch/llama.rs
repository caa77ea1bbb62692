//! Llama (Touvron et al. 2023, arXiv 2302.13971; 2307.09288; 2407.21783), and models that use its architecture under
//! the same name: Mistral, and any model with grouped-query attention, rotary positions, RMS norms before each part and
//! a gated MLP. The rows of q and k are stored so that neighbouring values are rotated together.

use crate::block::{Bias, Layer, output_rms_norm};
use crate::config::{EMBEDDING, Epsilon};
use crate::fields::Fields;
use crate::{Config, Error, KvFormats, Positions, frame, positions};
use inkstone_gguf::Metadata;
use inkstone_graph::Graph;
use inkstone_tensor::WeightSource;
use inkstone_tensor::ops::Pairs;

pub(super) fn config(metadata: &Metadata, source: &dyn WeightSource) -> Result<Config, Error> {
    let f = Fields { metadata, arch: "llama" };
    if let Some(experts) = f.count("expert_count", 0..=1 << 31)?.filter(|n| *n > 0) {
        return Err(Error::NotYet { what: "experts are", key: f.key("expert_count"), value: experts.to_string() });
    }
    Config::read(metadata, source, "llama", Epsilon::RMS, Positions::rotary)
}

/// The graph from tokens to hidden rows.
pub(super) fn body(c: &Config, source: &dyn WeightSource, kv: KvFormats) -> Result<Graph, Error> {
    let rope = positions::rope(c, source, Pairs::Neighbours)?;
    frame::body(source, |t, rows| {
        let mut x = t.embed(rows, t.weight(EMBEDDING, c.vocab, c.width)?)?;
        for index in 0..c.layers {
            let l = Layer { t, c, index };
            let h = l.rms_norm("attn_norm", c.width, x)?;
            let [q, k, v] = l.qkv(Bias::Any, h)?;
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
