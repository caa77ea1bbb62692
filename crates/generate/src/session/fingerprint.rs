//! What must be equal for saved rows to be the rows that a model would compute.

use super::checksum::checksum;
use crate::{Generator, Result};
use inkstone_compute::Interface;
use inkstone_model::ModelGraph;
use inkstone_tensor::WeightSource;

/// The number of bytes at each end of a weight that identify it.
const ENDS: usize = 2048;

/// Identifies the model, its caches and its arithmetic, in a form that does not depend on the size of the cache, the
/// number of sequences or the buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    /// The name of the engine's device.
    pub engine: String,
    /// The types of the caches.
    pub keys: String,
    pub values: String,
    /// A hash of the names and types of all states.
    pub states: u64,
    /// A hash of the shapes and constants, and of the names, types, and first and last bytes of all weights.
    pub model: u64,
    /// A hash of the arithmetic of all weights.
    pub numerics: u64,
}

impl Fingerprint {
    /// The fingerprint of a loaded model. It reads a few KB of each weight.
    ///
    /// # Errors
    /// A weight can't be read.
    pub fn of(generator: &Generator) -> Result<Fingerprint> {
        let (graph, interface) = (generator.graph(), generator.compiled().interface());
        let mut states: Vec<String> = interface.states.iter().map(|s| format!("{} {}\n", s.name, s.ty)).collect();
        states.sort_unstable();
        let mut numerics: Vec<String> =
            interface.weights.iter().map(|w| format!("{} {}\n", w.name, w.numerics)).collect();
        numerics.sort_unstable();
        let caps = generator.engine().caps();
        let on = if caps.device.is_empty() { String::new() } else { format!(" on {}", caps.device) };
        Ok(Fingerprint {
            engine: format!("{}{on}", caps.name),
            keys: graph.kv.keys.name().to_owned(),
            values: graph.kv.values.name().to_owned(),
            states: checksum(states.concat().as_bytes()),
            model: model(graph, interface)?,
            numerics: checksum(numerics.concat().as_bytes()),
        })
    }
}

fn model(graph: &ModelGraph, interface: &Interface) -> Result<u64> {
    let mut all = format!("{:?}\n", graph.config).into_bytes();
    let mut weights: Vec<_> = interface.weights.iter().collect();
    weights.sort_unstable_by_key(|w| &w.name);
    for weight in weights {
        all.extend_from_slice(format!("{} {}\n", weight.name, weight.ty).as_bytes());
        let bytes = weight.ty.bytes(&Default::default());
        add_ends(&*graph.weights, &weight.name, bytes, &mut all).map_err(inkstone_compute::Error::Source)?;
    }
    Ok(checksum(&all))
}

/// Appends the first and the last bytes of a weight.
fn add_ends(
    weights: &dyn WeightSource,
    name: &str,
    bytes: u64,
    all: &mut Vec<u8>,
) -> Result<(), inkstone_tensor::SourceError> {
    let len = usize::try_from(bytes).unwrap_or(usize::MAX).min(ENDS);
    for offset in [0, bytes - len as u64] {
        let start = all.len();
        all.resize(start + len, 0);
        weights.read(name, offset, &mut all[start..])?;
    }
    Ok(())
}
