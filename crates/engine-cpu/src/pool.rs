//! The threads, and whose turn it is. One run is under way at a time, in the order of submission; workers help it from
//! `submit` on, and whoever waits helps, too, holding no lock. What waits spins briefly, then yields, then sleeps, so
//! that a loaded machine does not collapse.
#![allow(unsafe_code)]

use crate::isa::FloatMode;
use crate::memory::Memory;
use crate::program::{Failure, Program};
use crate::tile::Scratch;
use inkstone_compute::{Error, Executable, Result, Ticket};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Failures that are remembered for those who wait later.
const FAILURES: usize = 64;
/// Rounds of spinning, then of yielding, before a thread sleeps.
const SPINS: u32 = 1000;
const YIELDS: u32 = 100;
/// Sleep of a thread that waits for tiles of others.
const NAP: Duration = Duration::from_micros(50);

/// What the queues of an engine and its workers share.
#[derive(Default)]
pub(crate) struct Device {
    line: Mutex<Line>,
    /// Submits so far, and then some when the workers should end: what they wait for.
    epoch: AtomicU64,
    wake: Condvar,
    scratch: Mutex<Vec<Scratch>>,
}

#[derive(Default)]
struct Line {
    /// The run under way.
    current: Option<Arc<dyn Executable>>,
    last: u64,
    failures: VecDeque<(u64, Failure, Arc<dyn Executable>)>,
    stop: bool,
}

/// The engine's threads; they end when this is dropped.
pub(crate) struct Pool {
    pub(crate) device: Arc<Device>,
    workers: Vec<JoinHandle<()>>,
}

impl Pool {
    /// With `threads - 1` workers: who waits is one, too. Fewer, if the system gives fewer.
    pub(crate) fn new(threads: usize) -> Pool {
        let device = Arc::new(Device::default());
        let worker = |i: usize| {
            let device = device.clone();
            std::thread::Builder::new().name(format!("inkstone-cpu-{i}")).spawn(move || device.work()).ok()
        };
        let workers = (1..threads).map_while(worker).collect();
        Pool { device, workers }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.device.line().stop = true;
        self.device.epoch.fetch_add(1, Ordering::Release);
        self.device.wake.notify_all();
        for worker in self.workers.drain(..) {
            // A worker that panicked has nothing left to say.
            drop(worker.join());
        }
    }
}

/// Waiting that gets ever more patient.
#[derive(Default)]
pub(crate) struct Wait(u32);

impl Wait {
    /// A moment.
    pub(crate) fn pause(&mut self) {
        if !self.is_long() {
            self.brief();
        } else {
            std::thread::sleep(NAP);
        }
    }

    fn brief(&mut self) {
        if self.0 < SPINS {
            std::hint::spin_loop()
        } else {
            std::thread::yield_now()
        }
        self.0 += 1;
    }

    fn is_long(&self) -> bool {
        self.0 >= SPINS + YIELDS
    }
}

fn program(executable: &Arc<dyn Executable>) -> Result<&Program> {
    let executable: &dyn Any = executable.as_ref();
    let engine = crate::Cpu::NAME.to_owned();
    executable.downcast_ref().ok_or(Error::Foreign { what: "executable", engine })
}

impl Device {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a plan into the line; it begins when those before it are done, which the caller helps with.
    pub(crate) fn submit(&self, executable: &Arc<dyn Executable>) -> Result<Ticket> {
        let program = program(executable)?;
        let mut line = self.idle();
        // SAFETY: the line is idle and locked: nothing runs, and the host writes only in `Device::write`.
        unsafe { program.begin() }?;
        line.last += 1;
        line.current = Some(executable.clone());
        let ticket = Ticket(line.last);
        self.epoch.fetch_add(1, Ordering::Release);
        drop(line);
        self.wake.notify_all();
        Ok(ticket)
    }

    /// Until a ticket's work is done.
    pub(crate) fn wait(&self, ticket: Ticket) -> Result<()> {
        let mut line = self.line();
        if ticket.0 > line.last {
            return Err(Error::Foreign { what: "ticket", engine: crate::Cpu::NAME.to_owned() });
        }
        if ticket.0 == line.last {
            drop(line);
            line = self.idle();
        }
        match line.failures.iter().find(|(failed, ..)| *failed == ticket.0) {
            Some((_, failure, executable)) => Err(failure.clone().error(executable.plan())),
            None => Ok(()),
        }
    }

    /// Copies bytes into a buffer when nothing runs.
    pub(crate) fn write(&self, memory: &Memory, offset: usize, bytes: &[u8]) -> Result<()> {
        let _line = self.idle();
        // SAFETY: the line is idle and locked, so that nothing runs and nobody else is here.
        unsafe { memory.write(offset, bytes) }
    }

    /// Copies bytes out of a buffer when nothing runs.
    pub(crate) fn read(&self, memory: &Memory, offset: usize, into: &mut [u8]) -> Result<()> {
        let _line = self.idle();
        // SAFETY: as above.
        unsafe { memory.read(offset, into) }
    }

    /// The line, when nothing runs: helps until it is so.
    fn idle(&self) -> MutexGuard<'_, Line> {
        loop {
            let mut line = self.line();
            let Some(current) = line.current.clone() else { return line };
            let Ok(running) = program(&current) else { return line };
            if running.is_finished() {
                let ticket = line.last;
                if let Some(failure) = running.failure() {
                    line.failures.push_back((ticket, failure, current.clone()));
                    while line.failures.len() > FAILURES {
                        line.failures.pop_front();
                    }
                }
                line.current = None;
                return line;
            }
            drop(line);
            self.help(running);
            let mut wait = Wait::default();
            while !running.is_finished() {
                wait.pause();
            }
        }
    }

    /// Runs tiles in scratch memory that is kept.
    fn help(&self, running: &Program) {
        let _mode = FloatMode::default_mode();
        let free = || self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = free().pop();
        let mut scratch = kept.unwrap_or_default();
        running.help(&mut scratch);
        free().push(scratch);
    }

    /// A worker's life.
    fn work(&self) {
        let mut seen = 0;
        loop {
            let mut wait = Wait::default();
            while self.epoch.load(Ordering::Acquire) == seen && !wait.is_long() {
                wait.brief();
            }
            let mut line = self.line();
            while self.epoch.load(Ordering::Acquire) == seen {
                line = self.wake.wait(line).unwrap_or_else(PoisonError::into_inner);
            }
            if line.stop {
                return;
            }
            seen = self.epoch.load(Ordering::Acquire);
            let current = line.current.clone();
            drop(line);
            if let Some(running) = current.as_ref().and_then(|c| program(c).ok()) {
                self.help(running);
            }
        }
    }
}
