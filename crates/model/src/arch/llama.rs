//! Llama (Touvron et al. 2023, arXiv 2302.13971; 2307.09288; 2407.21783) and what has its shape under the same name:
//! Mistral, and any model with grouped-query attention, rotary positions, RMS norms before each part and a gated MLP.

use crate::block::{Attention, Dense, GatedMlp, attention, gated_mlp};
use crate::fields::Fields;
use crate::{Config, Error, KvFormats};
use inkstone_gguf::Metadata;
use inkstone_graph::{Graph, Port, Tracer};
use inkstone_tensor::ops::{Attend, Pairs, Rope};
use inkstone_tensor::{DType, Dim, Type, WeightSource};

const EMBEDDING: &str = "token_embd.weight";

pub(super) fn config(metadata: &Metadata, source: &dyn WeightSource) -> Result<Config, Error> {
    let f = Fields { metadata, arch: "llama" };
    if let Some(experts) = f.count("expert_count", 0..=1 << 31)?.filter(|n| *n > 0) {
        return Err(Error::NotYet { what: "experts are", key: f.key("expert_count"), value: experts.to_string() });
    }
    let embeddings = source.info(EMBEDDING).and_then(|i| usize::try_from(*i.dims.get(1)?).ok());
    Config::read(metadata, f.arch, embeddings)
}

/// Tokens to hidden rows.
pub(super) fn body(c: &Config, source: &dyn WeightSource, kv: KvFormats) -> Result<Graph, Error> {
    let rope = rope(c, source)?;
    let t = Tracer::new("body", source);
    let carry = t.carry();
    let rows = t.begin_step(&carry)?;
    t.keep(t.history_write(t.history(), rows, 0)?);

    let mut x = t.embed(rows, t.weight(EMBEDDING, c.vocab, c.width)?)?;
    for layer in 0..c.layers {
        let norm = |name: &str| t.vector(&format!("blk.{layer}.{name}.weight"), c.width);
        let dense = |name: &str, n, k| Dense::load(&t, &format!("blk.{layer}.{name}"), n, k);
        let attn = Attention {
            q: dense("attn_q", c.heads * c.head_dim, c.width)?,
            k: dense("attn_k", c.kv_heads * c.head_dim, c.width)?,
            v: dense("attn_v", c.kv_heads * c.value_dim, c.width)?,
            out: dense("attn_output", c.width, c.heads * c.value_dim)?,
            rope: rope.clone(),
            heads: Attend { heads: c.heads, kv_heads: c.kv_heads, scale: 1.0 / (c.head_dim as f64).sqrt(), group: 0 },
            kv_cols: [c.kv_heads * c.head_dim, c.kv_heads * c.value_dim],
            formats: [kv.keys, kv.values],
        };
        let mlp = GatedMlp {
            gate: dense("ffn_gate", c.ffn, c.width)?,
            up: dense("ffn_up", c.ffn, c.width)?,
            down: dense("ffn_down", c.width, c.ffn)?,
        };
        let h = t.rms_norm(x, norm("attn_norm")?, c.eps)?;
        x = t.add(x, attention(&t, &attn, layer, h, rows)?)?;
        let h = t.rms_norm(x, norm("ffn_norm")?, c.eps)?;
        x = t.add(x, gated_mlp(&t, &mlp, h)?)?;
    }
    t.keep(t.advance(carry, rows)?);
    t.output(Port::Rows, rows);
    t.output(Port::Hidden, x);
    Ok(t.finish()?)
}

/// Chosen rows to logits. A file without a head has it tied to the embedding.
pub(super) fn head(c: &Config, source: &dyn WeightSource) -> Result<Graph, Error> {
    let t = Tracer::new("head", source);
    let x = t.gather_rows(t.input(Port::Hidden, Type::f32(Dim::Rows, c.width)))?;
    let h = t.rms_norm(x, t.vector("output_norm.weight", c.width)?, c.eps)?;
    let name = if t.has("output.weight") { "output.weight" } else { EMBEDDING };
    t.output(Port::Logits, t.linear(h, t.weight(name, c.vocab, c.width)?, None)?);
    Ok(t.finish()?)
}

/// Rows of q and k are stored so that neighbours rotate. Llama 3.1's scaling is a tensor of factors.
fn rope(c: &Config, source: &dyn WeightSource) -> Result<Rope, Error> {
    const FACTORS: &str = "rope_freqs.weight";
    let pairs = c.rope.dims / 2;
    let factors = match source.info(FACTORS) {
        None if !source.has(FACTORS) => None,
        None => Some(crate::weight_f32(source, FACTORS)?), // says why its type is unknown
        Some(info) if info.dtype == DType::F32 && info.dims == [pairs as u64] => {
            Some(crate::weight_f32(source, FACTORS)?)
        }
        Some(info) => {
            let (tensor, found) = (FACTORS.to_owned(), format!("{} {:?}", info.dtype, info.dims));
            return Err(Error::Factors { tensor, found, pairs });
        }
    };
    if let Some(factor) = factors.iter().flatten().find(|f| !(f.is_finite() && **f > 0.0)) {
        return Err(Error::Factors { tensor: FACTORS.to_owned(), found: format!("a factor of {factor}"), pairs });
    }
    let (frequencies, magnitude) = c.rope.frequencies(factors.as_deref());
    if !frequencies.iter().all(|f| f.is_finite()) || !magnitude.is_finite() {
        let (key, value) = ("llama.rope.freq_base".to_owned(), c.rope.base.to_string());
        return Err(Error::BadValue { key, value, allowed: "a base with finite frequencies under the scaling".into() });
    }
    Ok(Rope { head_dim: c.head_dim, frequencies: frequencies.into(), magnitude, pairs: Pairs::Neighbours })
}
