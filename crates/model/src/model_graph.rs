//! A traced model.

use crate::arch::{ARCHS, Arch};
use crate::fields::shorten;
use crate::select::select;
use crate::{Config, Error};
use inkstone_gguf::Gguf;
use inkstone_graph::{Graph, Kind, Source, copies};
use inkstone_tensor::op::OpDef;
use inkstone_tensor::ops::HISTORY;
use inkstone_tensor::step::GROUPS;
use inkstone_tensor::{DType, Dim, Group, Op, Sizes, Slots, SourceError, Type, WeightSource};
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
        ModelGraph::open_with(file, kv, |_| {})
    }

    /// The same with changes to what the file says, for example a window in all layers that would see more
    /// ([`Config::kv_window`]).
    ///
    /// # Errors
    /// Like [`ModelGraph::open`], more windows than there are layer groups, and shapes that the tensors do not have.
    pub fn open_with(file: Arc<Gguf>, kv: KvFormats, change: impl FnOnce(&mut Config)) -> Result<ModelGraph, Error> {
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
        change(&mut config);
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
        graphs.iter().try_for_each(|(_, graph)| check_windows(&config.groups(), graph))?;
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
    /// The graph has a paged state that can't be copied, or attention that sees more than its layer group keeps; nothing is
    /// replaced.
    pub fn set_graph(&mut self, kind: Kind, graph: Graph) -> Result<(), Error> {
        check_windows(&self.config.groups(), &graph)?;
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

/// Checks that attention sees no more than the layer group of its caches keeps.
fn check_windows(groups: &[Group], graph: &Graph) -> Result<(), Error> {
    let body = graph.body();
    for node in &body.nodes {
        let Op::Attend(op) = &node.op else { continue };
        let group = node.ins.get(1).map_or(0, |cache| body.ty(*cache).rows.group());
        let fits = match groups.get(group) {
            Some(Group::Full) => true,
            Some(Group::Window(kept)) => {
                op.window.is_some_and(|seen| seen.size <= kept.size && seen.first <= kept.first)
            }
            None => false,
        };
        if !fits {
            return Err(Error::Sees { op: op.attributes(), group });
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_graph::{Port, Tracer};
    use inkstone_tensor::NoWeights;
    use inkstone_tensor::ops::{Attend, Window};
    use inkstone_tensor::step::ROWS;

    /// Attention with a window over caches of a layer group.
    fn attends(window: Option<Window>, group: usize) -> Graph {
        let t = Tracer::new("body", &NoWeights);
        let rows = t.input(Port::ROWS, ROWS);
        let x = t.input(Port::HIDDEN, Type::f32(Dim::Rows, 8));
        let [k, v] = ["k", "v"].map(|name| t.kv_write(t.cache(name, group, DType::F32, 1, 8), x, rows).unwrap());
        let attend = Attend { heads: 1, kv_heads: 1, scale: 1.0, window };
        t.output(Port::LOGITS, t.attend(x, &k, &v, rows, attend).unwrap());
        t.keep(k);
        t.keep(v);
        t.finish().unwrap()
    }

    #[test]
    fn attention_that_sees_more_than_its_group_keeps_is_refused() {
        let groups = [Group::Full, Group::Window(Window { size: 8, first: 2 })];
        let check = |window, group| check_windows(&groups, &attends(window, group)).map_err(|error| error.to_string());
        let window = |size, first| Some(Window { size, first });
        for (window, group) in [(None, 0), (window(99, 9), 0), (window(8, 2), 1), (window(1, 0), 1)] {
            assert_eq!(check(window, group), Ok(()), "{window:?} in {group}");
        }
        for (window, group) in [(None, 1), (window(9, 2), 1), (window(8, 3), 1), (window(8, 2), 2)] {
            let error = check(window, group).unwrap_err();
            assert!(error.contains(&format!("layer group {group}")), "{error}");
        }
    }
}
