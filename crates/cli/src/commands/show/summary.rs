//! A summary of the metadata and tensors of a file.

use inkstone::arch::{KvFormats, ModelGraph};
use inkstone::gguf::{Gguf, TensorInfo};
use inkstone::graph::Source;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Tensors that are read while a model is traced, so that graphs do not contain them.
const READ_EARLY: &[&str] = &["rope_freqs.weight"];

/// The head of a file in numbers.
pub(super) struct Summary<'g> {
    pub(super) gguf: &'g Gguf,
    /// `general.architecture`
    pub(super) architecture: Option<&'g str>,
    /// Values of all tensors.
    pub(super) parameters: u128,
    /// The trained context in tokens.
    pub(super) context: Option<u64>,
    /// Tensors and bytes of each type, by its name.
    pub(super) types: BTreeMap<String, (usize, u128)>,
    /// Tensors that no model can use, with the reasons.
    pub(super) unusable: Vec<(&'g str, String)>,
    /// The tensors that the model does not use, or the reason why the model can't be run.
    pub(super) unused: Result<Vec<&'g str>, String>,
}

impl<'g> Summary<'g> {
    pub(super) fn new(gguf: &'g Arc<Gguf>) -> Summary<'g> {
        let metadata = gguf.metadata();
        // A value of the wrong type is shown with the metadata.
        let architecture = metadata.str("general.architecture").ok().flatten();
        let context = architecture.and_then(|a| metadata.u64(&format!("{a}.context_length")).ok().flatten());
        let mut types = BTreeMap::<String, (usize, u128)>::new();
        for tensor in gguf.tensors() {
            let (tensors, bytes) = types.entry(tensor.dtype.to_string()).or_default();
            *tensors += 1;
            *bytes += u128::from(tensor.bytes.unwrap_or(0));
        }
        Summary {
            gguf,
            architecture,
            parameters: gguf.tensors().iter().map(|t| u128::from(t.values())).sum(),
            context,
            types,
            unusable: gguf.tensors().iter().filter_map(|t| Some((t.name.as_str(), unusable(gguf, t)?))).collect(),
            unused: unused(gguf),
        }
    }
}

/// The reason why a model can't use the tensor, without its name.
fn unusable(gguf: &Gguf, tensor: &TensorInfo) -> Option<String> {
    match gguf.weight(&tensor.name).err()? {
        inkstone::gguf::Error::Unusable { reason, .. } => Some(reason),
        e => Some(e.to_string()),
    }
}

/// Traces the model, as `run` does.
fn unused(gguf: &Arc<Gguf>) -> Result<Vec<&str>, String> {
    let model = ModelGraph::open(gguf.clone(), KvFormats::default()).map_err(|e| e.to_string())?;
    let used: HashSet<&str> = model
        .graphs
        .iter()
        .flat_map(|(_, graph)| graph.inputs())
        .filter_map(|(source, _)| match source {
            Source::Weight(name) => Some(&**name),
            _ => None,
        })
        .chain(READ_EARLY.iter().copied())
        .collect();
    Ok(gguf.tensors().iter().map(|t| t.name.as_str()).filter(|name| !used.contains(name)).collect())
}
