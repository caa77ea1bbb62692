//! Passes over graphs, one file each, and the information that they can query. See [`compile`](crate::compile()) for
//! their order.

pub mod choose;
pub mod legalise;
pub mod lower;
pub mod memory;
pub mod select;
pub mod simplify;

use crate::graph::{Graph, Source, Sources};
use crate::{Error, Kind, Result};
use inkstone_compute::{Caps, Choice, Grid, Layout, Numerics, Query, Region, Registry};
use inkstone_tensor::body::{Body, Node};
use inkstone_tensor::{DType, Dim, Op, Sizes, Type};
use select::Selection;
use smallvec::SmallVec;
use std::fmt;

/// A change to one graph that keeps its meaning.
pub type Pass = fn(&mut Graph, &Context) -> Result<Report>;

/// The information that passes can query: the device, its kernels, the choices for the whole model, and the bucket.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The capabilities of the device.
    pub caps: &'a Caps,
    /// The kernels that there are.
    pub registry: &'a Registry,
    /// Layouts and numerics; empty before [`select`].
    pub selection: &'a Selection,
    /// Upper bounds of the plan.
    pub bucket: Sizes,
    /// Names of fusions that are switched off.
    pub without: &'a [String],
}

/// Dtypes and layouts of the matrices among a node's operands, as queries name them.
pub(crate) type Matrices = SmallVec<[(DType, Layout); 2]>;

impl<'a> Context<'a> {
    /// The kernel for a node of `g`. `sources` are the sources of the values of `g`.
    ///
    /// # Errors
    /// [`Error::Compute`] if there is none.
    pub(crate) fn kernel(&self, g: &Graph, sources: &[Option<Source>], node: &Node) -> Result<Choice<'a>> {
        let choice = self.find(&g.body, sources, node);
        choice.map_err(|source| Error::Compute { graph: g.name.clone(), source })
    }

    /// The same for a node that may have none.
    pub(crate) fn find(
        &self,
        body: &Body,
        sources: &[Option<Source>],
        node: &Node,
    ) -> inkstone_compute::Result<Choice<'a>> {
        let slots = matrices(body, sources, node).filter_map(|(name, _)| self.selection.weight(name));
        let weights: Matrices = slots.map(|w| (w.ty.dtype, w.layout)).collect();
        let (ins, outs) = (body.types_of(&node.ins), body.types_of(&node.outs));
        let rows = Grid::along(&ins, &outs).at(&self.bucket);
        let (numerics, members) = match &node.op {
            Op::Region(region) => (None, self.members(&region.body, sources, node)),
            _ => (self.selection.numerics(body, sources, node), Vec::new()),
        };
        let (op, ins, outs) = (&node.op, &ins[..], &outs[..]);
        self.registry.find(&Query { op, weights: &weights, numerics, members: &members, rows, ins, outs }, self.caps)
    }

    /// The members of a region with the arithmetic that each would have as a separate op.
    fn members<'r>(&self, region: &'r Body, sources: &[Option<Source>], node: &Node) -> Vec<(&'r str, Numerics)> {
        let mut inner: Sources = vec![None; region.types.len()];
        for (input, v) in region.inputs.iter().zip(&node.ins) {
            inner[input.at()] = sources.get(v.at()).cloned().flatten();
        }
        let numerics = |member: &Node| self.selection.numerics(region, &inner, member);
        region.nodes.iter().filter_map(|member| Some((member.op.name(), numerics(member)?))).collect()
    }

    /// The memory that a source names.
    pub(crate) fn region(&self, source: &Source) -> Option<Region> {
        match source {
            Source::Weight(name) => self.selection.weight_id(name).map(Region::Weight),
            Source::State(name) => self.selection.state_id(name).map(Region::State),
            Source::Port(port) => Some(Region::Port(*port)),
        }
    }
}

/// Names and types of the weights among a node's operands that are matrices. Vectors have no layout to choose.
pub(crate) fn matrices<'g>(
    body: &'g Body,
    sources: &'g [Option<Source>],
    node: &'g Node,
) -> impl Iterator<Item = (&'g str, Type)> {
    node.ins.iter().filter_map(|v| match sources.get(v.at()) {
        Some(Some(Source::Weight(name))) => Some((&**name, body.ty(*v))).filter(|(_, ty)| ty.rows != Dim::N(1)),
        _ => None,
    })
}

/// A readable report of the changes made by passes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// In the order of the passes.
    pub notes: Vec<Note>,
}

/// A line of a [`Report`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Name of the pass.
    pub pass: &'static str,
    /// The subject of the entry: a graph or a weight.
    pub subject: String,
    /// The change.
    pub text: String,
    /// The plan that it worked for: of this kind, with room for this. None: all.
    pub plan: Option<(Kind, Sizes)>,
}

impl Report {
    /// A report of one line.
    pub(crate) fn line(pass: &'static str, subject: impl Into<String>, text: impl Into<String>) -> Report {
        Report { notes: vec![Note { pass, subject: subject.into(), text: text.into(), plan: None }] }
    }

    /// Adds the lines of another.
    pub(crate) fn add(&mut self, other: Report) {
        self.notes.extend(other.notes);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.notes.iter().try_for_each(|n| writeln!(f, "{:9} {:12} {}", n.pass, n.subject, n.text))
    }
}
