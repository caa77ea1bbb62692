//! A plan with its buffers: its steps in order, each on values that are read from memory and written to it.

use crate::engine::Plain;
use crate::kernels::Entry;
use crate::memory::Memory;
use inkstone::compute::{Arg, Bindings, Error, Executable, Plan, Region, Registry, Result, Step, check_indices};
use inkstone::tensor::op::Arrays;
use inkstone::tensor::step::StepView;
use inkstone::tensor::{Array, NoMemory, Sizes, Type};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A plan that is ready to run.
pub struct Program {
    plan: Arc<Plan>,
    bind: Bindings,
    /// The kernel of each step.
    entries: Vec<Entry>,
}

impl Executable for Program {
    fn plan(&self) -> &Plan {
        &self.plan
    }
}

impl Program {
    /// Checks everything that the steps rely on, because anyone can make a plan.
    pub fn new(plan: Arc<Plan>, bind: Bindings, registry: &Registry) -> Result<Program> {
        plan.check()?;
        bind.check(&plan)?;
        let program = Program { entries: entries(&plan, registry)?, plan, bind };
        program.memory_of_step()?;
        for arg in program.plan.steps.iter().flat_map(|step| &step.args) {
            match arg.region {
                Region::Weight(id) => drop(program.weight(id, arg.ty)?),
                region => drop(program.memory(region)?),
            }
        }
        Ok(program)
    }

    /// Runs the plan on what the step buffer holds.
    pub fn run(&self) -> Result<()> {
        let words = self.memory_of_step()?.words();
        let view = StepView::new(words.all())?;
        let sizes = view.sizes(self.plan.bucket.slots);
        let (rows, logit_rows) = (self.plan.bucket.rows, self.plan.bucket.logit_rows);
        let counts = [("rows", sizes.rows, rows), ("logit rows", sizes.logit_rows, logit_rows)];
        if let Some((what, value, limit)) = counts.into_iter().find(|(_, value, limit)| value > limit) {
            return Err(Error::TooLarge { what, value, limit, plan: self.plan.name.clone() });
        }
        // A step without tiles has nothing to compute.
        let steps = self.plan.steps.iter().zip(&self.entries).enumerate();
        let mut steps = steps.filter(|(_, (step, _))| step.grid.tiles(&sizes) > 0);
        steps.try_for_each(|(index, (step, entry))| self.step(index, step, *entry, &view, &sizes))
    }

    fn step(&self, index: usize, step: &Step, entry: Entry, view: &StepView, sizes: &Sizes) -> Result<()> {
        // A step may name pages and tokens that are not there, on which a definition panics. No state is taken before.
        let seen = step.ins().map(|arg| self.operand(arg, sizes, false)).collect::<Result<Arrays>>()?;
        check_indices(&step.op, view, &seen, sizes)?;
        drop(seen);
        let consumed = |region| step.outs().any(|out| out.region == region);
        let ins = step.ins().map(|arg| self.operand(arg, sizes, consumed(arg.region))).collect::<Result<Arrays>>()?;
        let results = catch_unwind(AssertUnwindSafe(|| entry(&step.op, view, ins))).map_err(|_| Error::Panicked {
            plan: self.plan.name.clone(),
            step: index,
            op: step.op.name().to_owned(),
            message: "a kernel panicked".to_owned(),
        })?;
        for (arg, result) in step.outs().zip(results) {
            let memory = self.memory(arg.region)?;
            if !result.is_of(&arg.ty) {
                let (plan, op) = (self.plan.name.clone(), step.op.name().to_owned());
                let (found, expected) = (format!("{result:?}"), arg.ty.to_string());
                return Err(Error::KernelResult { plan, step: index, op, found, expected });
            }
            if arg.ty.state {
                memory.put_back(result);
            } else {
                memory.write(arg.offset as usize, result.bytes())?;
            }
        }
        Ok(())
    }

    /// An operand: a weight as it was loaded, a state in place, another value as a copy.
    fn operand(&self, arg: &Arg, sizes: &Sizes, consumed: bool) -> Result<Array> {
        match arg.region {
            Region::Weight(id) => self.weight(id, arg.ty),
            Region::State(_) => {
                let memory = self.memory(arg.region)?;
                let words = if consumed { memory.take() } else { memory.words() };
                let value = Array::from_memory(&arg.ty, sizes, words.into_memory());
                value.ok_or_else(|| self.unbound(arg.region))
            }
            region => {
                let mut value = Array::of(&arg.ty, sizes).map_err(no_memory)?;
                self.memory(region)?.read(arg.offset as usize, value.bytes_mut())?;
                Ok(value)
            }
        }
    }

    fn weight(&self, id: u32, ty: Type) -> Result<Array> {
        let weights: &Vec<(Type, Array)> = self.bind.weights.get(Plain::NAME)?;
        let found = weights.get(id as usize).filter(|(found, _)| *found == ty);
        found.map(|(_, array)| array.clone()).ok_or_else(|| self.unbound(Region::Weight(id)))
    }

    fn memory(&self, region: Region) -> Result<&Memory> {
        self.bind.buffer(region).ok_or_else(|| self.unbound(region))?.get(Plain::NAME)
    }

    fn memory_of_step(&self) -> Result<&Memory> {
        self.bind.step.get(Plain::NAME)
    }

    fn unbound(&self, region: Region) -> Error {
        Error::Unbound { plan: self.plan.name.clone(), region, bytes: self.plan.bytes_of(region), bound: 0 }
    }
}

/// The kernel that each step names, if it is there and does what the step means.
fn entries(plan: &Plan, registry: &Registry) -> Result<Vec<Entry>> {
    let entry = |(index, step): (usize, &Step)| {
        let kernel = registry.get(&step.kernel).filter(|kernel| kernel.implements.covers(&step.op));
        let bad = || Error::BadPlan {
            plan: plan.name.clone(),
            step: index,
            op: step.op.name().to_owned(),
            fault: format!("no kernel {} for it", step.kernel),
        };
        let (kernel, engine) = (kernel.ok_or_else(bad)?, Plain::NAME.to_owned());
        let name = kernel.name.to_owned();
        let expected = "a function from operands to results";
        kernel.entry.downcast_ref::<Entry>().copied().ok_or(Error::KernelEntry { kernel: name, engine, expected })
    };
    plan.steps.iter().enumerate().map(entry).collect()
}

fn no_memory(source: NoMemory) -> Error {
    Error::NoMemory { what: "a value", source }
}

/// Something that another engine made.
pub fn foreign(what: &'static str) -> Error {
    Error::Foreign { what, engine: Plain::NAME.to_owned() }
}
