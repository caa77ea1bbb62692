//! The configuration of a decoder-only transformer, from the metadata of its file.

use crate::fields::Fields;
use crate::positions::Positions;
use crate::{Error, RopeConfig};
use inkstone_gguf::{Metadata, Value};
use inkstone_tensor::ops::Window;
use inkstone_tensor::{Group, WeightSource};

/// The largest number of layers. The largest models have under 200.
const LAYERS: u64 = 1024;
/// The largest number of values in a head. The largest heads have under 1,000.
const HEAD: u64 = 1 << 16;
/// The largest value of all other counts.
pub(crate) const MANY: u64 = 1 << 31;

/// The tensor with a row for each token.
pub(crate) const EMBEDDING: &str = "token_embd.weight";

/// The key for the epsilon of the norms.
#[derive(Clone, Copy)]
pub(crate) struct Epsilon(&'static str);

impl Epsilon {
    /// The key for RMS norms.
    pub const RMS: Epsilon = Epsilon("attention.layer_norm_rms_epsilon");
    /// The key for layer norms.
    pub const LAYER: Epsilon = Epsilon("attention.layer_norm_epsilon");
}

/// [`Positions::rotary`] or [`Positions::learned`].
pub(crate) type ReadPositions = fn(&Fields, &dyn WeightSource, usize) -> Result<Positions, Error>;

/// Shapes and constants of a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// The name of the architecture in the file.
    pub arch: String,
    /// The name of the model, if it has one.
    pub name: Option<String>,
    /// Tokens in the vocabulary.
    pub vocab: usize,
    /// Values in the residual of a token.
    pub width: usize,
    /// Layers.
    pub layers: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; a divisor of `heads`.
    pub kv_heads: usize,
    /// Values in a query or key head.
    pub head_dim: usize,
    /// Values in a value head.
    pub value_dim: usize,
    /// Values inside the feed-forward part.
    pub ffn: usize,
    /// The context length used in training.
    pub context: usize,
    /// Epsilon of the norms.
    pub eps: f32,
    /// The encoding of positions.
    pub positions: Positions,
    /// The factor of the scores of attention.
    pub scale: f64,
    /// The size of the sliding window of each layer; `None` for a layer that sees all earlier positions. Empty if no layer
    /// has one.
    pub windows: Vec<Option<usize>>,
    /// The rotation in layers with a window, if it differs from `positions`.
    pub window_rope: Option<RopeConfig>,
    /// A window for layers that would see more, chosen by the user: it saves memory, and changes results.
    pub kv_window: Option<Window>,
}

impl Config {
    /// The layer groups: all positions, then each window that layers have.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups = vec![Group::Full];
        for group in (0..self.layers).filter_map(|layer| self.window(layer).map(Group::Window)) {
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }

    /// The window of a layer; `None` if it sees all earlier positions. A layer that would see more than `kv_window` has that one.
    pub fn window(&self, layer: usize) -> Option<Window> {
        let trained = self.windows.get(layer).copied().flatten();
        let narrowed = self.kv_window.filter(|window| trained.is_none_or(|size| size > window.size));
        narrowed.or(trained.map(|size| Window { size, first: 0 }))
    }

    /// The layer group of the caches of a layer.
    pub fn group(&self, layer: usize) -> usize {
        let own = self.window(layer).map_or(Group::Full, Group::Window);
        self.groups().iter().position(|group| *group == own).unwrap_or(0)
    }

    /// Reads the keys that decoder-only transformers share. `eps` and `positions` select the keys of the norms and
    /// positions.
    pub(crate) fn read(
        metadata: &Metadata,
        source: &dyn WeightSource,
        arch: &str,
        eps: Epsilon,
        positions: ReadPositions,
    ) -> Result<Config, Error> {
        let f = Fields { metadata, arch };
        let width = f.needed("embedding_length", 1..=MANY, "the width of the model")?;
        let layers = f.needed("block_count", 1..=LAYERS, "the number of layers")?;
        let heads = f.needed("attention.head_count", 1..=MANY, "the number of query heads")?;
        let kv_heads = kv_heads(&f, heads, layers)?;
        let head_dim = match f.count("attention.key_length", 1..=HEAD)? {
            Some(dim) => dim,
            None if width.is_multiple_of(heads) && (width / heads) as u64 <= HEAD => width / heads,
            None => {
                let rule = format!("a divisor of the width {width} that gives heads of at most {HEAD} values");
                return Err(f.bad("attention.head_count", heads, &rule));
            }
        };
        let name = metadata.str("general.name")?.map(str::to_owned);
        let embeddings = source.info(EMBEDDING).and_then(|i| usize::try_from(*i.dims.get(1)?).ok());
        let eps = f.needed_eps(eps)?;
        Ok(Config {
            arch: arch.to_owned(),
            name,
            vocab: vocab(&f, embeddings)?,
            width,
            layers,
            heads,
            kv_heads,
            head_dim,
            value_dim: f.count("attention.value_length", 1..=HEAD)?.unwrap_or(head_dim),
            ffn: f.needed("feed_forward_length", 1..=MANY, "the width of the feed-forward part")?,
            context: f.needed("context_length", 1..=MANY, "the trained context")?,
            eps,
            positions: positions(&f, source, head_dim)?,
            scale: 1.0 / (head_dim as f64).sqrt(),
            windows: Vec::new(),
            window_rope: None,
            kv_window: None,
        })
    }
}

impl Fields<'_> {
    fn needed_eps(&self, Epsilon(name): Epsilon) -> Result<f32, Error> {
        let eps = self.positive(name)?;
        let key = || Error::MissingKey { key: self.key(name), what: "the epsilon of the norms" };
        eps.map(|e| e as f32).ok_or_else(key)
    }
}

/// Reads one number, or an array with one number per layer. Layers with different numbers are not supported yet.
fn kv_heads(f: &Fields, heads: usize, layers: usize) -> Result<usize, Error> {
    const NAME: &str = "attention.head_count_kv";
    let rule = format!("a divisor of the {heads} query heads");
    let key = f.key(NAME);
    let kv_heads = match f.metadata.get(&key) {
        None => heads,
        Some(Value::Array(_)) => {
            let all = f.metadata.u32s(&key)?.unwrap_or_default();
            match all.first().map(|first| (first, all.iter().find(|h| *h != first))) {
                Some(_) if all.len() != layers => {
                    return Err(f.bad(
                        NAME,
                        format!("an array of {}", all.len()),
                        &format!("one number for each of {layers} layers"),
                    ));
                }
                Some((first, None)) => *first as usize,
                Some((first, Some(other))) => {
                    let value = format!("{first} in one layer, {other} in another");
                    return Err(Error::NotYet { what: "layers with different heads are", key, value });
                }
                None => return Err(f.bad(NAME, "an empty array", &rule)),
            }
        }
        Some(_) => f.count(NAME, 0..=MANY)?.unwrap_or(0),
    };
    if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
        return Err(f.bad(NAME, kv_heads, &rule));
    }
    Ok(kv_heads)
}

/// The size of the vocabulary: the number of tokens of the tokenizer, or else the value in the metadata, or the rows of
/// the embedding.
fn vocab(f: &Fields, embeddings: Option<usize>) -> Result<usize, Error> {
    let said = f.count("vocab_size", 1..=MANY)?;
    let tokens = f.metadata.strings("tokenizer.ggml.tokens")?.map(|t| t.len());
    if tokens == Some(0) {
        let key = "tokenizer.ggml.tokens".to_owned();
        return Err(Error::BadValue { key, value: "empty".into(), allowed: "at least one token".into() });
    }
    tokens.or(said).or(embeddings).ok_or_else(|| Error::MissingKey { key: f.key("vocab_size"), what: "the vocabulary" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kv_heads_of(value: impl Into<Value>) -> String {
        let mut metadata = Metadata::new();
        metadata.insert("llama.attention.head_count_kv", value);
        kv_heads(&Fields { metadata: &metadata, arch: "llama" }, 8, 3).map_or_else(|e| e.to_string(), |n| n.to_string())
    }

    #[test]
    fn heads_are_one_number_or_one_a_layer() {
        assert_eq!(kv_heads_of(4u32), "4");
        assert_eq!(kv_heads_of(vec![4u32; 3]), "4");
        let key = "metadata key llama.attention.head_count_kv is";
        let wrong = |n| format!("{key} an array of {n}, allowed: one number for each of 3 layers");
        assert_eq!((kv_heads_of(vec![4u32; 2]), kv_heads_of(vec![4u32; 4])), (wrong(2), wrong(4)));
        assert_eq!(kv_heads_of(vec![3u32; 3]), format!("{key} 3, allowed: a divisor of the 8 query heads"));
        assert!(kv_heads_of(vec![4u32, 4, 2]).contains("4 in one layer, 2 in another"));
    }
}
