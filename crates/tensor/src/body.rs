//! Straight-line lists of ops in SSA form: each value is defined once, by an input or by a node before its uses.

use crate::op::{Arrays, Consumed, Cost, Mismatch, Op, OpDef, Operands, Types};
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
    /// The operation.
    pub op: Op,
    /// From what.
    pub ins: SmallVec<[ValueId; 4]>,
    /// Into what.
    pub outs: SmallVec<[ValueId; 2]>,
}

impl Node {
    /// The states that it consumes, each with its next version: they are the last results, in the order of
    /// [`Op::consumes`].
    pub fn versions(&self) -> impl Iterator<Item = (ValueId, ValueId)> {
        let consumed = self.op.consumes();
        let first = self.outs.len().saturating_sub(consumed.len());
        let next = self.outs[first..].iter().copied();
        consumed.into_iter().filter_map(|i| self.ins.get(i).copied()).zip(next)
    }
}

/// Inputs, nodes in order, outputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// The type of every value.
    pub types: Vec<Type>,
    /// The inputs of the body.
    pub inputs: Vec<ValueId>,
    /// The operations, in order.
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
            let consumed = op.consumes();
            let operands = ins.iter().enumerate().map(|(i, v)| {
                let value = &mut values[v.at()];
                if consumed.contains(&i) { value.take() } else { value.clone() }.expect("defined and not consumed")
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
    /// The body that defines its meaning.
    pub body: Body,
}

impl OpDef for Region {
    fn name(&self) -> &'static str {
        "region"
    }

    fn attributes(&self) -> String {
        self.body.nodes.iter().map(|n| n.op.to_string()).collect::<Vec<_>>().join("; ")
    }

    /// The inputs that a node consumes, in their order. The last outputs are the newest versions of them.
    fn consumes(&self) -> Consumed {
        let consumed: SmallVec<[ValueId; 2]> =
            self.body.nodes.iter().flat_map(|n| n.versions().map(|(state, _)| state)).collect();
        (0..self.body.inputs.len()).filter(|i| consumed.contains(&self.body.inputs[*i])).collect()
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

    /// Of values what goes in and out; of states what its members read and write.
    fn cost(&self, ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        let mut cost = Cost { bytes: Cost::moved(ins, outs, sizes), flops: 0 };
        for n in &self.body.nodes {
            let (ins, outs) = (self.body.types_of(&n.ins), self.body.types_of(&n.outs));
            let member = n.op.cost(&ins, &outs, sizes);
            cost.flops = cost.flops.saturating_add(member.flops);
            if ins.iter().any(|t| t.state) {
                let states = member.bytes.saturating_sub(Cost::moved(&ins, &outs, sizes));
                cost.bytes = cost.bytes.saturating_add(states);
            }
        }
        cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Slots;
    use crate::ops::Advance;
    use crate::step::{ROWS, StepBuffer, carry::CARRY};
    use smallvec::smallvec;

    /// Advances two states.
    fn two_states() -> Region {
        let mut body = Body::default();
        let [a, b, c, d] = [0, 1, 2, 3].map(|_| body.value(CARRY));
        let rows = body.value(ROWS);
        let advance = |from, to| Node { op: Advance.into(), ins: smallvec![from, rows], outs: smallvec![to] };
        body.nodes = vec![advance(b, d), advance(a, c)];
        (body.inputs, body.outputs) = (vec![a, rows, b], vec![c, d]);
        Region { name: "two".to_owned(), body }
    }

    #[test]
    fn a_region_names_all_states_that_it_consumes_in_the_order_of_its_operands() {
        let region = two_states();
        assert_eq!(region.consumes()[..], [0, 2]);
        let node = &region.body.nodes[0];
        assert_eq!(node.versions().collect::<Vec<_>>(), [(ValueId(1), ValueId(3))]);
    }

    #[test]
    fn states_of_a_region_stay_where_they_are() {
        let words = StepBuffer::with_capacity(1, 1, 1, 1).encode(0, 0).to_vec();
        let step = StepView::new(&words).unwrap();
        let sizes = step.sizes(Slots::default());
        let state = || Array::of(&CARRY, &sizes).unwrap();
        let (first, second) = (state(), state());
        let at = [&first, &second].map(|a| a.bytes().as_ptr());
        let rows = Array::zeros(ROWS.dtype, 0, ROWS.cols).unwrap();
        // Within another region: its states pass through a node that consumes both.
        let inner = two_states();
        let mut body = Body { types: inner.body.types.clone(), ..Body::default() };
        (body.inputs, body.outputs) = (inner.body.inputs.clone(), inner.body.outputs.clone());
        let (ins, outs) = (body.inputs.iter().copied().collect(), body.outputs.iter().copied().collect());
        body.nodes = vec![Node { op: Op::Region(inner.into()), ins, outs }];
        let outer = Region { name: "outer".to_owned(), body };
        let outs = outer.eval(&step, Arrays::from_iter([first, rows, second]));
        assert_eq!([&outs[0], &outs[1]].map(|a| a.bytes().as_ptr()), at);
    }
}
