//! A plan with its memory on an engine, and the same plan run by definition.

use crate::engine::{Bindings, Buffer, Engine, Executable, Usage, Weights};
use crate::plan::{Plan, Port, Region};
use crate::queue::Queue;
use crate::{Error, Result};
use inkstone_tensor::step::StepView;
use inkstone_tensor::{
    Array, NoProgress, SharedBytes, Sizes, SourceError, Type, WeightBytes, WeightInfo, WeightSource,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Made-up weights by name.
#[derive(Default)]
pub(super) struct MadeWeights(BTreeMap<String, (WeightInfo, WeightBytes)>);

impl MadeWeights {
    pub(super) fn insert(&mut self, name: &str, array: &Array) {
        let mut dims = vec![array.cols() as u64];
        if array.rows() > 1 {
            dims.push(array.rows() as u64);
        }
        let info = WeightInfo { dtype: array.dtype(), dims };
        let data: SharedBytes = Arc::new(array.bytes().to_vec());
        let bytes = WeightBytes { offset: 0, len: array.bytes().len(), data };
        self.0.insert(name.to_owned(), (info, bytes));
    }
}

impl WeightSource for MadeWeights {
    fn info(&self, name: &str) -> Option<WeightInfo> {
        self.0.get(name).map(|(info, _)| info.clone())
    }
    fn bytes(&self, name: &str) -> Result<WeightBytes, SourceError> {
        let missing = || SourceError { tensor: name.to_owned(), reason: "not made".to_owned() };
        self.0.get(name).map(|(_, bytes)| bytes.clone()).ok_or_else(missing)
    }
}

/// Words that the step buffer of a rig holds.
const STEP_WORDS: usize = 1 << 14;

/// A plan that an engine has prepared, with buffers of its own.
pub(super) struct Rig {
    pub(super) queue: Box<dyn Queue>,
    pub(super) executable: Arc<dyn Executable>,
    pub(super) bind: Bindings,
}

impl Rig {
    pub(super) fn new(engine: &dyn Engine, plan: &Arc<Plan>, weights: &MadeWeights) -> Result<Rig> {
        Rig::on(engine, plan, engine.load(weights, &plan.interface.weights, &NoProgress)?)
    }

    /// On weights that are loaded.
    pub(super) fn on(engine: &dyn Engine, plan: &Arc<Plan>, loaded: Weights) -> Result<Rig> {
        let interface = &plan.interface;
        let state = |ty: &Type| engine.alloc(ty.bytes(&plan.bucket), Usage::State);
        let states = interface.states.iter().map(|s| state(&s.ty)).collect::<Result<Vec<Buffer>>>()?;
        let ports = interface.ports.iter().map(|(_, ty)| (ty.bytes(&plan.bucket), Usage::Port));
        let values: Vec<(u64, Usage)> = [(plan.arena_bytes, Usage::Arena)].into_iter().chain(ports).collect();
        let values = engine.alloc_all(&values)?;
        let Some((arena, ports)) = values.split_first() else { unreachable!("an engine gives all or an error") };
        let ports: Vec<(Port, Buffer)> =
            interface.ports.iter().zip(ports).map(|((port, _), buffer)| (*port, buffer.clone())).collect();
        let bind = Bindings {
            weights: loaded,
            states: states.into(),
            ports: ports.into(),
            arena: arena.clone(),
            step: engine.alloc(4 * STEP_WORDS as u64, Usage::Step)?,
        };
        let exec = engine.caps().exec.first().copied().unwrap_or(crate::Exec::Steps);
        let executable = engine.prepare(plan.clone(), bind.clone(), exec)?;
        Ok(Rig { queue: engine.queue()?, executable, bind })
    }

    pub(super) fn buffer(&self, region: Region) -> Result<&Buffer> {
        let plan = self.executable.plan();
        let bytes = plan.bytes_of(region);
        self.bind.buffer(region).ok_or_else(|| Error::Unbound { plan: plan.name.clone(), region, bytes, bound: 0 })
    }

    pub(super) fn write(&mut self, region: Region, value: &Array) -> Result<()> {
        let buffer = self.buffer(region)?.clone();
        self.queue.write(&buffer, 0, value.bytes())
    }

    /// Runs the plan. What it is to write holds NaN before.
    pub(super) fn submit(&mut self, words: &[u32]) -> Result<()> {
        self.poison()?;
        self.queue.write(&self.bind.step, 0, bytemuck::cast_slice(words))?;
        let ticket = self.queue.submit(&self.executable, &[])?;
        self.queue.wait(ticket)
    }

    /// Fills the arena, and the ports that the plan writes before it reads them, with ones: NaN in every format of floats, and
    /// no valid index.
    fn poison(&mut self) -> Result<()> {
        let args = || self.executable.plan().steps.iter().flat_map(|step| &step.args);
        let first = |port| args().find(|arg| arg.region == Region::Port(port));
        let written = self.bind.ports.iter().filter(|(port, _)| first(*port).is_some_and(|arg| arg.write));
        for buffer in written.map(|(_, buffer)| buffer).chain([&self.bind.arena]) {
            let ones = [0xff; 4096];
            for offset in (0..buffer.bytes()).step_by(ones.len()) {
                let bytes = (buffer.bytes() - offset).min(ones.len() as u64) as usize;
                self.queue.write(buffer, offset, &ones[..bytes])?;
            }
        }
        Ok(())
    }

    pub(super) fn read(&mut self, region: Region, ty: &Type, sizes: &Sizes) -> Result<Array> {
        let no_memory = |source| Error::NoMemory { what: "a result", source };
        let mut value = Array::of(ty, sizes).map_err(no_memory)?;
        let buffer = self.buffer(region)?.clone();
        self.queue.read(&buffer, 0, value.bytes_mut())?;
        Ok(value)
    }
}

/// The same memory on the host, where values are stored by name instead of by place.
#[derive(Default)]
pub(super) struct Definition {
    /// Weights, states and ports.
    pub(super) memory: BTreeMap<Region, Array>,
}

impl Definition {
    /// Runs the plan by [`inkstone_tensor::Op::eval`].
    pub(super) fn run(&mut self, plan: &Plan, view: &StepView) {
        let sizes = view.sizes(plan.bucket.slots);
        let mut values: BTreeMap<u32, Array> = BTreeMap::new();
        for step in plan.steps.iter().filter(|s| s.grid.tiles(&sizes) > 0) {
            let written = |region| step.outs().any(|o| o.region == region);
            let ins = step.ins().map(|a| match a.region {
                Region::Arena => values[&a.value].clone(),
                region if written(region) => self.memory.remove(&region).expect("a state is consumed once"),
                region => self.memory[&region].clone(),
            });
            let ins = ins.collect();
            for (a, result) in step.outs().zip(step.op.eval(view, ins)) {
                match a.region {
                    Region::Arena => values.insert(a.value, result),
                    region => self.memory.insert(region, result),
                };
            }
        }
    }
}
