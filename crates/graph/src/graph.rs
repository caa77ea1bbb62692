//! The graph: a straight-line body in SSA form whose inputs and outputs have names. Graphs that others can get at are
//! verified, so that what comes after need not check again.

use crate::verify::{Fault, verify};
use crate::{Error, Result};
use inkstone_compute::Port;
use inkstone_tensor::body::{Body, Node, ValueId};
use inkstone_tensor::op::Arrays;
use inkstone_tensor::step::StepView;
use inkstone_tensor::{Array, Dim, Op, Slots, Type};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// Where an input comes from, or where an output goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Source {
    /// The weight of this name; never an output.
    Weight(Arc<str>),
    /// The state of this name: a cache, the carry, the history. The graph returns each state, unchanged or as a new
    /// version.
    State(Arc<str>),
    /// A value that other graphs or the host produce or read.
    Port(Port),
}

/// By value: where it comes from, if it is an input.
pub(crate) type Sources = Vec<Option<Source>>;

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Source::Weight(name) => write!(f, "weight {name}"),
            Source::State(name) => write!(f, "state {name}"),
            Source::Port(port) => write!(f, "port {port}"),
        }
    }
}

/// A traced part of a model. Its `Display` is stable; `{:#}` adds the line of the model that each node comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    pub(crate) name: String,
    pub(crate) body: Body,
    /// One for each of the body's inputs.
    pub(crate) inputs: Vec<Source>,
    /// One for each of the body's outputs.
    pub(crate) outputs: Vec<Source>,
    /// One for each of the body's nodes.
    pub(crate) at: Vec<&'static Location<'static>>,
}

impl Graph {
    /// An empty graph.
    pub(crate) fn new(name: impl Into<String>) -> Graph {
        Graph { name: name.into(), body: Body::default(), inputs: Vec::new(), outputs: Vec::new(), at: Vec::new() }
    }

    /// A graph from its parts: the sources of the body's inputs and of its outputs, and the line of each node.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every fault.
    pub fn from_parts(
        name: impl Into<String>,
        body: Body,
        inputs: Vec<Source>,
        outputs: Vec<Source>,
        at: Vec<&'static Location<'static>>,
    ) -> Result<Graph> {
        Graph { name: name.into(), body, inputs, outputs, at }.verified()
    }

    /// The graph, if it has no fault.
    pub(crate) fn verified(self) -> Result<Graph> {
        let faults = self.faults();
        if faults.is_empty() { Ok(self) } else { Err(Error::Invalid { graph: self.name, faults }) }
    }

    /// The same graph as a part of model `of` of a compile: its ports are those of that model, and `prefix` is put before
    /// the names of its weights and states, and its own. Without a prefix, it shares them with the target.
    pub fn of_model(mut self, of: u8, prefix: &str) -> Graph {
        self.name.insert_str(0, prefix);
        for source in self.inputs.iter_mut().chain(&mut self.outputs) {
            match source {
                Source::Weight(name) | Source::State(name) => *name = format!("{prefix}{name}").into(),
                Source::Port(port) => port.of = of,
            }
        }
        self
    }

    /// Everything that is wrong with it.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        verify(self)
    }

    /// Its name, which is also the name of its plans.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Types, nodes, ids of inputs and outputs.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// Inputs in order.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = (&Source, ValueId)> {
        self.inputs.iter().zip(self.body.inputs.iter().copied())
    }

    /// Outputs in order.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = (&Source, ValueId)> {
        self.outputs.iter().zip(self.body.outputs.iter().copied())
    }

    /// The source of each value that is an input, by value.
    pub(crate) fn sources(&self) -> Sources {
        let mut sources = vec![None; self.body.types.len()];
        self.inputs().for_each(|(source, v)| sources[v.at()] = Some(source.clone()));
        sources
    }

    /// The meaning of the graph on one step: node by node with [`Op::eval`]. It is the oracle of the compiler. `input`
    /// gives what a source holds; the outputs come back in order, states moved, not copied.
    ///
    /// # Errors
    /// [`Error::Input`] if a source gives something of another type.
    ///
    /// # Panics
    /// If the step names rows, pages or tokens that are not there.
    pub fn interpret(&self, step: &StepView, mut input: impl FnMut(&Source) -> Array) -> Result<Arrays> {
        let mut given = Vec::with_capacity(self.inputs.len());
        for (source, v) in self.inputs() {
            let (ty, array) = (self.body.ty(v), input(source));
            let rows = match ty.rows {
                Dim::Slots { .. } => array.rows(),
                rows => rows.at(&step.sizes(Slots::default())),
            };
            if !array.is_of(&ty) || array.rows() != rows {
                let (source, found) = (source.to_string(), format!("{array:?}"));
                return Err(Error::Input { source_name: source, found, expected: ty.to_string() });
            }
            given.push(Some(array));
        }
        Ok(self.body.eval(step, |i| given[i].take().expect("each input is asked for once")))
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "graph {}", self.name)?;
        for (source, v) in self.inputs() {
            writeln!(f, "  {v} = {source}  {}", self.body.ty(v))?;
        }
        for (Node { op, ins, outs }, at) in self.body.nodes.iter().zip(&self.at) {
            let ids = |ids: &[ValueId]| ids.iter().map(ValueId::to_string).collect::<Vec<_>>().join(" ");
            let types: Vec<String> = self.body.types_of(outs).iter().map(Type::to_string).collect();
            write!(f, "  {} = {} {}  {}", ids(outs), op.name(), ids(ins), types.join(" "))?;
            match op {
                Op::Region(_) => {}
                op if op.attributes().is_empty() => {}
                op => write!(f, "  {}", op.attributes())?,
            }
            if f.alternate() {
                write!(f, "  # {at}")?;
            }
            writeln!(f)?;
        }
        self.outputs().try_for_each(|(source, v)| writeln!(f, "  {source} <- {v}"))
    }
}
