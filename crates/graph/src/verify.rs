//! The verifier: a small type and borrow check that reports every fault. It runs on every graph that is traced or made
//! from parts and, in tests and debug builds, after every pass.

use crate::graph::{Graph, Source};
use inkstone_tensor::body::{Body, Node, ValueId};
use inkstone_tensor::{Dim, Op, Sizes, Type};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::panic::Location;

/// A rule that a graph breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The input, node or output: "node 3 (linear)".
    pub entity: String,
    /// The description of the fault.
    pub text: String,
    /// The model's line that it comes from.
    pub at: Option<&'static Location<'static>>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.entity, self.text)?;
        self.at.map_or(Ok(()), |at| write!(f, ", at {at}"))
    }
}

/// Regions within regions.
const MAX_DEPTH: usize = 8;

/// Everything that is wrong with a graph.
pub(crate) fn verify(g: &Graph) -> Vec<Fault> {
    let mut faults = Vec::new();
    let counts = [
        ("inputs", g.inputs.len(), g.body.inputs.len()),
        ("outputs", g.outputs.len(), g.body.outputs.len()),
        ("nodes", g.at.len(), g.body.nodes.len()),
    ];
    for (what, found, expected) in counts.into_iter().filter(|(_, found, expected)| found != expected) {
        let text = format!("{found} sources or lines for {expected} {what}");
        faults.push(Fault { entity: "graph".to_owned(), text, at: None });
    }
    if faults.is_empty() {
        let mut check = Check::new(&g.body, String::new(), &mut faults);
        check.body(|i| Some(g.at[i]), 0);
        check.sources(g);
    }
    faults
}

/// A value of the body under check.
#[derive(Clone, Default)]
struct Known {
    defined: bool,
    /// The node that consumed it.
    consumed: Option<String>,
    /// The input whose newer version it is, or is itself.
    state_of: Option<ValueId>,
    /// Made by a node.
    computed: bool,
}

struct Check<'a> {
    body: &'a Body,
    known: Vec<Known>,
    /// Before the names of entities: the regions that the body is in.
    path: String,
    faults: &'a mut Vec<Fault>,
}

impl<'a> Check<'a> {
    fn new(body: &'a Body, path: String, faults: &'a mut Vec<Fault>) -> Check<'a> {
        Check { body, known: vec![Known::default(); body.types.len()], path, faults }
    }

    fn fault(&mut self, entity: &str, text: impl Into<String>, at: Option<&'static Location<'static>>) {
        self.faults.push(Fault { entity: format!("{}{entity}", self.path), text: text.into(), at });
    }

    /// Inputs, nodes and outputs in order.
    fn body(&mut self, at: impl Fn(usize) -> Option<&'static Location<'static>>, depth: usize) {
        let body = self.body;
        for (i, &v) in body.inputs.iter().enumerate() {
            let entity = format!("input {i}");
            self.define(&entity, v, None);
            if let Some(known) = self.known.get_mut(v.at()) {
                known.state_of = body.ty(v).state.then_some(v);
            }
        }
        for (i, node) in body.nodes.iter().enumerate() {
            self.node(&format!("node {i} ({})", node.op.name()), node, at(i), depth);
        }
        let mut seen = HashSet::new();
        for (i, &v) in body.outputs.iter().enumerate() {
            let entity = format!("output {i}");
            self.usable(&entity, v, None);
            if !seen.insert(v) {
                self.fault(&entity, format!("{v} is an output twice"), None);
            }
        }
    }

    fn node(&mut self, entity: &str, node: &Node, at: Option<&'static Location<'static>>, depth: usize) {
        let Node { op, ins, outs } = node;
        let body = self.body;
        for &v in ins {
            self.usable(entity, v, at);
        }
        for &v in outs {
            self.define(entity, v, at);
        }
        let mut sound = ins.iter().chain(outs).all(|v| v.at() < body.types.len());
        if let Op::Region(region) = op {
            if depth == MAX_DEPTH {
                return self.fault(entity, format!("regions nest deeper than {MAX_DEPTH}"), at);
            }
            let before = self.faults.len();
            let path = format!("{}{entity} ", self.path);
            let mut inner = Check::new(&region.body, path, self.faults);
            inner.body(|_| at, depth + 1);
            inner.region_states(at);
            // The types and states of a region that is not sound can't be asked for.
            sound &= self.faults.len() == before;
        }
        if sound {
            self.types(entity, node, at);
            self.consume(entity, node, at);
        }
        for v in outs {
            if let Some(known) = self.known.get_mut(v.at()) {
                known.computed = true;
            }
        }
    }

    /// The results are of the types that the op infers.
    fn types(&mut self, entity: &str, Node { op, ins, outs }: &Node, at: Option<&'static Location<'static>>) {
        let found = self.body.types_of(outs);
        let print = |types: &[Type]| types.iter().map(Type::to_string).collect::<Vec<_>>().join(" ");
        match op.infer(&self.body.types_of(ins)) {
            Err(mismatch) => self.fault(entity, mismatch.to_string(), at),
            Ok(types) if types[..] != found[..] => {
                self.fault(entity, format!("results are {}, expected {}", print(&found), print(&types)), at);
            }
            Ok(_) => {}
        }
    }

    /// States that are consumed live on in the last results, and states come from nowhere else.
    fn consume(&mut self, entity: &str, node: &Node, at: Option<&'static Location<'static>>) {
        let body = self.body;
        let versions: Vec<(ValueId, ValueId)> = node.versions().collect();
        for &v in node.outs.iter().filter(|v| body.ty(**v).state && !versions.iter().any(|(_, next)| next == *v)) {
            self.fault(entity, format!("{v} is a state that comes from none"), at);
        }
        for state in node.op.consumes().into_iter().filter_map(|i| node.ins.get(i).copied()) {
            if node.ins.iter().filter(|v| **v == state).count() > 1 {
                self.fault(entity, format!("{state} is consumed and read by the same node"), at);
            }
            match versions.iter().find(|(consumed, _)| *consumed == state) {
                Some((_, next)) if body.ty(*next) == body.ty(state) => {
                    self.known[next.at()].state_of = self.known[state.at()].state_of;
                }
                _ => {
                    self.fault(
                        entity,
                        format!("{state} is consumed, but no result in its place is its next version"),
                        at,
                    );
                }
            }
            self.known[state.at()].consumed = Some(entity.to_owned());
        }
    }

    /// A value that is defined here: in range, once, of a type that has bytes.
    fn define(&mut self, entity: &str, v: ValueId, at: Option<&'static Location<'static>>) {
        let Some(known) = self.known.get_mut(v.at()) else {
            let text = format!("{v} is not one of {} values", self.known.len());
            return self.fault(entity, text, at);
        };
        let twice = std::mem::replace(&mut known.defined, true);
        if twice {
            self.fault(entity, format!("{v} is defined twice"), at);
        }
        let ty = self.body.ty(v);
        if ty.dtype.row_bytes(ty.cols).is_none_or(|bytes| bytes == 0) || ty.bytes(&Sizes::default()) == u64::MAX {
            self.fault(entity, format!("{v} is {ty}, whose rows are not a whole number of blocks"), at);
        }
    }

    /// A value that can be used here: in range, defined, not consumed.
    fn usable(&mut self, entity: &str, v: ValueId, at: Option<&'static Location<'static>>) {
        let text = match self.known.get(v.at()) {
            None => format!("{v} is not one of {} values", self.known.len()),
            Some(known) if !known.defined => format!("{v} is used before it is defined"),
            Some(Known { consumed: Some(by), .. }) => format!("{v} is used after {by} consumed it"),
            Some(_) => return,
        };
        self.fault(entity, text, at);
    }

    /// The states that a region updates are its last outputs, in the order of the inputs.
    fn region_states(&mut self, at: Option<&'static Location<'static>>) {
        let consumed: Vec<ValueId> = self
            .body
            .inputs
            .iter()
            .copied()
            .filter(|v| self.known.get(v.at()).is_some_and(|k| k.consumed.is_some()))
            .collect();
        let outputs = &self.body.outputs;
        let last = &outputs[outputs.len().saturating_sub(consumed.len())..];
        for (i, state) in consumed.into_iter().enumerate() {
            if last.get(i).and_then(|v| self.known.get(v.at())).and_then(|k| k.state_of) != Some(state) {
                self.fault(
                    "region",
                    format!("the last version of {state} is not in its place of the last outputs"),
                    at,
                );
            }
        }
    }

    /// Rules of sources: each once, of the right kind of type; states come back as what they are.
    fn sources(&mut self, g: &Graph) {
        let mut inputs: HashMap<&Source, ValueId> = HashMap::new();
        for (i, (source, v)) in g.inputs().enumerate() {
            let entity = format!("input {i} ({source})");
            if inputs.contains_key(source) {
                self.fault(&entity, "is an input twice", None);
            }
            inputs.entry(source).or_insert(v);
            let Some(ty) = self.body.types.get(v.at()) else { continue };
            let fits = match source {
                Source::Weight(_) => !ty.state && matches!(ty.rows, Dim::N(_)),
                Source::State(_) => ty.state,
                Source::Port(_) => !ty.state,
            };
            if !fits {
                self.fault(&entity, format!("can't be {ty}"), None);
            }
        }
        let mut outputs: HashSet<&Source> = HashSet::new();
        for (i, (source, v)) in g.outputs().enumerate() {
            let entity = format!("output {i} ({source})");
            if !outputs.insert(source) {
                self.fault(&entity, "is an output twice", None);
            }
            self.output(inputs.get(source).copied(), &entity, source, v);
        }
        let lost = |source: &&Source| matches!(source, Source::State(_)) && !outputs.contains(source);
        for source in g.inputs.iter().filter(lost) {
            self.fault("graph", format!("{source} is taken, but its last version is not an output"), None);
        }
    }

    /// `input` is the value that comes from where this one goes.
    fn output(&mut self, input: Option<ValueId>, entity: &str, source: &Source, v: ValueId) {
        let Some(known) = self.known.get(v.at()).cloned() else { return };
        match source {
            Source::Weight(_) => self.fault(entity, "a weight can't be an output", None),
            Source::State(_) if input.is_none() => self.fault(entity, "was not taken", None),
            Source::State(_) if known.state_of != input => {
                self.fault(entity, format!("{v} is not a version of it"), None)
            }
            Source::State(_) => {}
            Source::Port(_) => self.port(input, entity, v, &known),
        }
    }

    fn port(&mut self, input: Option<ValueId>, entity: &str, v: ValueId, known: &Known) {
        if self.body.ty(v).state {
            self.fault(entity, format!("can't be {}", self.body.ty(v)), None);
        } else if !known.computed {
            self.fault(entity, format!("{v} is not computed by a node"), None);
        }
        if input.is_some() {
            self.fault(entity, "is also an input", None);
        }
    }
}

#[cfg(test)]
mod tests;
