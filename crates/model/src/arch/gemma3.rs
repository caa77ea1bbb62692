//! Gemma 3 (arXiv 2503.19786): like Llama, with norms before and after each part, norms of each head of queries and keys, and
//! a gate of GELU. Five of six layers have a sliding window and rotate by a base of their own. The rows of the embedding,
//! which is also the head, are multiplied by the square root of their length. The norms of the file contain their 1.

use crate::block::{Bias, Layer, output_rms_norm};
use crate::config::{EMBEDDING, Epsilon};
use crate::fields::Fields;
use crate::rope::Scaling;
use crate::{Config, Error, KvFormats, Positions, RopeConfig, frame, positions, windows};
use inkstone_gguf::Metadata;
use inkstone_graph::Graph;
use inkstone_tensor::WeightSource;
use inkstone_tensor::ops::{Expr, Pairs, Term};

const ARCH: &str = "gemma3";
/// Each such layer has no window, if the file does not say which.
const PATTERN: usize = 6;
/// The layers of the model with 27B parameters, whose scores have a scale of their own.
const LAYERS_27B: usize = 62;

pub(super) fn config(metadata: &Metadata, source: &dyn WeightSource) -> Result<Config, Error> {
    let f = Fields { metadata, arch: ARCH };
    for name in ["attn_logit_softcapping", "final_logit_softcapping"] {
        if let Some(cap) = f.number(name, "a number", |x| !x.is_nan())?.filter(|cap| *cap != 0.0) {
            return Err(Error::NotYet { what: "soft caps are", key: f.key(name), value: cap.to_string() });
        }
    }
    let mut config = Config::read(metadata, source, ARCH, Epsilon::RMS, Positions::rotary)?;
    config.windows = windows::read(&f, config.layers, PATTERN)?;
    if let Positions::Rotary(rope) = &config.positions {
        let base = f.positive("rope.freq_base_swa")?.unwrap_or(10_000.0);
        config.window_rope = Some(RopeConfig { dims: rope.dims, base, scaling: Scaling::None });
    }
    if config.layers == LAYERS_27B {
        config.scale = 1.0 / (config.width as f64 / config.heads as f64).sqrt();
    }
    Ok(config)
}

/// The graph from tokens to hidden rows.
pub(super) fn body(c: &Config, source: &dyn WeightSource, kv: KvFormats) -> Result<Graph, Error> {
    let full = positions::rope(c, source, Pairs::Halves)?;
    let window = positions::window_rope(c, Pairs::Halves)?;
    let scaled = Expr::new(&[Term::In(0), Term::Constant((c.width as f64).sqrt() as f32), Term::Mul]);
    frame::body(source, |t, rows| {
        let mut x = t.map(scaled, &[t.embed(rows, t.weight(EMBEDDING, c.vocab, c.width)?)?])?;
        for index in 0..c.layers {
            let l = Layer { t, c, index };
            let rope = if c.windows.get(index).copied().flatten().is_some() { &window } else { &full };
            let h = l.rms_norm("attn_norm", c.width, x)?;
            let [q, k, v] = l.qkv(Bias::Any, h)?;
            let q = l.rms_norm("attn_q_norm", c.head_dim, q)?;
            let k = l.rms_norm("attn_k_norm", c.head_dim, k)?;
            let (q, k) = (t.rope(q, rows, rope)?, t.rope(k, rows, rope)?);
            let h = l.attention([q, k, v], rows, kv, Bias::Any)?;
            x = t.add(x, l.rms_norm("post_attention_norm", c.width, h)?)?;
            let h = l.rms_norm("ffn_norm", c.width, x)?;
            let h = l.gated_mlp(|gate| t.gelu(gate), h)?;
            x = t.add(x, l.rms_norm("post_ffw_norm", c.width, h)?)?;
        }
        Ok(x)
    })
}

/// The graph from selected rows to logits.
pub(super) fn head(c: &Config, source: &dyn WeightSource) -> Result<Graph, Error> {
    frame::head(c, source, |t, x| output_rms_norm(t, c, x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_gguf::Value;
    use inkstone_tensor::NoWeights;

    /// A model of this many layers whose heads are not the width divided by their number.
    fn of(layers: u32, more: &[(&str, Value)]) -> Config {
        let mut metadata = Metadata::new();
        let mut set = |key: &str, value: Value| drop(metadata.insert(&format!("gemma3.{key}"), value));
        for (key, value) in [
            ("block_count", layers),
            ("context_length", 128),
            ("embedding_length", 5376),
            ("feed_forward_length", 96),
            ("attention.head_count", 32),
            ("attention.head_count_kv", 16),
            ("attention.key_length", 128),
            ("vocab_size", 10),
        ] {
            set(key, value.into());
        }
        set("attention.layer_norm_rms_epsilon", 1e-6f32.into());
        more.iter().for_each(|(key, value)| set(key, value.clone()));
        config(&metadata, &NoWeights).unwrap()
    }

    #[test]
    fn the_scale_of_27b_is_of_its_width() {
        assert_eq!(of(62, &[]).scale, 1.0 / 168f64.sqrt());
        for layers in [18, 26, 34, 48, 61, 63] {
            assert_eq!(of(layers, &[]).scale, 1.0 / 128f64.sqrt(), "{layers} layers");
        }
    }

    #[test]
    fn files_without_keys_have_a_full_layer_in_six_and_two_rotations() {
        let config = of(18, &[("attention.sliding_window", 512u32.into()), ("rope.freq_base", 1e6f32.into())]);
        let full: Vec<usize> = (0..18).filter(|layer| config.windows[*layer].is_none()).collect();
        assert_eq!(full, [5, 11, 17]);
        assert!(config.windows.iter().flatten().all(|size| *size == 512));
        let rope = |base| RopeConfig { dims: 128, base, scaling: Scaling::None };
        assert_eq!((config.positions, config.window_rope), (Positions::Rotary(rope(1e6)), Some(rope(1e4))));
        assert!(of(18, &[]).windows.iter().all(Option::is_none));
    }
}
