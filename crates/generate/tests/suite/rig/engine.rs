//! An engine with other buckets, whose plans can have times.

use inkstone_compute::{
    Back, Bindings, Buffer, Caps, Engine, Exec, Executable, Plan, Queue, Registry, Result, Ticket, Usage, WeightSlot,
    Weights,
};
use inkstone_tensor::{Progress, WeightSource};
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

/// An engine, with smaller buckets than its own so that short prompts and few sequences fill them.
pub struct Wrapped {
    inner: Arc<dyn Engine>,
    caps: Caps,
    timed: bool,
}

impl Wrapped {
    /// With `timed` its plans say that their steps took no time: only then has a generator a profile.
    pub fn new(inner: Arc<dyn Engine>, rows: Vec<usize>, logit_rows: Vec<usize>, timed: bool) -> Wrapped {
        let mut caps = inner.caps().clone();
        (caps.rows, caps.logit_rows) = (rows, logit_rows);
        Wrapped { inner, caps, timed }
    }
}

impl Engine for Wrapped {
    fn caps(&self) -> &Caps {
        &self.caps
    }
    fn registry(&self) -> &Registry {
        self.inner.registry()
    }
    fn alloc(&self, bytes: u64, usage: Usage) -> Result<Buffer> {
        self.inner.alloc(bytes, usage)
    }
    fn load(&self, source: &dyn WeightSource, weights: &[WeightSlot], progress: &dyn Progress) -> Result<Weights> {
        self.inner.load(source, weights, progress)
    }
    fn prepare(&self, plan: Arc<Plan>, bind: Bindings, exec: Exec) -> Result<Arc<dyn Executable>> {
        let inner = self.inner.prepare(plan, bind, exec)?;
        Ok(if self.timed { Arc::new(Timed(inner)) } else { inner })
    }
    fn queue(&self) -> Result<Box<dyn Queue>> {
        let inner = self.inner.queue()?;
        Ok(if self.timed { Box::new(TimedQueue(inner)) } else { inner })
    }
}

/// An executable with times.
struct Timed(Arc<dyn Executable>);

impl Executable for Timed {
    fn plan(&self) -> &Plan {
        self.0.plan()
    }
    fn times(&self) -> Option<Vec<Duration>> {
        Some(vec![Duration::ZERO; self.plan().steps.len()])
    }
}

/// A queue of the inner engine, which knows only its own executables.
struct TimedQueue(Box<dyn Queue>);

impl Queue for TimedQueue {
    fn submit(&mut self, executable: &Arc<dyn Executable>, back: &[Back]) -> Result<Ticket> {
        let timed: &dyn Any = executable.as_ref();
        self.0.submit(&timed.downcast_ref::<Timed>().expect("an executable of this engine").0, back)
    }
    fn fetch(&mut self, ticket: Ticket, range: usize, into: &mut [u8]) -> Result<()> {
        self.0.fetch(ticket, range, into)
    }
    fn write(&mut self, dst: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        self.0.write(dst, offset, bytes)
    }
    fn read(&mut self, src: &Buffer, offset: u64, into: &mut [u8]) -> Result<()> {
        self.0.read(src, offset, into)
    }
    fn wait(&mut self, ticket: Ticket) -> Result<()> {
        self.0.wait(ticket)
    }
}
