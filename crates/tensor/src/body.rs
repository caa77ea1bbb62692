//! Straight-line lists of ops in SSA form: each value is defined once, by an input or by a node before its uses.

use crate::op::{Arrays, Cost, Mismatch, Op, OpDef, Operands, Types};
use crate::step::StepView;
use crate::{Array, Sizes, Type};
use smallvec::SmallVec;
use std::fmt;

/// Index of a value in [`Body::types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

impl ValueId {
    /// As an index.
    pub const fn at(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ValueId {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// An op with its operands and results.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What is computed.
    pub op: Op,
    /// From what.
    pub ins: SmallVec<[ValueId; 4]>,
    /// Into what.
    pub outs: SmallVec<[ValueId; 2]>,
}

/// Inputs, nodes in order, outputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// The type of every value.
    pub types: Vec<Type>,
    /// Values that come from outside.
    pub inputs: Vec<ValueId>,
    /// What is computed, in order.
    pub nodes: Vec<Node>,
    /// Values that go outside.
    pub outputs: Vec<ValueId>,
}

impl Body {
    /// A new value.
    pub fn value(&mut self, ty: Type) -> ValueId {
        self.types.push(ty);
        ValueId(self.types.len() as u32 - 1)
    }

    /// The type of a value.
    pub fn ty(&self, v: ValueId) -> Type {
        self.types[v.at()]
    }

    /// The types of several values.
    pub fn types_of(&self, values: &[ValueId]) -> SmallVec<[Type; 4]> {
        values.iter().map(|v| self.ty(*v)).collect()
    }

    /// Evaluates the nodes in order with [`Op::eval`]. `input` gives the value of the i-th input. States are moved from
    /// node to node, never copied.
    ///
    /// # Panics
    /// If the body is not well-formed (graphs are verified when they are traced).
    pub fn eval(&self, step: &StepView, mut input: impl FnMut(usize) -> Array) -> Arrays {
        let mut values: Vec<Option<Array>> = vec![None; self.types.len()];
        for (i, v) in self.inputs.iter().enumerate() {
            values[v.at()] = Some(input(i));
        }
        for Node { op, ins, outs } in &self.nodes {
            let consumed = op.consumes().map(|i| ins[i]);
            let operands = ins.iter().map(|v| {
                let value = &mut values[v.at()];
                if consumed == Some(*v) { value.take() } else { value.clone() }.expect("defined and not consumed")
            });
            let operands = operands.collect();
            for (v, result) in outs.iter().zip(op.eval(step, operands)) {
                values[v.at()] = Some(result);
            }
        }
        self.outputs.iter().map(|v| values[v.at()].take().expect("an output is defined once")).collect()
    }
}

/// A body that a kernel can do in one go. Its meaning is its body, so that every engine can run it.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// Name, as kernels spell it.
    pub name: String,
    /// What it means.
    pub body: Body,
}

impl OpDef for Region {
    fn name(&self) -> &'static str {
        "region"
    }

    fn attributes(&self) -> String {
        self.body.nodes.iter().map(|n| n.op.to_string()).collect::<Vec<_>>().join("; ")
    }

    fn consumes(&self) -> Option<usize> {
        self.body.nodes.iter().find_map(|n| {
            let state = n.ins[n.op.consumes()?];
            self.body.inputs.iter().position(|v| *v == state)
        })
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(self.body.inputs.len(), self.body.inputs.len())?;
        for (i, v) in self.body.inputs.iter().enumerate() {
            ins.is(i, self.body.ty(*v))?;
        }
        Ok(self.body.outputs.iter().map(|v| self.body.ty(*v)).collect())
    }

    fn eval(&self, step: &StepView, ins: Arrays) -> Arrays {
        let mut ins: SmallVec<[Option<Array>; 8]> = ins.into_iter().map(Some).collect();
        self.body.eval(step, |i| ins[i].take().expect("each input is asked for once"))
    }

    fn cost(&self, ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        let flops = self.body.nodes.iter().fold(0u64, |sum, n| {
            let (ins, outs) = (self.body.types_of(&n.ins), self.body.types_of(&n.outs));
            sum.saturating_add(n.op.cost(&ins, &outs, sizes).flops)
        });
        Cost { bytes: Cost::moved(ins, outs, sizes), flops }
    }
}
