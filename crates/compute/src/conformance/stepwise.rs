//! An engine that runs another one and holds every step of every plan against its definition, on what the other one
//! gave that step. So a model runs as it does, and the first kernel that goes too far is named.

use super::host::settle;
use super::values::{difference, largest};
use super::{rounding, tolerance};
use crate::check::ARENA_ALIGN;
use crate::engine::{Bindings, Buffer, Engine, Exec, Executable, Usage, Weights};
use crate::kernel::Kernel;
use crate::plan::{Arg, Plan, Region, Step, WeightSlot};
use crate::queue::{Back, Queue, Ticket};
use crate::{EngineOptions, Error, Reference, Result};
use inkstone_tensor::op::Arrays;
use inkstone_tensor::step::StepView;
use inkstone_tensor::{Array, NoMemory, Progress, Sizes, Type, WeightSource};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An engine under observation. It takes the plans and the buffers of the other engine, and loads weights twice: in the
/// layout of the other engine, and in the layout of their source.
///
/// A submit runs the whole plan, with a place of its own in the arena for every value, and then each step by its
/// definition on the operands that the engine had. A result may be as far from the definition's as the numerics of its
/// kernel allow ([`TOLERANCES`](super::TOLERANCES)); the first that is farther fails the submit with
/// [`Error::Differs`]. States that several steps write are compared where the last of them does.
///
/// ```
/// use inkstone_compute::{Engine, EngineOptions, Reference, conformance};
/// # use std::sync::Arc;
///
/// let engine = Arc::new(Reference::new(&EngineOptions::default().budget(1 << 28))?);
/// let stepwise = conformance::Stepwise::new(engine)?;
/// assert_eq!(stepwise.caps().name, "reference");
/// # Ok::<(), inkstone_compute::Error>(())
/// ```
pub struct Stepwise {
    engine: Arc<dyn Engine>,
    /// Reads the weights of definitions.
    reference: Reference,
}

impl Stepwise {
    /// Observes `engine`.
    ///
    /// # Errors
    /// None today: the reference engine opens everywhere.
    pub fn new(engine: Arc<dyn Engine>) -> Result<Stepwise> {
        Ok(Stepwise { engine, reference: Reference::new(&EngineOptions::default())? })
    }
}

/// Weights for the engine and for definitions.
struct Twice {
    engine: Weights,
    definitions: Weights,
}

impl Engine for Stepwise {
    crate::pass_on! { engine: caps registry alloc alloc_all weight_bytes warm draws gauge }

    fn load(&self, source: &dyn WeightSource, weights: &[WeightSlot], progress: &dyn Progress) -> Result<Weights> {
        let definitions = self.reference.load(source, weights, progress)?;
        let engine = self.engine.load(source, weights, progress)?;
        let bytes = engine.bytes.saturating_add(definitions.bytes);
        Ok(Weights::new(Arc::new(Twice { engine, definitions }), bytes))
    }

    fn prepare(&self, plan: Arc<Plan>, mut bind: Bindings, exec: Exec) -> Result<Arc<dyn Executable>> {
        let Twice { engine: weights, definitions } = bind.weights.get(&self.caps().name)?;
        let definitions = definitions.clone();
        bind.weights = weights.clone();
        let spread = Arc::new(spread(&plan));
        bind.arena = self.engine.alloc(spread.arena_bytes, Usage::Arena)?;
        let registry = self.registry();
        let bound = |s: &Step| registry.get(&s.kernel).map_or(0.0, bound);
        let bounds = spread.steps.iter().map(bound).collect();
        let inner = self.engine.prepare(spread.clone(), bind.clone(), exec)?;
        Ok(Arc::new(Observed { plan, spread, inner, bind, definitions, bounds }))
    }

    fn queue(&self) -> Result<Box<dyn Queue>> {
        Ok(Box::new(Observer { name: self.caps().name.clone(), inner: self.engine.queue()? }))
    }
}

/// How far a kernel may go, of a region's the loosest of its members. One that encodes what it has computed itself may
/// round some of it to a neighbour.
pub(super) fn bound(kernel: &Kernel) -> f64 {
    let members = kernel.members.iter().map(|(op, numerics)| match (*op, kernel.activations) {
        ("quantize", Some(to)) => rounding(to),
        _ => tolerance(*numerics),
    });
    members.fold(tolerance(kernel.numerics), f64::max)
}

/// The plan with every value of the arena in a place of its own, so that all are there when it is done. Scratch is
/// placed behind them, in the same order.
fn spread(plan: &Plan) -> Plan {
    let (mut plan, mut places) = (plan.clone(), BTreeMap::new());
    let (bucket, mut end) = (plan.bucket, 0u64);
    for arg in plan.steps.iter_mut().flat_map(|s| &mut s.args).filter(|a| a.region == Region::Arena) {
        arg.offset = *places.entry(arg.value).or_insert_with(|| {
            let start = end;
            end = end.saturating_add(arg.ty.bytes(&bucket)).saturating_add(ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
            start
        });
    }
    plan.arena_bytes = end;
    for scratch in plan.steps.iter_mut().map(|s| &mut s.scratch).filter(|scratch| !scratch.is_empty()) {
        *scratch = end.saturating_add(scratch.start)..end.saturating_add(scratch.end);
        plan.arena_bytes = plan.arena_bytes.max(scratch.end);
    }
    plan
}

struct Observed {
    /// As it came.
    plan: Arc<Plan>,
    /// As it runs.
    spread: Arc<Plan>,
    inner: Arc<dyn Executable>,
    bind: Bindings,
    definitions: Weights,
    /// By step.
    bounds: Vec<f64>,
}

impl Executable for Observed {
    fn plan(&self) -> &Plan {
        &self.plan
    }
}

struct Observer {
    name: String,
    inner: Box<dyn Queue>,
}

impl Queue for Observer {
    fn submit(&mut self, executable: &Arc<dyn Executable>, back: &[Back]) -> Result<Ticket> {
        let executable: &dyn Any = executable.as_ref();
        let foreign = || Error::Foreign { what: "executable", engine: self.name.clone() };
        let observed: &Observed = executable.downcast_ref().ok_or_else(foreign)?;
        let slots = Sizes { slots: observed.spread.bucket.slots, ..Sizes::default() };
        let mut states = BTreeMap::new();
        for (id, slot) in observed.spread.interface.states.iter().enumerate() {
            let region = Region::State(id as u32);
            if observed.spread.bytes_of(region) > 0 {
                states.insert(region, self.value(observed, region, 0, &slot.ty, &slots)?);
            }
        }
        let ticket = self.inner.submit(&observed.inner, back)?;
        self.inner.wait(ticket)?;
        let mut words = vec![0u32; (observed.bind.step.bytes() / 4) as usize];
        self.inner.read(&observed.bind.step, 0, bytemuck::cast_slice_mut(&mut words))?;
        let view = StepView::new(&words)?;
        for index in 0..observed.spread.steps.len() {
            self.observe(observed, index, &view, &mut states)?;
        }
        Ok(ticket)
    }

    fn write(&mut self, dst: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        self.inner.write(dst, offset, bytes)
    }

    fn fetch(&mut self, ticket: Ticket, range: usize, into: &mut [u8]) -> Result<()> {
        self.inner.fetch(ticket, range, into)
    }

    fn read(&mut self, src: &Buffer, offset: u64, into: &mut [u8]) -> Result<()> {
        self.inner.read(src, offset, into)
    }

    fn wait(&mut self, ticket: Ticket) -> Result<()> {
        self.inner.wait(ticket)
    }
}

impl Observer {
    /// Runs a step by its definition and compares. `states` are what the step finds, then what it leaves.
    fn observe(
        &mut self,
        observed: &Observed,
        index: usize,
        view: &StepView,
        states: &mut BTreeMap<Region, Array>,
    ) -> Result<()> {
        let (plan, step) = (&observed.spread, &observed.spread.steps[index]);
        let sizes = view.sizes(plan.bucket.slots);
        if step.grid.tiles(&sizes) == 0 {
            return Ok(());
        }
        let mut ins = Arrays::new();
        for arg in step.ins() {
            ins.push(match arg.region {
                Region::Weight(id) => Reference::weight(&observed.definitions, id)?,
                Region::State(_) => {
                    let taken = step.outs().any(|o| o.region == arg.region);
                    let state = if taken { states.remove(&arg.region) } else { states.get(&arg.region).cloned() };
                    state.ok_or_else(|| self.unbound(plan, arg, &sizes))?
                }
                Region::Arena | Region::Port(_) => self.value(observed, arg.region, arg.offset, &arg.ty, &sizes)?,
            });
        }
        for (arg, expected) in step.outs().zip(step.op.eval(view, ins)) {
            let again = |s: &Step| s.outs().any(|o| o.region == arg.region);
            let found = if arg.ty.state && plan.steps[index + 1..].iter().any(again) {
                expected
            } else {
                let found = self.value(observed, arg.region, arg.offset, &arg.ty, &sizes)?;
                // The steps behind it read what the engine has.
                let mut settled = found.clone();
                settle(&step.op, std::slice::from_ref(&expected), std::slice::from_mut(&mut settled));
                // Values that differ in their last bit before they are rounded may be rounded to different neighbours.
                let bound = observed.bounds[index];
                let bound = if bound > 0.0 { bound.max(rounding(arg.ty.dtype)) } else { 0.0 };
                if let Some(fault) = difference(&expected, &settled, bound) {
                    return Err(Error::Differs {
                        plan: plan.name.clone(),
                        step: index,
                        op: step.op.name().to_owned(),
                        kernel: step.kernel.clone(),
                        fault: format!("{arg}: {fault}{}", largest(&expected, &found)),
                    });
                }
                found
            };
            if arg.ty.state {
                states.insert(arg.region, found);
            }
        }
        Ok(())
    }

    /// The current value at a place.
    fn value(&mut self, observed: &Observed, region: Region, offset: u64, ty: &Type, sizes: &Sizes) -> Result<Array> {
        let no_memory = |source: NoMemory| Error::NoMemory { what: "a value", source };
        let mut value = Array::of(ty, sizes).map_err(no_memory)?;
        let bytes = value.bytes().len() as u64;
        let unbound = || Error::Unbound { plan: observed.plan.name.clone(), region, bytes, bound: 0 };
        let buffer = observed.bind.buffer(region).ok_or_else(unbound)?;
        self.inner.read(buffer, offset, value.bytes_mut())?;
        Ok(value)
    }

    fn unbound(&self, plan: &Plan, arg: &Arg, sizes: &Sizes) -> Error {
        Error::Unbound { plan: plan.name.clone(), region: arg.region, bytes: arg.ty.bytes(sizes), bound: 0 }
    }
}
