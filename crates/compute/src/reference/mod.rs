//! The reference engine: runs any plan, one step after the other, with the definitions of its ops. It ignores the
//! kernels of a plan, their layouts and their tiles, and contains only safe code.

mod memory;
mod run;
mod weights;

use crate::backs::Backs;
use crate::engine::{Bindings, Buffer, Caps, Engine, Exec, Executable, Usage, Weights};
use crate::kernel::{EngineOptions, Kernel, Layout, Pattern, Registry};
use crate::plan::{Plan, WeightSlot};
use crate::queue::{Back, Queue, Ticket};
use crate::{Budget, Error, Result, platform};
use inkstone_tensor::op::Arrays;
use inkstone_tensor::step::StepView;
use inkstone_tensor::{Array, Op, Progress, WeightSource};
use memory::Memory;
use run::Program;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use weights::Loaded;

/// The entry of a custom kernel for this engine: a function from the operands of an op to its results, like
/// [`Op::eval`]. States that the op consumes are moved in and returned as results.
pub type ReferenceKernel = fn(&Op, &StepView, Arrays) -> Arrays;

/// The reference engine.
#[derive(Debug)]
pub struct Reference {
    caps: Caps,
    registry: Registry,
    device: Arc<Device>,
}

/// The state that queues and buffers share.
#[derive(Debug)]
struct Device {
    budget: Arc<Budget>,
    /// Held while a plan runs or the host touches memory: plans share arenas and states.
    running: Mutex<()>,
}

impl Device {
    /// Ignores the poison of a panic in a step: the code that takes the protected memory also returns it.
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reference {
    /// Its name.
    pub const NAME: &'static str = "reference";

    /// Opens the engine. Its budget is the budget of the options, or the memory that is free now; threads are ignored.
    ///
    /// # Errors
    /// [`Error::KernelEntry`] if the entry of a custom kernel is not a [`ReferenceKernel`]; [`Error::NoIsa`] if the
    /// options name an instruction set, because definitions have none.
    pub fn new(options: &EngineOptions) -> Result<Reference> {
        if let Some(isa) = options.isa.clone() {
            return Err(Error::NoIsa { engine: Self::NAME.to_owned(), isa, known: "none".to_owned() });
        }
        if let Some(kernel) = options.kernels.iter().find(|k| outside(k).is_none()) {
            let (kernel, engine) = (kernel.name.to_owned(), Self::NAME.to_owned());
            return Err(Error::KernelEntry { kernel, engine, expected: "a ReferenceKernel" });
        }
        let memory = if options.budget > 0 { options.budget } else { platform::available_memory() };
        let caps = Caps {
            name: Self::NAME.to_owned(),
            device: String::new(),
            memory,
            memory_known: true,
            binding: u64::MAX,
            features: Vec::new(),
            threads: 1,
            rows: vec![1, 8, 512],
            logit_rows: vec![1, 8, 64],
            exec: vec![Exec::Steps],
            ahead: 1,
        };
        let registry = options.apply(Self::NAME, vec![Layout::FILE], vec![eval()]);
        let device = Arc::new(Device { budget: Budget::new(Reference::NAME, memory), running: Mutex::new(()) });
        Ok(Reference { caps, registry, device })
    }
}

impl Reference {
    /// A weight that this engine has loaded, by its id.
    pub(crate) fn weight(weights: &Weights, id: u32) -> Result<Array> {
        let loaded: &Loaded = weights.get(Self::NAME)?;
        loaded.arrays.get(id as usize).cloned().ok_or_else(|| foreign("weight"))
    }
}

/// The kernel of everything.
fn eval() -> Kernel {
    Kernel::by_definition("eval", Pattern::AnyOp, Arc::new(()))
}

/// The entry of a custom kernel.
fn outside(kernel: &Kernel) -> Option<ReferenceKernel> {
    kernel.entry.downcast_ref().copied()
}

impl Engine for Reference {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn registry(&self) -> &Registry {
        &self.registry
    }

    fn alloc(&self, bytes: u64, usage: Usage) -> Result<Buffer> {
        Ok(Buffer::new(Arc::new(Memory::new(&self.device.budget, bytes, usage.name())?), bytes))
    }

    fn load(&self, source: &dyn WeightSource, weights: &[WeightSlot], progress: &dyn Progress) -> Result<Weights> {
        weights::load(&self.device.budget, source, weights, progress)
    }

    fn prepare(&self, plan: Arc<Plan>, bind: Bindings, exec: Exec) -> Result<Arc<dyn Executable>> {
        if !self.caps.exec.contains(&exec) {
            let known = self.caps.exec.iter().map(|e| format!("{e:?}").to_lowercase()).collect::<Vec<_>>().join(", ");
            let (engine, exec) = (Self::NAME.to_owned(), format!("{exec:?}").to_lowercase());
            return Err(Error::NoExecutor { engine, exec, known });
        }
        let kernel = |name: &str| self.registry.get(name).and_then(outside);
        let kernels = plan.steps.iter().map(|s| kernel(&s.kernel)).collect();
        Ok(Arc::new(Program::new(plan, bind, kernels)?))
    }

    fn queue(&self) -> Result<Box<dyn Queue>> {
        Ok(Box::new(Inline { device: self.device.clone(), last: 0, backs: Backs::default() }))
    }
}

/// A queue whose work is done when `submit` returns.
struct Inline {
    device: Arc<Device>,
    last: u64,
    backs: Backs,
}

impl Inline {
    fn check(&self, ticket: Ticket) -> Result<()> {
        if ticket.0 <= self.last { Ok(()) } else { Err(foreign("ticket")) }
    }
}

fn foreign(what: &'static str) -> Error {
    Error::Foreign { what, engine: Reference::NAME.to_owned() }
}

/// Copies the bytes of a range.
fn bytes_of(range: &Back, into: &mut [u8]) -> Result<()> {
    range.buffer.get::<Memory>(Reference::NAME)?.read(range.offset as usize, into)
}

impl Queue for Inline {
    fn submit(&mut self, executable: &Arc<dyn Executable>, back: &[Back]) -> Result<Ticket> {
        let executable: &dyn Any = executable.as_ref();
        let program: &Program = executable.downcast_ref().ok_or_else(|| foreign("executable"))?;
        for range in back {
            range.check()?;
            range.buffer.get::<Memory>(Reference::NAME)?;
        }
        let _running = self.device.lock();
        program.run()?;
        self.last += 1;
        self.backs.push(Ticket(self.last), back);
        // At once: the next work on these buffers may be another queue's.
        self.backs.settle(|_, range, into| bytes_of(range, into))?;
        Ok(Ticket(self.last))
    }

    fn fetch(&mut self, ticket: Ticket, range: usize, into: &mut [u8]) -> Result<()> {
        self.check(ticket)?;
        self.backs.fetch(ticket, range, into, bytes_of)
    }

    fn write(&mut self, dst: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        dst.check(offset, bytes.len())?;
        let memory: &Memory = dst.get(Reference::NAME)?;
        let _running = self.device.lock();
        memory.write(offset as usize, bytes)
    }

    fn read(&mut self, src: &Buffer, offset: u64, into: &mut [u8]) -> Result<()> {
        src.check(offset, into.len())?;
        let memory: &Memory = src.get(Reference::NAME)?;
        let _running = self.device.lock();
        memory.read(offset as usize, into)
    }

    fn wait(&mut self, ticket: Ticket) -> Result<()> {
        self.check(ticket)
    }
}

#[cfg(test)]
mod tests;
