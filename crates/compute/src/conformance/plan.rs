//! Plans built directly, as a compiler would lower them but without its passes: values are stored one after the other,
//! and states, weights and ports are in their places of the interface.

use crate::check::ARENA_ALIGN;
use crate::engine::Caps;
use crate::kernel::{Kernel, Layout, Numerics, Shape, Work};
use crate::plan::{Arg, Grid, Interface, Plan, Port, Region, StateSlot, Step, WeightSlot};
use inkstone_tensor::op::Mismatch;
use inkstone_tensor::{Op, Sizes, Type};
use std::sync::Arc;

/// The place of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) region: Region,
    pub(crate) ty: Type,
    offset: u64,
    value: u32,
}

/// How a step is done.
#[derive(Clone, Copy)]
pub(crate) struct How<'a> {
    pub(crate) kernel: &'a str,
    pub(crate) work: Work,
}

impl How<'_> {
    /// A kernel with one tile.
    #[cfg(test)]
    pub(crate) const EVAL: How<'static> = How { kernel: "eval", work: Work::WHOLE };
}

pub(crate) struct PlanBuilder {
    plan: Plan,
    interface: Interface,
    values: u32,
}

impl PlanBuilder {
    pub(crate) fn new(name: &str, bucket: Sizes) -> PlanBuilder {
        let plan = Plan {
            name: name.to_owned(),
            bucket,
            steps: Vec::new(),
            arena_bytes: 0,
            interface: Arc::new(Interface::default()),
        };
        PlanBuilder { plan, interface: Interface::default(), values: 0 }
    }

    fn place(&mut self, region: Region, ty: Type, offset: u64) -> Place {
        self.values += 1;
        Place { region, ty, offset, value: self.values - 1 }
    }

    pub(crate) fn weight(&mut self, name: &str, ty: Type, layout: Layout, numerics: Numerics) -> Place {
        self.interface.weights.push(WeightSlot { name: name.into(), ty, layout, numerics });
        self.place(Region::Weight(self.interface.weights.len() as u32 - 1), ty, 0)
    }

    pub(crate) fn state(&mut self, name: &str, ty: Type) -> Place {
        self.interface.states.push(StateSlot { name: name.into(), ty });
        self.place(Region::State(self.interface.states.len() as u32 - 1), ty, 0)
    }

    pub(crate) fn port(&mut self, port: Port, ty: Type) -> Place {
        self.interface.ports.push((port, ty));
        self.place(Region::Port(port), ty, 0)
    }

    /// A step that stores its results at the places `into`, then in the states among its operands, then in the arena.
    pub(crate) fn step(&mut self, how: How, op: Op, ins: &[Place], into: &[Place]) -> Result<Vec<Place>, Mismatch> {
        let types: Vec<Type> = ins.iter().map(|p| p.ty).collect();
        let results = op.infer(&types)?;
        let mut states = ins.iter().filter(|p| p.ty.state);
        let outs: Vec<Place> = results
            .iter()
            .enumerate()
            .map(|(i, ty)| match into.get(i) {
                Some(place) => *place,
                None if ty.state => {
                    let at = states.find(|p| p.ty == *ty).map_or((Region::Arena, 0), |p| (p.region, p.offset));
                    self.place(at.0, *ty, at.1)
                }
                None => {
                    let at = self.room(ty.bytes(&self.plan.bucket));
                    self.place(Region::Arena, *ty, at)
                }
            })
            .collect();
        let Work { tiling, scratch, first } = how.work;
        let grid = Grid::new(tiling, &types, &results);
        let scratch = match scratch {
            0 => 0..0,
            bytes => {
                let at = self.room(bytes);
                at..at + bytes
            }
        };
        let arg = |p: &Place, write| {
            let cut = grid.cut(&p.ty, write);
            Arg { region: p.region, offset: p.offset, ty: p.ty, value: p.value, write, cut }
        };
        let args = ins.iter().map(|p| arg(p, false)).chain(outs.iter().map(|p| arg(p, true))).collect();
        let kernel = how.kernel.to_owned();
        self.plan.steps.push(Step { op, kernel, args, grid, scratch, first, refused: Vec::new() });
        Ok(outs)
    }

    /// The first of so many bytes of the arena that nothing else has.
    fn room(&mut self, bytes: u64) -> u64 {
        let at = self.plan.arena_bytes;
        self.plan.arena_bytes += bytes.next_multiple_of(ARENA_ALIGN);
        at
    }

    pub(crate) fn finish(self) -> Plan {
        Plan { interface: Arc::new(self.interface), ..self.plan }
    }
}

impl<'a> How<'a> {
    /// As a kernel does it in plans of this bucket.
    pub(crate) fn by(
        kernel: &'a Kernel,
        op: &Op,
        ins: &[Type],
        bucket: Sizes,
        caps: &Caps,
    ) -> Result<How<'a>, Mismatch> {
        let outs = op.infer(ins)?;
        Ok(How { kernel: kernel.name, work: (kernel.work)(&Shape::new(op, ins, &outs, &bucket, caps)) })
    }
}
