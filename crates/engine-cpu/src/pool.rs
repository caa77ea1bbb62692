//! The threads and the order of runs. Runs execute one at a time, in the order of submission; workers help from
//! `submit` on, and waiting callers also help, without holding a lock.
#![allow(unsafe_code)]

use crate::isa::FloatMode;
use crate::kernels;
use crate::memory::{Memory, own};
use crate::program::{Failure, Program};
use crate::scratch::{Need, Scratch};
use crate::wait::{Bell, Wait};
use inkstone_compute::{Back, Backs, Budget, Error, Executable, Result, Ticket};
use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;

/// Failures that are remembered for those who wait later.
const FAILURES: usize = 64;

/// The state that the queues of an engine and its workers share.
pub(crate) struct Device {
    /// The budget of its buffers, which distinguishes them from the buffers of other engines.
    budget: Arc<Budget>,
    line: Mutex<Line>,
    /// Changes when there is something for the workers: a run, or the end.
    epoch: AtomicU64,
    /// Workers that have begun.
    begun: AtomicUsize,
    wake: Condvar,
    /// For those who wait for a run to go on.
    bell: Bell,
    /// Scratch memory of the waiting caller, then of each worker. The caller that holds the first one helps; other
    /// waiting callers do not.
    scratch: Box<[Mutex<Scratch>]>,
}

#[derive(Default)]
struct Line {
    /// The run under way.
    current: Option<Run>,
    last: u64,
    failures: VecDeque<(u64, Failure, Arc<dyn Executable>)>,
    /// For each queue, by its number, the ranges that its last submits bring back.
    backs: Vec<(u64, Backs)>,
    /// The number of the next queue.
    next_queue: u64,
    /// Workers that sleep.
    asleep: usize,
    stop: bool,
}

impl Line {
    /// The ranges that the submits of a queue bring back.
    fn backs_of(&mut self, queue: u64) -> Result<&mut Backs> {
        let found = self.backs.iter_mut().find(|(number, _)| *number == queue);
        found.map(|(_, backs)| backs).ok_or_else(|| foreign("queue"))
    }

    /// The error of a ticket that failed.
    fn failure(&self, ticket: Ticket) -> Result<()> {
        match self.failures.iter().find(|(failed, ..)| *failed == ticket.0) {
            Some((_, failure, executable)) => Err(failure.clone().error(executable.plan())),
            None => Ok(()),
        }
    }
}

#[derive(Clone)]
struct Run {
    executable: Arc<dyn Executable>,
    number: u32,
}

impl Run {
    fn program(&self) -> Result<&Program> {
        program(&self.executable)
    }
}

/// The engine's threads; they end when this is dropped.
pub(crate) struct Pool {
    pub(crate) device: Arc<Device>,
    workers: Vec<JoinHandle<()>>,
}

/// Starts a thread of this name.
type Start = dyn Fn(String, Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>>;

impl Pool {
    /// A pool with `threads - 1` workers, because the waiting caller also works. It has fewer if the system can't start
    /// them.
    pub(crate) fn new(threads: usize, budget: &Arc<Budget>) -> Pool {
        Pool::with(threads, budget, &|name, work| std::thread::Builder::new().name(name).spawn(work))
    }

    fn with(threads: usize, budget: &Arc<Budget>, start: &Start) -> Pool {
        let device = Arc::new(Device {
            budget: budget.clone(),
            line: Mutex::default(),
            epoch: AtomicU64::new(0),
            begun: AtomicUsize::new(0),
            wake: Condvar::new(),
            bell: Bell::default(),
            scratch: (0..threads.max(1)).map(|_| Mutex::default()).collect(),
        });
        let worker = |index: usize| {
            let device = device.clone();
            start(format!("inkstone-cpu-{index}"), Box::new(move || device.work(index))).ok()
        };
        let workers: Vec<JoinHandle<()>> = (1..threads).map_while(worker).collect();
        // A thread allocates when it begins: not within somebody's first steps.
        while device.begun.load(Ordering::Relaxed) < workers.len() {
            std::thread::yield_now();
        }
        Pool { device, workers }
    }

    /// The workers, and who waits.
    pub(crate) fn threads(&self) -> usize {
        self.workers.len() + 1
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut line = self.device.line();
        line.stop = true;
        // Under the lock: a worker that holds it checks the epoch and then goes to sleep, and would miss a call in
        // between.
        self.device.epoch.fetch_add(1, Ordering::Release);
        drop(line);
        self.device.wake.notify_all();
        for worker in self.workers.drain(..) {
            // A worker that panicked has nothing left to say.
            drop(worker.join());
        }
    }
}

fn program(executable: &Arc<dyn Executable>) -> Result<&Program> {
    let executable: &dyn Any = executable.as_ref();
    executable.downcast_ref().ok_or_else(|| foreign("executable"))
}

fn foreign(what: &'static str) -> Error {
    Error::Foreign { what, engine: crate::Cpu::NAME.to_owned() }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Device {
    pub(crate) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Threads that run tiles: at most as many as there are memories for them.
    pub(crate) fn threads(&self) -> usize {
        self.scratch.len()
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        lock(&self.line)
    }

    /// The number of a new queue.
    pub(crate) fn open(&self) -> u64 {
        let mut line = self.line();
        let queue = line.next_queue;
        line.next_queue += 1;
        line.backs.push((queue, Backs::default()));
        queue
    }

    /// Forgets a queue.
    pub(crate) fn close(&self, queue: u64) {
        self.line().backs.retain(|(number, _)| *number != queue);
    }

    /// Puts a plan of a queue into the line; it begins when the plans before it are done, which the caller helps with.
    /// Workers are told if there is something for more than one.
    pub(crate) fn submit(&self, queue: u64, executable: &Arc<dyn Executable>, back: &[Back]) -> Result<Ticket> {
        let program = program(executable)?;
        if !program.is_of(&self.budget) {
            return Err(foreign("executable"));
        }
        for range in back {
            range.check()?;
            own(&range.buffer, &self.budget)?;
        }
        let mut line = self.idle();
        self.settle(&mut line)?;
        // SAFETY: the line is idle and locked: nothing runs, and the host writes only in `Device::write`.
        let (number, wide) = unsafe { program.begin() }?;
        line.last += 1;
        line.current = Some(Run { executable: executable.clone(), number });
        let (ticket, asleep) = (Ticket(line.last), line.asleep);
        line.backs_of(queue)?.push(ticket, back);
        if wide {
            self.epoch.fetch_add(1, Ordering::Release);
        }
        drop(line);
        if wide && asleep > 0 {
            self.wake.notify_all();
        }
        Ok(ticket)
    }

    /// Until a ticket's work is done.
    pub(crate) fn wait(&self, ticket: Ticket) -> Result<()> {
        self.done(ticket).map(drop)
    }

    /// Gives a range that a submit of a queue brings back.
    pub(crate) fn fetch(&self, queue: u64, ticket: Ticket, range: usize, into: &mut [u8]) -> Result<()> {
        let mut line = self.done(ticket)?;
        // A range that is still in its buffer is one of the last submit, which is done: nothing runs.
        line.backs_of(queue)?.fetch(ticket, range, into, |range, into| self.copy(range, into))
    }

    /// The line, when the work of a ticket is done.
    fn done(&self, ticket: Ticket) -> Result<MutexGuard<'_, Line>> {
        let mut line = self.line();
        if ticket.0 > line.last {
            return Err(foreign("ticket"));
        }
        if ticket.0 == line.last {
            drop(line);
            line = self.idle();
        }
        line.failure(ticket)?;
        Ok(line)
    }

    /// Copies what nobody has fetched yet out of the buffers, before they change. The line is idle.
    fn settle(&self, line: &mut Line) -> Result<()> {
        let Line { backs, failures, .. } = line;
        let failed = |ticket: Ticket| failures.iter().any(|(failed, ..)| *failed == ticket.0);
        let copy = |ticket, range: &Back, into: &mut [u8]| {
            if failed(ticket) { Err(foreign("ticket")) } else { self.copy(range, into) }
        };
        backs.iter_mut().try_for_each(|(_, backs)| backs.settle(copy))
    }

    /// Copies a range out of its buffer.
    fn copy(&self, range: &Back, into: &mut [u8]) -> Result<()> {
        let memory = own(&range.buffer, &self.budget)?;
        // SAFETY: the callers hold the lock of the line while nothing runs.
        unsafe { memory.read(range.offset as usize, into) }
    }

    /// Copies bytes into a buffer when nothing runs.
    pub(crate) fn write(&self, memory: &Memory, offset: usize, bytes: &[u8]) -> Result<()> {
        let mut line = self.idle();
        self.settle(&mut line)?;
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
            let Ok(running) = current.program() else { return line };
            if running.is_finished(current.number) {
                let ticket = line.last;
                if let Some(failure) = running.failure() {
                    line.failures.push_back((ticket, failure, current.executable.clone()));
                    while line.failures.len() > FAILURES {
                        line.failures.pop_front();
                    }
                }
                line.current = None;
                return line;
            }
            drop(line);
            let (mut wait, mut helped) = (Wait::default(), false);
            let finished = || running.is_finished(current.number);
            while !finished() {
                helped = helped || self.help(running, current.number, 0);
                wait.pause(&self.bell, finished);
            }
        }
    }

    /// Reserves the scratch memory that a plan needs, for all threads.
    pub(crate) fn reserve(&self, need: &Need) -> Result<()> {
        let reserve = |scratch: &Mutex<Scratch>| kernels::reserve(&mut lock(scratch), need);
        self.scratch.iter().try_for_each(reserve).map_err(|source| Error::NoMemory { what: "a plan", source })
    }

    /// Claims tiles until there are none; false if another thread does so in this place.
    fn help(&self, running: &Program, run: u32, index: usize) -> bool {
        let mut scratch = match self.scratch[index].try_lock() {
            Ok(scratch) => scratch,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let _mode = FloatMode::default_mode();
        running.help(run, index, &mut scratch, &self.bell);
        true
    }

    /// A worker's life.
    fn work(&self, index: usize) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        let mut seen = 0;
        loop {
            let mut wait = Wait::default();
            while self.epoch.load(Ordering::Acquire) == seen && !wait.brief() {}
            let mut line = self.line();
            while self.epoch.load(Ordering::Acquire) == seen {
                line.asleep += 1;
                line = self.wake.wait(line).unwrap_or_else(PoisonError::into_inner);
                line.asleep -= 1;
            }
            if line.stop {
                return;
            }
            seen = self.epoch.load(Ordering::Acquire);
            let current = line.current.clone();
            drop(line);
            if let Some(current) = current
                && let Ok(running) = current.program()
            {
                self.help(running, current.number, index);
            }
        }
    }
}

impl fmt::Debug for Device {
    /// The run under way, and what waits for what.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let line = self.line();
        writeln!(f, "{} submitted, {} workers asleep", line.last, line.asleep)?;
        match line.current.as_ref().map(Run::program) {
            Some(Ok(running)) => write!(f, "{running:?}"),
            _ => f.write_str("nothing runs"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn h5_where_threads_can_not_be_created_there_are_fewer() {
        let start = |name: String, work: Box<dyn FnOnce() + Send>| {
            if name.ends_with("-3") {
                Err(io::Error::other("no more"))
            } else {
                std::thread::Builder::new().spawn(work)
            }
        };
        let pool = Pool::with(8, &Budget::new(crate::Cpu::NAME, 0), &start);
        assert_eq!((pool.threads(), pool.workers.len()), (3, 2));
        let none = Pool::with(8, &Budget::new(crate::Cpu::NAME, 0), &|_, _| Err(io::Error::other("none")));
        assert_eq!(none.threads(), 1);
    }

    /// Whenever it is that a worker goes to sleep.
    #[test]
    fn workers_end_with_their_pool() {
        let (ended, all) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for i in 0..4000 {
                let pool = Pool::new(3, &Budget::new(crate::Cpu::NAME, 0));
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_nanos(i * 50) {}
                drop(pool);
            }
            ended.send(()).unwrap();
        });
        assert!(all.recv_timeout(Duration::from_mins(1)).is_ok(), "a worker sleeps on");
    }
}
