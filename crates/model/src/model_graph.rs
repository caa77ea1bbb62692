//! A model, traced.

use crate::arch::{ARCHS, Arch};
use crate::fields::shorten;
use crate::select::select;
use crate::{Config, Error};
use inkstone_gguf::Gguf;
use inkstone_graph::Graph;
use inkstone_tensor::{DType, SourceError, WeightSource};
use std::sync::Arc;

/// The formats of a model's caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvFormats {
    /// Of keys.
    pub keys: DType,
    /// Of values.
    pub values: DType,
}

impl Default for KvFormats {
    fn default() -> KvFormats {
        KvFormats { keys: DType::F16, values: DType::F16 }
    }
}

/// A model as graphs, and where its weights come from. No engine has seen it yet.
pub struct ModelGraph {
    /// Shapes and constants.
    pub config: Config,
    /// Tokens to hidden rows; ends with `advance`.
    pub body: Graph,
    /// Hidden rows to logits.
    pub head: Graph,
    /// Logits to tokens; ends with `accept`.
    pub select: Graph,
    /// The same with log-probabilities.
    pub select_scored: Graph,
    /// The tensors.
    pub weights: Arc<dyn WeightSource>,
    /// Formats of the caches.
    pub kv: KvFormats,
}

impl ModelGraph {
    /// Traces the model of a file.
    ///
    /// # Errors
    /// An architecture that is not known, a key or tensor that is missing or can't be.
    pub fn open(file: Arc<Gguf>, kv: KvFormats) -> Result<ModelGraph, Error> {
        const KEY: &str = "general.architecture";
        let name = file.metadata().str(KEY)?;
        let arch = ARCHS.iter().find(|a| Some(a.name) == name).ok_or_else(|| Error::UnknownArchitecture {
            name: shorten(name.unwrap_or("(none: general.architecture is missing)")),
            known: architectures().collect::<Vec<_>>().join(", "),
        })?;
        if file.tensors().is_empty() {
            return Err(Error::NoTensors);
        }
        let config = (arch.config)(file.metadata(), &*file)?;
        ModelGraph::trace(arch, config, file, kv)
    }

    fn trace(arch: &Arch, config: Config, weights: Arc<dyn WeightSource>, kv: KvFormats) -> Result<ModelGraph, Error> {
        Ok(ModelGraph {
            body: (arch.body)(&config, &*weights, kv)?,
            head: (arch.head)(&config, &*weights)?,
            select: select(config.vocab, false)?,
            select_scored: select(config.vocab, true)?,
            config,
            weights,
            kv,
        })
    }

    /// Bytes of cache that a token takes in all layers.
    pub fn kv_bytes_per_token(&self) -> u64 {
        let row = |dtype: DType, dim: usize| {
            dtype.row_bytes(self.config.kv_heads.saturating_mul(dim)).unwrap_or(usize::MAX) as u64
        };
        let layer = row(self.kv.keys, self.config.head_dim).saturating_add(row(self.kv.values, self.config.value_dim));
        layer.saturating_mul(self.config.layers as u64)
    }
}

/// The architectures that can be run.
pub fn architectures() -> impl Iterator<Item = &'static str> {
    ARCHS.iter().map(|a| a.name)
}

/// A small tensor of f32 that is needed while a model is traced.
pub(crate) fn weight_f32(source: &dyn WeightSource, name: &str) -> Result<Vec<f32>, SourceError> {
    let bytes = source.bytes(name)?;
    let words = bytes.as_slice().as_chunks::<4>().0;
    let mut values = Vec::new();
    let reason = || format!("no memory for its {} values", words.len());
    values.try_reserve_exact(words.len()).map_err(|_| SourceError { tensor: name.to_owned(), reason: reason() })?;
    values.extend(words.iter().map(|b| f32::from_le_bytes(*b)));
    Ok(values)
}
