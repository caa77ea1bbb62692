//! Two ways to run a model for some steps: graphs with `interpret`, and plans on a byte arena.

use super::*;
use inkstone_compute::{Arg, Interface, Plan, Region};
use inkstone_graph::Source;
use inkstone_tensor::op::Arrays;
use inkstone_tensor::step::carry::{CARRY, LEFT, word};
use inkstone_tensor::step::{SEQS, StepView};
use inkstone_tensor::{Array, Sizes, Slots};
use std::collections::BTreeMap;

fn state(name: &str, ty: &Type, slots: Slots) -> Array {
    let sizes = Sizes { slots, ..Sizes::default() };
    let mut array = Array::of(ty, &sizes).unwrap();
    if name.ends_with("carry") {
        assert!(array.is_of(&CARRY));
        (0..SEQS).for_each(|slot| array.all_mut::<u32>()[word(LEFT, slot)] = 100);
    }
    array
}

fn weight(w: &Tensors, name: &str, ty: &Type) -> Array {
    Array::shared(ty.dtype, ty.rows.at(&Sizes::default()), ty.cols, w.bytes(name).unwrap()).unwrap()
}

/// States and ports by name.
pub struct Eager<'w> {
    weights: &'w Tensors,
    slots: Slots,
    pub states: BTreeMap<String, Array>,
    pub ports: BTreeMap<Port, Array>,
}

impl<'w> Eager<'w> {
    pub fn new(weights: &'w Tensors, slots: Slots) -> Eager<'w> {
        Eager { weights, slots, states: BTreeMap::new(), ports: BTreeMap::new() }
    }

    pub fn run(&mut self, g: &Graph, words: &[u32]) {
        let step = StepView::new(words).unwrap();
        let types: BTreeMap<String, Type> = g.inputs().map(|(s, v)| (s.to_string(), g.body().ty(v))).collect();
        let outs = g.interpret(&step, |source| match source {
            Source::Weight(name) => weight(self.weights, name, &types[&source.to_string()]),
            Source::State(name) => {
                self.states.remove(&**name).unwrap_or_else(|| state(name, &types[&source.to_string()], self.slots))
            }
            Source::Port(port) => self.ports[port].clone(),
            _ => unreachable!(),
        });
        for ((source, _), array) in g.outputs().zip(outs.unwrap()) {
            match source {
                Source::State(name) => drop(self.states.insert(name.to_string(), array)),
                Source::Port(port) => drop(self.ports.insert(*port, array)),
                source => unreachable!("{source}"),
            }
        }
    }
}

/// Runs plans with the ops' definitions: operands are copied out of the bytes that the plan names, results into them.
pub struct Machine {
    weights: Vec<Array>,
    states: Vec<Option<Array>>,
    pub ports: BTreeMap<Port, Array>,
    arena: Vec<u8>,
    interface: Arc<Interface>,
    slots: Slots,
}

impl Machine {
    pub fn new(interface: &Arc<Interface>, weights: &Tensors, slots: Slots) -> Machine {
        Machine {
            weights: interface.weights.iter().map(|w| weight(weights, &w.name, &w.ty)).collect(),
            states: interface.states.iter().map(|s| Some(state(&s.name, &s.ty, slots))).collect(),
            ports: BTreeMap::new(),
            arena: Vec::new(),
            interface: interface.clone(),
            slots,
        }
    }

    pub fn state(&self, name: &str) -> &Array {
        self.states[self.interface.state(name).unwrap() as usize].as_ref().unwrap()
    }

    pub fn run(&mut self, plan: &Plan, words: &[u32]) {
        let step = StepView::new(words).unwrap();
        let sizes = step.sizes(self.slots);
        assert!(
            sizes.rows <= plan.bucket.rows && sizes.logit_rows <= plan.bucket.logit_rows,
            "no room in {}",
            plan.name
        );
        // NaN wherever nobody has written.
        self.arena = vec![0xff; plan.arena_bytes as usize];
        for s in &plan.steps {
            // What scratch held is gone.
            self.arena[s.scratch.start as usize..s.scratch.end as usize].fill(0xff);
            let consumed = s.op.consumes();
            let ins: Arrays = s.ins().enumerate().map(|(i, a)| self.read(a, &sizes, consumed.contains(&i))).collect();
            for (a, array) in s.outs().zip(s.op.eval(&step, ins)) {
                self.write(a, array);
            }
        }
    }

    fn range(a: &Arg, sizes: &Sizes) -> std::ops::Range<usize> {
        let start = a.offset as usize;
        start..start + a.ty.bytes(sizes) as usize
    }

    fn read(&mut self, a: &Arg, sizes: &Sizes, consumed: bool) -> Array {
        match a.region {
            Region::Weight(i) => self.weights[i as usize].clone(),
            Region::State(i) if consumed => self.states[i as usize].take().unwrap(),
            Region::State(i) => self.states[i as usize].clone().unwrap(),
            Region::Port(port) => self.ports[&port].clone(),
            Region::Arena => Array::from_bytes(a.ty.dtype, a.ty.cols, &self.arena[Self::range(a, sizes)]).unwrap(),
            region => unreachable!("{region}"),
        }
    }

    fn write(&mut self, a: &Arg, array: Array) {
        assert!(array.is_of(&a.ty));
        match a.region {
            Region::State(i) => self.states[i as usize] = Some(array),
            Region::Port(port) => drop(self.ports.insert(port, array)),
            Region::Arena => self.arena[a.offset as usize..][..array.bytes().len()].copy_from_slice(array.bytes()),
            region => unreachable!("{region}"),
        }
    }
}
