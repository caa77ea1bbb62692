//! An engine around another one: its work is late, its calls are counted, and they fail where a test wants it.

use crate::engine::{Bindings, Buffer, Caps, Engine, Exec, Executable, Usage, Weights};
use crate::plan::{Plan, WeightSlot};
use crate::queue::{Back, KEPT, Queue, Ticket};
use crate::{Error, Result};
use inkstone_tensor::{Progress, WeightSource};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A call of an engine or a queue that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// [`Engine::alloc`].
    Alloc,
    /// [`Engine::alloc_all`].
    AllocAll,
    /// [`Engine::warm`].
    Warm,
    /// [`Engine::load`].
    Load,
    /// [`Engine::prepare`].
    Prepare,
    /// [`Queue::write`].
    Write,
    /// [`Queue::submit`].
    Submit,
    /// [`Queue::fetch`].
    Fetch,
    /// [`Queue::wait`].
    Wait,
}

impl Call {
    /// All of them.
    pub const ALL: [Call; 9] = [
        Call::Alloc,
        Call::AllocAll,
        Call::Warm,
        Call::Load,
        Call::Prepare,
        Call::Write,
        Call::Submit,
        Call::Fetch,
        Call::Wait,
    ];
}

/// A fault to inject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The call that fails.
    pub call: Call,
    /// How many such calls succeed before.
    pub after: u64,
    /// Whether all later ones also fail.
    pub lasts: bool,
    /// Whether the call panics instead of returning an error.
    pub panics: bool,
}

/// The work of a [`Delayed`] engine so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Plans that were submitted.
    pub submits: u64,
    /// Writes of the host.
    pub writes: u64,
    /// Bytes that submits were to bring back.
    pub back: u64,
    /// Calls that could fail, in the order of [`Call::ALL`].
    pub calls: [u64; Call::ALL.len()],
}

/// An engine around another one. Its queues hold submits and writes back, and each of their calls runs a random number
/// of them, in order, so that a loop that relies on work being done, or not done, fails. Random numbers come from a
/// seed. The state of a decode step is reused: it allocates nothing.
pub struct Delayed {
    inner: Arc<dyn Engine>,
    caps: Caps,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    random: u64,
    counts: Counts,
    fault: Option<Fault>,
    /// Calls of the kind that fails since the fault was set.
    calls: u64,
}

impl Shared {
    /// Counts a call; the fault, if the call fails.
    fn call(&mut self, call: Call) -> Option<Fault> {
        self.counts.calls[call as usize] += 1;
        let fault = self.fault.filter(|f| f.call == call)?;
        let before = self.calls;
        self.calls += 1;
        (before == fault.after || fault.lasts && before > fault.after).then_some(fault)
    }

    /// A number below `below`.
    fn random(&mut self, below: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 16) as usize % below.max(1)
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a call. The lock is free before anything panics.
fn call(shared: &Mutex<Shared>, call: Call) -> Result<()> {
    let fault = lock(shared).call(call);
    match fault {
        None => Ok(()),
        Some(fault) if fault.panics => std::panic::resume_unwind(Box::new(Delayed::MESSAGE)),
        Some(_) => Err(Error::Injected { call }),
    }
}

impl Delayed {
    /// The message of an injected panic.
    pub const MESSAGE: &'static str = "an injected panic";

    /// An engine around `inner` on which a loop keeps `ahead` steps submitted (1 to [`KEPT`]).
    pub fn new(inner: Arc<dyn Engine>, ahead: usize, seed: u64) -> Delayed {
        let caps = Caps { ahead: ahead.clamp(1, KEPT), ..inner.caps().clone() };
        // Neighbouring seeds begin far apart, and zero is not a state.
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let shared = Shared { random, counts: Counts::default(), fault: None, calls: 0 };
        Delayed { inner, caps, shared: Arc::new(Mutex::new(shared)) }
    }

    /// Injects a fault from now on, or none.
    pub fn inject(&self, fault: Option<Fault>) {
        let mut shared = lock(&self.shared);
        (shared.fault, shared.calls) = (fault, 0);
    }

    /// The work so far.
    pub fn counts(&self) -> Counts {
        lock(&self.shared).counts
    }
}

impl Engine for Delayed {
    crate::pass_on! { inner: registry weight_bytes draws gauge }

    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&self, bytes: u64, usage: Usage) -> Result<Buffer> {
        call(&self.shared, Call::Alloc)?;
        self.inner.alloc(bytes, usage)
    }

    fn alloc_all(&self, buffers: &[(u64, Usage)]) -> Result<Vec<Buffer>> {
        call(&self.shared, Call::AllocAll)?;
        self.inner.alloc_all(buffers)
    }

    fn warm(&self, plans: &[&Plan], progress: &dyn Progress) -> Result<()> {
        call(&self.shared, Call::Warm)?;
        self.inner.warm(plans, progress)
    }

    fn load(&self, source: &dyn WeightSource, weights: &[WeightSlot], progress: &dyn Progress) -> Result<Weights> {
        call(&self.shared, Call::Load)?;
        self.inner.load(source, weights, progress)
    }

    fn prepare(&self, plan: Arc<Plan>, bind: Bindings, exec: Exec) -> Result<Arc<dyn Executable>> {
        call(&self.shared, Call::Prepare)?;
        self.inner.prepare(plan, bind, exec)
    }

    fn queue(&self) -> Result<Box<dyn Queue>> {
        Ok(Box::new(Late {
            inner: self.inner.queue()?,
            name: self.caps.name.clone(),
            shared: self.shared.clone(),
            last: 0,
            held: VecDeque::with_capacity(HELD),
            spare: (0..HELD)
                .map(|_| Held { back: Vec::with_capacity(4), bytes: Vec::with_capacity(1 << 12), ..Held::default() })
                .collect(),
            kept: VecDeque::with_capacity(KEPT),
            done: VecDeque::with_capacity(DONE),
            failed: Vec::new(),
        }))
    }
}

/// Finished submits whose tickets are remembered.
const DONE: usize = 64;

/// Submits and writes that wait without an allocation.
const HELD: usize = 32;

/// A queue that holds its work back.
struct Late {
    inner: Box<dyn Queue>,
    name: String,
    shared: Arc<Mutex<Shared>>,
    /// The last ticket that was given.
    last: u64,
    held: VecDeque<Held>,
    /// Work that is done, kept to reuse its memory.
    spare: Vec<Held>,
    /// The last submits that bring something back. The inner queue is behind, and keeps older ones.
    kept: VecDeque<u64>,
    /// Tickets of the submits that were passed on, with their tickets in the inner queue.
    done: VecDeque<(u64, Ticket)>,
    failed: Vec<(u64, Arc<Error>)>,
}

/// Work that waits: a submit if it has an executable, or else a write.
#[derive(Default)]
struct Held {
    executable: Option<Arc<dyn Executable>>,
    ticket: u64,
    back: Vec<Back>,
    dst: Option<(Buffer, u64)>,
    bytes: Vec<u8>,
}

impl Late {
    /// Passes on a random part of the work that waits.
    fn run_some(&mut self) {
        let some = lock(&self.shared).random(self.held.len() + 1);
        self.run(some);
    }

    /// Passes on so much of the work that waits.
    fn run(&mut self, count: usize) {
        for mut work in self.held.drain(..count) {
            if let Some(executable) = work.executable.take() {
                match self.inner.submit(&executable, &work.back) {
                    Ok(inner) => {
                        if self.done.len() == DONE {
                            self.done.pop_front();
                        }
                        self.done.push_back((work.ticket, inner));
                    }
                    Err(error) => self.failed.push((work.ticket, Arc::new(error))),
                }
            } else if let Some((dst, offset)) = work.dst.take()
                && let Err(error) = self.inner.write(&dst, offset, &work.bytes)
            {
                // The next submit needs what was not written.
                self.failed.push((work.ticket + 1, Arc::new(error)));
            }
            self.spare.push(work);
        }
    }

    /// Passes on all work up to a submit, and returns its ticket in the inner queue.
    fn reach(&mut self, ticket: Ticket) -> Result<Ticket> {
        if ticket.0 > self.last {
            return Err(Error::Foreign { what: "ticket", engine: self.name.clone() });
        }
        let place = self.held.iter().position(|w| w.executable.is_some() && w.ticket == ticket.0);
        self.run(place.map_or(0, |place| place + 1));
        if let Some((_, error)) = self.failed.iter().find(|(failed, _)| *failed == ticket.0) {
            return Err(Error::Earlier(error.clone()));
        }
        let found = self.done.iter().find(|(outer, _)| *outer == ticket.0).map(|(_, inner)| *inner);
        found.ok_or_else(|| too_old(ticket, 0))
    }
}

fn too_old(ticket: Ticket, range: usize) -> Error {
    Error::NotBack { ticket: ticket.0, range, reason: "it is too old".to_owned() }
}

impl Queue for Late {
    fn submit(&mut self, executable: &Arc<dyn Executable>, back: &[Back]) -> Result<Ticket> {
        call(&self.shared, Call::Submit)?;
        back.iter().try_for_each(Back::check)?;
        {
            let counts = &mut lock(&self.shared).counts;
            counts.submits += 1;
            counts.back += back.iter().map(|b| b.bytes as u64).sum::<u64>();
        }
        self.last += 1;
        if !back.is_empty() {
            if self.kept.len() == KEPT {
                self.kept.pop_front();
            }
            self.kept.push_back(self.last);
        }
        let mut work = self.spare.pop().unwrap_or_default();
        (work.executable, work.ticket) = (Some(executable.clone()), self.last);
        work.back.clear();
        work.back.extend_from_slice(back);
        self.held.push_back(work);
        self.run_some();
        Ok(Ticket(self.last))
    }

    fn fetch(&mut self, ticket: Ticket, range: usize, into: &mut [u8]) -> Result<()> {
        call(&self.shared, Call::Fetch)?;
        self.run_some();
        let inner = self.reach(ticket)?;
        if !self.kept.contains(&ticket.0) {
            return Err(too_old(ticket, range));
        }
        self.inner.fetch(inner, range, into)
    }

    fn write(&mut self, dst: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        call(&self.shared, Call::Write)?;
        dst.check(offset, bytes.len())?;
        lock(&self.shared).counts.writes += 1;
        let mut work = self.spare.pop().unwrap_or_default();
        (work.dst, work.ticket) = (Some((dst.clone(), offset)), self.last);
        work.bytes.clear();
        work.bytes.extend_from_slice(bytes);
        self.held.push_back(work);
        self.run_some();
        Ok(())
    }

    fn read(&mut self, src: &Buffer, offset: u64, into: &mut [u8]) -> Result<()> {
        self.run(self.held.len());
        self.inner.read(src, offset, into)
    }

    fn wait(&mut self, ticket: Ticket) -> Result<()> {
        call(&self.shared, Call::Wait)?;
        self.run_some();
        let inner = self.reach(ticket)?;
        self.inner.wait(inner)
    }
}
