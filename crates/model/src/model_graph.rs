//! A traced model.

use crate::arch::{ARCHS, Arch};
use crate::fields::shorten;
use crate::select::select;
use crate::{Config, Error};
use inkstone_gguf::Gguf;
use inkstone_graph::{Graph, Kind, Source, copies};
use inkstone_tensor::ops::{HISTORY, Window};
use inkstone_tensor::step::GROUPS;
use inkstone_tensor::{DType, Dim, Sizes, Slots, SourceError, Type, WeightSource};
use std::collections::BTreeMap;
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
    /// The graphs, each of another kind. The body ends with `advance`, the selections of tokens end with `accept`. The last
    /// one copies pages in the states of all others.
    pub graphs: Vec<(Kind, Graph)>,
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
        ModelGraph::open_with_window(file, kv, None)
    }

    /// The same with a window in all layers that would see more ([`Config::kv_window`](crate::Config)).
    ///
    /// # Errors
    /// Like [`ModelGraph::open`], and more windows than there are layer groups.
    pub fn open_with_window(file: Arc<Gguf>, kv: KvFormats, window: Option<Window>) -> Result<ModelGraph, Error> {
        const KEY: &str = "general.architecture";
        let name = file.metadata().str(KEY)?;
        let arch = ARCHS.iter().find(|a| Some(a.name) == name).ok_or_else(|| Error::UnknownArchitecture {
            name: shorten(name.unwrap_or("(none: general.architecture is missing)")),
            known: architectures().collect::<Vec<_>>().join(", "),
        })?;
        if file.tensors().is_empty() {
            return Err(Error::NoTensors);
        }
        let mut config = (arch.config)(file.metadata(), &*file)?;
        config.kv_window = window;
        let groups = config.groups().len();
        if groups > GROUPS {
            return Err(Error::Groups { groups, most: GROUPS });
        }
        ModelGraph::trace(arch, config, file, kv)
    }

    fn trace(arch: &Arch, config: Config, weights: Arc<dyn WeightSource>, kv: KvFormats) -> Result<ModelGraph, Error> {
        let mut graphs = vec![
            (Kind::BODY, (arch.body)(&config, &*weights, kv)?),
            (Kind::HEAD, (arch.head)(&config, &*weights)?),
            (Kind::SELECT, select(config.vocab, false)?),
            (Kind::SELECT_SCORED, select(config.vocab, true)?),
        ];
        graphs.push((Kind::COPY, copies(&graphs)?));
        Ok(ModelGraph { config, graphs, weights, kv })
    }

    /// The graph of a kind.
    pub fn graph(&self, kind: Kind) -> Option<&Graph> {
        self.graphs.iter().find(|(k, _)| *k == kind).map(|(_, graph)| graph)
    }

    /// Adds the graph of a kind, or replaces it. The graph that copies pages is made anew, for the states that the graphs then
    /// name, unless it is the one that is replaced.
    ///
    /// # Errors
    /// The graph has a paged state that can't be copied; nothing is replaced.
    pub fn set_graph(&mut self, kind: Kind, graph: Graph) -> Result<(), Error> {
        let others = self.graphs.iter().filter(|(k, _)| ![kind, Kind::COPY].contains(k));
        let mut graphs: Vec<(Kind, Graph)> = others.cloned().collect();
        graphs.push((kind, graph));
        if kind != Kind::COPY {
            graphs.push((Kind::COPY, copies(&graphs)?));
        }
        self.graphs = graphs;
        Ok(())
    }

    /// The bytes of keys and values per token, in all layers of all graphs.
    pub fn kv_bytes_per_token(&self) -> u64 {
        self.bytes_of(|_, ty| matches!(ty.rows, Dim::Slots { .. }) && *ty != HISTORY)
    }

    /// The bytes of the weights that its graphs read, as in the file.
    pub fn weight_bytes(&self) -> u64 {
        self.bytes_of(|source, _| matches!(source, Source::Weight(_)))
    }

    /// The bytes of some inputs of its graphs, each counted once, with caches of one token.
    fn bytes_of(&self, counts: impl Fn(&Source, &Type) -> bool) -> u64 {
        let inputs = self.graphs.iter().flat_map(|(_, graph)| graph.inputs().map(|(s, v)| (s, graph.body().ty(v))));
        let counted: BTreeMap<&Source, Type> = inputs.filter(|(source, ty)| counts(source, ty)).collect();
        counted.values().fold(0, |bytes, ty| bytes.saturating_add(ty.bytes(&ONE_PLACE)))
    }
}

/// Caches of one token.
const ONE_PLACE: Sizes = Sizes { rows: 0, logit_rows: 0, slots: Slots::every_group(1) };

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
