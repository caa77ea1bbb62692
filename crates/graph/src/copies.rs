//! The graph that copies pages, made from the graphs that use them.

use crate::graph::{Graph, Source};
use crate::kind::{Kind, Part};
use crate::{Result, Tracer};
use inkstone_tensor::{Dim, NoWeights};
use std::collections::BTreeSet;

/// A graph that copies pages, as the step says, in every paged state that these graphs name: keys, values and the history. The
/// states are in the order in which they are named. Graphs of [`Part::Copy`] don't count, so that the graph can be made anew
/// when others change.
///
/// ```
/// use inkstone_graph::{Kind, Tracer, copies};
/// use inkstone_tensor::NoWeights;
///
/// let t = Tracer::new("body", &NoWeights);
/// t.keep(t.history());
/// let mut graphs = vec![(Kind::BODY, t.finish()?)];
/// graphs.push((Kind::COPY, copies(&graphs)?));
/// assert!(graphs[1].1.to_string().contains("kv_copy"));
/// # Ok::<(), inkstone_graph::Error>(())
/// ```
///
/// # Errors
/// A state that can't be copied, because its layer group is none of a step's.
pub fn copies(graphs: &[(Kind, Graph)]) -> Result<Graph> {
    let t = Tracer::new("copy", &NoWeights);
    let mut known = BTreeSet::new();
    for (_, graph) in graphs.iter().filter(|(kind, _)| kind.part != Part::Copy) {
        for (source, v) in graph.inputs() {
            let (Source::State(name), ty) = (source, graph.body().ty(v)) else { continue };
            if matches!(ty.rows, Dim::Slots { .. }) && known.insert(name) {
                t.keep(t.kv_copy(t.state(name, ty))?);
            }
        }
    }
    t.finish()
}
