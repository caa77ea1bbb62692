//! A plan with its buffers: steps in order, each evaluated on values that are read from and written to memory.

use super::ReferenceKernel;
use super::memory::{Memory, Taken};
use super::weights::Loaded;
use crate::engine::{Bindings, Executable};
use crate::indices::check_indices;
use crate::plan::{Arg, Plan, Region, Step};
use crate::{Error, Reference, Result};
use inkstone_tensor::op::Arrays;
use inkstone_tensor::step::StepView;
use inkstone_tensor::{Array, NoMemory, Sizes};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

pub(super) struct Program {
    plan: Arc<Plan>,
    bind: Bindings,
    /// For each step its custom kernel, if it has one.
    kernels: Vec<Option<ReferenceKernel>>,
}

impl Executable for Program {
    fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// States that a step took, with the regions that they are.
type States<'a> = SmallVec<[(Region, Taken<'a>); 2]>;

impl Program {
    /// Checks plan, buffers and weights.
    pub(super) fn new(plan: Arc<Plan>, bind: Bindings, kernels: Vec<Option<ReferenceKernel>>) -> Result<Program> {
        plan.check()?;
        bind.check(&plan)?;
        bind.step.get::<Memory>(Reference::NAME)?;
        bind.arena.get::<Memory>(Reference::NAME)?;
        for buffer in bind.states.iter().chain(bind.ports.iter().map(|(_, b)| b)) {
            buffer.get::<Memory>(Reference::NAME)?;
        }
        let loaded: &Loaded = bind.weights.get(Reference::NAME)?;
        for (id, slot) in plan.interface.weights.iter().enumerate() {
            let region = Region::Weight(id as u32);
            match loaded.slots.get(id) {
                Some(found) if found.ty == slot.ty => {}
                Some(found) => {
                    let (tensor, expected) = (found.name.to_string(), slot.ty.to_string());
                    return Err(Error::WeightType { tensor, found: found.ty.to_string(), expected });
                }
                None if plan.steps.iter().all(|s| s.args.iter().all(|a| a.region != region)) => {}
                None => {
                    let bytes = slot.ty.bytes(&plan.bucket);
                    return Err(Error::Unbound { plan: plan.name.clone(), region, bytes, bound: 0 });
                }
            }
        }
        Ok(Program { plan, bind, kernels })
    }

    /// Runs the plan on what the step buffer holds.
    pub(super) fn run(&self) -> Result<()> {
        let words = self.bind.step.get::<Memory>(Reference::NAME)?.words();
        let step = StepView::new(&words)?;
        let bucket = self.plan.bucket;
        let sizes = step.sizes(bucket.slots);
        for (what, value, limit) in
            [("rows", sizes.rows, bucket.rows), ("logit rows", sizes.logit_rows, bucket.logit_rows)]
        {
            if value > limit {
                return Err(Error::TooLarge { what, value, limit, plan: self.plan.name.clone() });
            }
        }
        (0..self.plan.steps.len()).try_for_each(|i| self.run_step(i, &step, &sizes))
    }

    fn run_step(&self, index: usize, view: &StepView, sizes: &Sizes) -> Result<()> {
        let step = &self.plan.steps[index];
        if step.grid.tiles(sizes) == 0 {
            return Ok(());
        }
        let mut states = States::new();
        let mut ins = Arrays::new();
        let mut operands =
            step.ins().map(|a| self.operand(a, step, sizes, &mut states)).map(|a| a.map(|a| ins.push(a)));
        let ready = operands.try_for_each(|operand| operand);
        let ready = ready.and_then(|()| Ok(check_indices(&step.op, view, &ins, sizes)?));
        if let Err(error) = ready {
            give_back(states, step.ins().zip(ins));
            return Err(error);
        }
        let results = catch_unwind(AssertUnwindSafe(|| match self.kernels[index] {
            Some(kernel) => kernel(&step.op, view, ins),
            None => step.op.eval(view, ins),
        }));
        let results = results.map_err(|panic| match panic.downcast_ref() {
            // How definitions say that there is no memory.
            Some(source) => Error::NoMemory { what: "a step", source: NoMemory::clone(source) },
            None => Error::Panicked {
                plan: self.plan.name.clone(),
                step: index,
                op: step.op.name().to_owned(),
                message: message(panic.as_ref()),
            },
        })?;
        let fits = |(a, r): (&Arg, &Array)| r.is_of(&a.ty) && r.rows() == a.ty.rows.at(sizes);
        let fault = match step.outs().zip(&results).find(|pair| !fits(*pair)) {
            Some((a, found)) => Some((format!("{found:?}"), a.ty.to_string())),
            None if results.len() != step.outs().count() => {
                Some((format!("count {}", results.len()), step.outs().count().to_string()))
            }
            None => None,
        };
        if let Some((found, expected)) = fault {
            give_back(states, step.outs().zip(results).filter(|(a, r)| fits((a, r))));
            let (plan, op) = (self.plan.name.clone(), step.op.name().to_owned());
            return Err(Error::KernelResult { plan, step: index, op, found, expected });
        }
        for (arg, result) in step.outs().zip(&results).filter(|(a, _)| !a.ty.state) {
            self.memory(arg.region)?.write(arg.offset as usize, result.bytes())?;
        }
        give_back(states, step.outs().zip(results));
        Ok(())
    }

    fn operand<'a>(&'a self, arg: &Arg, step: &Step, sizes: &Sizes, states: &mut States<'a>) -> Result<Array> {
        let unbound = || self.unbound(arg, sizes);
        match arg.region {
            Region::Weight(id) => {
                let loaded: &Loaded = self.bind.weights.get(Reference::NAME)?;
                loaded.arrays.get(id as usize).cloned().ok_or_else(unbound)
            }
            Region::State(_) => {
                let memory = self.memory(arg.region)?;
                let words = if step.outs().any(|o| o.region == arg.region) {
                    let mut taken = memory.take();
                    let words = taken.words();
                    states.push((arg.region, taken));
                    words
                } else {
                    memory.words()
                };
                Array::from_memory(&arg.ty, sizes, words).ok_or_else(unbound)
            }
            Region::Arena | Region::Port(_) => {
                let no_memory = |source: NoMemory| Error::NoMemory { what: "a value", source };
                let mut value = Array::of(&arg.ty, sizes).map_err(no_memory)?;
                self.memory(arg.region)?.read(arg.offset as usize, value.bytes_mut())?;
                Ok(value)
            }
        }
    }

    fn memory(&self, region: Region) -> Result<&Memory> {
        let unbound = || Error::Unbound { plan: self.plan.name.clone(), region, bytes: 0, bound: 0 };
        self.bind.buffer(region).ok_or_else(unbound)?.get(Reference::NAME)
    }

    /// A buffer that lost its memory when there was none to replace it.
    fn unbound(&self, arg: &Arg, sizes: &Sizes) -> Error {
        let bytes = arg.ty.bytes(sizes);
        Error::Unbound { plan: self.plan.name.clone(), region: arg.region, bytes, bound: 0 }
    }
}

/// Returns the memory of states. A custom kernel may return a result in other memory, which then replaces the words of
/// the state; a result that is too small is dropped and replaced by zeros.
fn give_back<'a>(states: States, values: impl Iterator<Item = (&'a Arg, Array)>) {
    let mut values: SmallVec<[(Region, Array); 8]> = values.map(|(a, value)| (a.region, value)).collect();
    for (region, taken) in states {
        if let Some(i) = values.iter().position(|(r, _)| *r == region) {
            let words = values.swap_remove(i).1.into_memory();
            if taken.fits(&words) {
                taken.give_back(words);
            }
        }
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
