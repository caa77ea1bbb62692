//! An engine with other buckets, whose plans can have times, and whose steps can be held up.

use super::{Leaves, Setup};
use inkstone_compute::conformance::Call;
use inkstone_compute::{
    Back, Bindings, Buffer, Caps, Engine, Error, Exec, Executable, Plan, Queue, Registry, Result, Ticket, Usage,
    WeightSlot, Weights,
};
use inkstone_tensor::sampling::ChainRef;
use inkstone_tensor::{Progress, WeightSource};
use std::any::Any;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// An engine, with smaller buckets than its own so that short prompts and few sequences fill them.
pub struct Wrapped {
    inner: Arc<dyn Engine>,
    caps: Caps,
    registry: Registry,
    leaves: Leaves,
    timed: bool,
    gate: Gate,
}

/// Holds up the calls `submit` and `fetch` of an engine while it is closed.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    closed: bool,
    /// The calls that are held up.
    held: usize,
    /// The submits until one is lost: it never runs, and whoever waits for it gets an error.
    lost: Option<usize>,
}

impl Gate {
    fn set_closed(&self, closed: bool) {
        self.0.0.lock().unwrap().closed = closed;
        self.0.1.notify_all();
    }

    /// Closes it until the value is dropped.
    pub fn closed(&self) -> Closed<'_> {
        self.set_closed(true);
        Closed(self)
    }

    /// The submit after this number of others is lost.
    pub fn lose(&self, after: usize) {
        self.0.0.lock().unwrap().lost = Some(after);
    }

    /// Whether this submit is lost.
    fn is_lost(&self) -> bool {
        let lost = &mut self.0.0.lock().unwrap().lost;
        let is_lost = *lost == Some(0);
        *lost = lost.and_then(|after| after.checked_sub(1));
        is_lost
    }

    /// Waits until a call is held up.
    pub fn wait_for_call(&self) {
        drop(self.0.1.wait_while(self.0.0.lock().unwrap(), |state| state.held == 0).unwrap());
    }

    fn pass(&self) {
        let mut state = self.0.0.lock().unwrap();
        state.held += 1;
        self.0.1.notify_all();
        state = self.0.1.wait_while(state, |state| state.closed).unwrap();
        state.held -= 1;
    }
}

/// A gate that is closed.
pub struct Closed<'g>(&'g Gate);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.set_closed(false);
    }
}

impl Wrapped {
    /// With `timed` of a setup its plans say that their steps took no time: only then has a generator a profile.
    pub fn new(inner: Arc<dyn Engine>, setup: &Setup) -> Wrapped {
        let mut caps = inner.caps().clone();
        (caps.rows, caps.logit_rows) = (setup.rows.clone(), setup.logit_rows.clone());
        let (registry, leaves) = (setup.leaves.registry(inner.registry()), setup.leaves);
        Wrapped { inner, caps, registry, leaves, timed: setup.timed, gate: Gate::default() }
    }

    /// The gate of its queues.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }
}

impl Engine for Wrapped {
    inkstone_compute::pass_on! { inner: alloc alloc_all weight_bytes warm load gauge }

    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn registry(&self) -> &Registry {
        &self.registry
    }

    fn draws(&self, chain: ChainRef) -> bool {
        self.leaves.draws(chain)
    }

    fn prepare(&self, plan: Arc<Plan>, bind: Bindings, exec: Exec) -> Result<Arc<dyn Executable>> {
        let inner = self.inner.prepare(plan, bind, exec)?;
        Ok(if self.timed { Arc::new(Timed(inner)) } else { inner })
    }

    fn queue(&self) -> Result<Box<dyn Queue>> {
        let inner = self.inner.queue()?;
        Ok(Box::new(GatedQueue { inner, timed: self.timed, gate: self.gate.clone() }))
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

/// The ticket of a submit that is lost.
const LOST: Ticket = Ticket(u64::MAX);

fn not_lost(ticket: Ticket) -> Result<()> {
    if ticket == LOST { Err(Error::Injected { call: Call::Submit }) } else { Ok(()) }
}

/// A queue of the inner engine, which knows only its own executables.
struct GatedQueue {
    inner: Box<dyn Queue>,
    timed: bool,
    gate: Gate,
}

impl Queue for GatedQueue {
    fn submit(&mut self, executable: &Arc<dyn Executable>, back: &[Back]) -> Result<Ticket> {
        self.gate.pass();
        if self.gate.is_lost() {
            return Ok(LOST);
        }
        if !self.timed {
            return self.inner.submit(executable, back);
        }
        let timed: &dyn Any = executable.as_ref();
        self.inner.submit(&timed.downcast_ref::<Timed>().expect("an executable of this engine").0, back)
    }
    fn fetch(&mut self, ticket: Ticket, range: usize, into: &mut [u8]) -> Result<()> {
        self.gate.pass();
        not_lost(ticket)?;
        self.inner.fetch(ticket, range, into)
    }
    fn write(&mut self, dst: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        self.inner.write(dst, offset, bytes)
    }
    fn read(&mut self, src: &Buffer, offset: u64, into: &mut [u8]) -> Result<()> {
        self.inner.read(src, offset, into)
    }
    fn wait(&mut self, ticket: Ticket) -> Result<()> {
        not_lost(ticket)?;
        self.inner.wait(ticket)
    }
}
