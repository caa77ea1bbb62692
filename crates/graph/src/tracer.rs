//! Tracing: a model is written against [`Tracer`], which types each op at once, so that an error carries the model's
//! own line. States are linear: [`State`] can't be copied, so Rust itself rejects a second use in a model file.

mod ops;
mod weights;

use crate::graph::{Graph, Source};
use crate::{Error, Result};
use inkstone_compute::Port;
use inkstone_tensor::body::{Node, ValueId};
use inkstone_tensor::op::Types;
use inkstone_tensor::ops::HISTORY;
use inkstone_tensor::step::carry::CARRY;
use inkstone_tensor::{DType, Op, Type, WeightSource};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;

/// What a node reads or makes.
type Operand = (ValueId, Type);

/// A handle to a value of the graph that is being traced.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    id: ValueId,
    ty: Type,
}

/// A handle to the newest version of a state. Writing moves it and gives back the next version, reading borrows it.
#[derive(Debug)]
#[must_use = "a state that is taken must be given back with Tracer::keep"]
pub struct State {
    id: ValueId,
    ty: Type,
    name: Arc<str>,
}

impl Value {
    /// Its dtype and shape.
    pub fn ty(self) -> Type {
        self.ty
    }

    fn operand(&self) -> Operand {
        (self.id, self.ty)
    }
}

impl State {
    /// Its dtype and shape.
    pub fn ty(&self) -> Type {
        self.ty
    }

    fn operand(&self) -> Operand {
        (self.id, self.ty)
    }
}

/// The interface with which models are written. Methods take `&self`, so that calls can be nested.
pub struct Tracer<'w> {
    weights: &'w dyn WeightSource,
    graph: RefCell<Graph>,
    /// Inputs that can be asked for again: all but states.
    shared: RefCell<HashMap<(Source, Type), ValueId>>,
}

impl<'w> Tracer<'w> {
    /// An empty graph; types and shapes of weights come from `weights`.
    pub fn new(name: impl Into<String>, weights: &'w dyn WeightSource) -> Tracer<'w> {
        Tracer { weights, graph: RefCell::new(Graph::new(name)), shared: RefCell::default() }
    }

    /// The verified graph.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every fault, such as a state that was not given back.
    pub fn finish(self) -> Result<Graph> {
        self.graph.into_inner().verified()
    }

    /// A value that another graph or the host produces.
    pub fn input(&self, port: Port, ty: Type) -> Value {
        Value { id: self.source(Source::Port(port), ty), ty }
    }

    /// Gives a value to other graphs or the host.
    pub fn output(&self, port: Port, value: Value) {
        self.give(Source::Port(port), value.id);
    }

    /// Takes the keys or the values of one layer in a layer group, `heads` rows of `dim` values a token in the encoding
    /// `dtype` ([`Type::cache`]); give it back with [`Tracer::keep`].
    pub fn cache(&self, name: &str, group: usize, dtype: DType, heads: usize, dim: usize) -> State {
        self.state(name, Type::cache(group, dtype, heads, dim))
    }

    /// Takes what sequences keep between steps.
    pub fn carry(&self) -> State {
        self.state("carry", CARRY)
    }

    /// Takes the tokens of all sequences, paged like a cache.
    pub fn history(&self) -> State {
        self.state("history", HISTORY)
    }

    /// Returns a state: the next step continues with this version.
    pub fn keep(&self, state: State) {
        self.give(Source::State(state.name), state.id);
    }

    pub(crate) fn state(&self, name: &str, ty: Type) -> State {
        let (name, ty): (Arc<str>, Type) = (name.into(), ty.state());
        State { id: self.source(Source::State(name.clone()), ty), ty, name }
    }

    /// A new input, or the one that there is of this source and type. A state is never shared.
    fn source(&self, source: Source, ty: Type) -> ValueId {
        if ty.state {
            return self.add_input(source, ty);
        }
        let mut shared = self.shared.borrow_mut();
        *shared.entry((source, ty)).or_insert_with_key(|(source, ty)| self.add_input(source.clone(), *ty))
    }

    fn add_input(&self, source: Source, ty: Type) -> ValueId {
        let mut g = self.graph.borrow_mut();
        let v = g.body.value(ty);
        g.body.inputs.push(v);
        g.inputs.push(source);
        v
    }

    fn give(&self, source: Source, v: ValueId) {
        let mut g = self.graph.borrow_mut();
        g.body.outputs.push(v);
        g.outputs.push(source);
    }

    /// Records a node; all its results.
    #[track_caller]
    fn node(&self, op: Op, operands: &[Operand]) -> Result<SmallVec<[Operand; 2]>> {
        let (mut g, at) = (self.graph.borrow_mut(), Location::caller());
        let body = &mut g.body;
        if let Some(operand) = operands.iter().position(|(v, ty)| body.types.get(v.at()) != Some(ty)) {
            return Err(Error::ForeignValue { at, op: op.name().to_owned(), operand });
        }
        let ins: Types = operands.iter().map(|(_, ty)| *ty).collect();
        let types = op.infer(&ins).map_err(|mismatch| Error::Operand { at, op: op.name().to_owned(), mismatch })?;
        let results: SmallVec<[Operand; 2]> = types.iter().map(|ty| (body.value(*ty), *ty)).collect();
        let outs = results.iter().map(|(v, _)| *v).collect();
        body.nodes.push(Node { op, ins: operands.iter().map(|(v, _)| *v).collect(), outs });
        g.at.push(at);
        Ok(results)
    }

    /// The same for an op with a single result.
    #[track_caller]
    fn single(&self, op: Op, operands: &[Operand]) -> Result<Operand> {
        let results = self.node(op, operands)?;
        debug_assert_eq!(results.len(), 1, "Tracer::op is for ops with several results");
        Ok(*results.first().expect("ops with a method of their own have a result"))
    }
}
