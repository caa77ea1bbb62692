//! A traced model.

use crate::arch::{ARCHS, Arch};
use crate::fields::shorten;
use crate::select::select;
use crate::{Config, Error};
use inkstone_gguf::Gguf;
use inkstone_graph::Graph;
use inkstone_tensor::{DType, SourceError, WeightSource};
use std::sync::Arc;

/// The formats of the caches of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvFormats {
    /// The format of keys.
    pub keys: DType,
    /// The format of values.
    pub values: DType,
}

impl Default for KvFormats {
    fn default() -> KvFormats {
        KvFormats { keys: DType::F16, values: DType::F16 }
    }
}

/// A model as graphs, with the source of its weights. It is independent of engines.
pub struct ModelGraph {
    /// Shapes and constants.
    pub config: Config,
    /// The graph from tokens to hidden rows; ends with `advance`.
    pub body: Graph,
    /// The graph from hidden rows to logits.
    pub head: Graph,
    /// The graph from logits to tokens; ends with `accept`.
    pub select: Graph,
    /// Like `select`, and also computes log-probabilities.
    pub select_scored: Graph,
    /// The tensors.
    pub weights: Arc<dyn WeightSource>,
    /// The formats of the caches.
    pub kv: KvFormats,
}

impl ModelGraph {
    /// Traces the model of a file.
    ///
    /// # Errors
    /// The architecture is unknown, or a key or tensor is missing or invalid.
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

    /// The bytes of cache per token, in all layers.
    pub fn kv_bytes_per_token(&self) -> u64 {
        let row = |dtype: DType, dim: usize| {
            dtype.row_bytes(self.config.kv_heads.saturating_mul(dim)).unwrap_or(usize::MAX) as u64
        };
        let layer = row(self.kv.keys, self.config.head_dim).saturating_add(row(self.kv.values, self.config.value_dim));
        layer.saturating_mul(self.config.layers as u64)
    }
}

/// The names of the supported architectures.
pub fn architectures() -> impl Iterator<Item = &'static str> {
    ARCHS.iter().map(|a| a.name)
}

/// Reads a small f32 tensor that is needed while a model is traced.
pub(crate) fn weight_f32(source: &dyn WeightSource, name: &str) -> Result<Vec<f32>, SourceError> {
    let bytes = source.bytes(name)?;
    let words = bytes.as_slice().as_chunks::<4>().0;
    let mut values = Vec::new();
    let reason = || format!("no memory for its {} values", words.len());
    values.try_reserve_exact(words.len()).map_err(|_| SourceError { tensor: name.to_owned(), reason: reason() })?;
    values.extend(words.iter().map(|b| f32::from_le_bytes(*b)));
    Ok(values)
}
