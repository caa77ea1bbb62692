//! The engine: its capabilities, its memory, its weights, its queue.

use crate::kernels;
use crate::memory::Memory;
use crate::program::{Program, foreign};
use inkstone::compute::{
    Back, Backs, Bindings, Budget, Buffer, Caps, Engine, EngineOptions, Error, Exec, Executable, Layout, Plan, Queue,
    Registry, Result, Ticket, Usage, WeightSlot, Weights, available_memory,
};
use inkstone::tensor::{Array, Progress, SourceError, WeightSource};
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// An engine that runs a plan step by step, on the caller's thread.
pub struct Plain {
    caps: Caps,
    registry: Registry,
    budget: Arc<Budget>,
    /// Held while a plan runs: plans share arenas and states.
    running: Arc<Mutex<()>>,
}

impl Plain {
    /// Its name.
    pub const NAME: &'static str = "plain";

    /// The engine on this machine.
    pub fn new(options: &EngineOptions) -> Plain {
        let mut caps = Caps::made_up(Self::NAME);
        caps.memory = if options.budget > 0 { options.budget } else { available_memory() };
        // The scheduler composes a step while an earlier one is under way. Here that gains nothing, because `submit` does
        // the work; an engine on a device is not idle between steps.
        caps.ahead = 2;
        let budget = Budget::new(Self::NAME, caps.memory);
        let registry = options.apply(Self::NAME, vec![Layout::FILE], kernels::table());
        Plain { caps, registry, budget, running: Arc::default() }
    }
}

impl Engine for Plain {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn registry(&self) -> &Registry {
        &self.registry
    }

    fn alloc(&self, bytes: u64, usage: Usage) -> Result<Buffer> {
        Ok(Buffer::new(Arc::new(Memory::new(&self.budget, bytes, usage.name())?), bytes))
    }

    fn load(&self, source: &dyn WeightSource, slots: &[WeightSlot], progress: &dyn Progress) -> Result<Weights> {
        let mut arrays = Vec::new();
        for (done, slot) in slots.iter().enumerate() {
            if progress.cancelled() {
                return Err(Error::Cancelled);
            }
            arrays.push((slot.ty, weight(source, slot)?));
            progress.update(done as u64 + 1, slots.len() as u64);
        }
        Ok(Weights::new(Arc::new(arrays), 0))
    }

    fn prepare(&self, plan: Arc<Plan>, bind: Bindings, exec: Exec) -> Result<Arc<dyn Executable>> {
        if exec != Exec::Steps {
            let (engine, exec) = (Self::NAME.to_owned(), format!("{exec:?}").to_lowercase());
            return Err(Error::NoExecutor { engine, exec, known: "steps".to_owned() });
        }
        Ok(Arc::new(Program::new(plan, bind, &self.registry)?))
    }

    fn queue(&self) -> Result<Box<dyn Queue>> {
        Ok(Box::new(Inline { running: self.running.clone(), last: Ticket(0), backs: Backs::default() }))
    }
}

/// A weight where its source has it. [`WeightSlot::read`] has checked it; only words must be aligned to be read in
/// place, which a source need not promise.
fn weight(source: &dyn WeightSource, slot: &WeightSlot) -> Result<Array> {
    let bytes = slot.read(source)?;
    let (dtype, cols) = (slot.ty.dtype, slot.ty.cols);
    let array = if dtype.block_bytes() == 4 {
        Array::from_bytes(dtype, cols, bytes.as_slice())
    } else {
        Array::shared(dtype, slot.ty.rows.at(&Default::default()), cols, bytes)
    };
    let reason = "no whole rows, or no memory for them".to_owned();
    Ok(array.ok_or(SourceError { tensor: slot.name.to_string(), reason })?)
}

/// A queue whose work is done when `submit` returns, so that there is nothing to wait for.
struct Inline {
    running: Arc<Mutex<()>>,
    last: Ticket,
    /// The ranges that the last submits bring back.
    backs: Backs,
}

/// Copies the bytes of a range.
fn copy(range: &Back, into: &mut [u8]) -> Result<()> {
    range.buffer.get::<Memory>(Plain::NAME)?.read(range.offset as usize, into)
}

impl Queue for Inline {
    fn submit(&mut self, executable: &Arc<dyn Executable>, back: &[Back]) -> Result<Ticket> {
        let executable: &dyn Any = executable.as_ref();
        let program: &Program = executable.downcast_ref().ok_or_else(|| foreign("executable"))?;
        for range in back {
            range.check()?;
            range.buffer.get::<Memory>(Plain::NAME)?;
        }
        let _running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        program.run()?;
        self.last.0 += 1;
        self.backs.push(self.last, back);
        // Copied at once: the next run may be another queue's.
        self.backs.settle(|_, range, into| copy(range, into))?;
        Ok(self.last)
    }

    fn write(&mut self, dst: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        dst.check(offset, bytes.len())?;
        let _running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        dst.get::<Memory>(Plain::NAME)?.write(offset as usize, bytes)
    }

    fn fetch(&mut self, ticket: Ticket, range: usize, into: &mut [u8]) -> Result<()> {
        self.wait(ticket)?;
        self.backs.fetch(ticket, range, into, copy)
    }

    fn read(&mut self, src: &Buffer, offset: u64, into: &mut [u8]) -> Result<()> {
        src.check(offset, into.len())?;
        let _running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        src.get::<Memory>(Plain::NAME)?.read(offset as usize, into)
    }

    fn wait(&mut self, ticket: Ticket) -> Result<()> {
        if ticket <= self.last { Ok(()) } else { Err(foreign("ticket")) }
    }
}
