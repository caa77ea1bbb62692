//! Access to the scheduler. A step holds the scheduler's lock while it runs; new requests, the ends of old ones and counts
//! have locks of their own, so that nobody waits for a step who does not need its results.

use crate::metrics::Metrics;
use crate::scheduler::Scheduler;
use crate::sequence::Sequence;
use crate::{Error, Result};
use inkstone_kvcache::Salt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// A scheduler that many callers share.
pub(crate) struct Shared {
    scheduler: Mutex<Scheduler>,
    inbox: Mutex<Vec<Sequence>>,
    /// The salts whose pages no request will look up any more.
    forgotten: Mutex<Vec<Salt>>,
    /// The number of sequences that wait in the scheduler.
    waiting: Arc<AtomicUsize>,
    /// Whether the scheduler has something to read: new sequences, sequences whose caller ended them, or salts to forget.
    news: AtomicBool,
    metrics: Mutex<Metrics>,
    next_id: AtomicU64,
    /// The largest number of waiting sequences.
    queue: usize,
}

/// The scheduler, for one caller. A thread that has it may lock outputs; a thread that holds the lock of an output must
/// not take it.
pub(crate) struct Turn<'s> {
    shared: &'s Shared,
    /// Present until it is dropped.
    scheduler: Option<MutexGuard<'s, Scheduler>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub fn new(scheduler: Scheduler, queue: usize) -> Shared {
        let (metrics, waiting) = (Mutex::new(scheduler.metrics()), scheduler.queued.clone());
        Shared {
            waiting,
            scheduler: Mutex::new(scheduler),
            inbox: Mutex::default(),
            forgotten: Mutex::default(),
            news: AtomicBool::new(false),
            metrics,
            next_id: AtomicU64::new(0),
            queue: queue.max(1),
        }
    }

    /// Adds a sequence, which begins when a slot and enough pages are free. Does not wait for a step.
    ///
    /// # Errors
    /// Too many sequences wait.
    pub fn add(&self, sequence: impl FnOnce(u64) -> Sequence) -> Result<()> {
        let mut inbox = locked(&self.inbox);
        if self.waiting.load(Ordering::Relaxed) + inbox.len() >= self.queue {
            return Err(Error::QueueFull { limit: self.queue });
        }
        // Under the lock, so that the order of the numbers is the order of arrival.
        inbox.push(sequence(self.next_id.fetch_add(1, Ordering::Relaxed)));
        drop(inbox);
        self.notify();
        Ok(())
    }

    /// Gives up the pages with a salt. Its sequences must have been ended. Does not wait for a step.
    pub fn forget(&self, salt: Salt) {
        locked(&self.forgotten).push(salt);
        self.notify();
    }

    /// Lets the scheduler read its inbox: now if no step runs, else after the step.
    pub fn notify(&self) {
        self.news.store(true, Ordering::SeqCst);
        self.attend();
    }

    fn attend(&self) {
        while self.news.load(Ordering::SeqCst) {
            let scheduler = match self.scheduler.try_lock() {
                Ok(scheduler) => scheduler,
                Err(TryLockError::Poisoned(poisoned)) => self.recovered(poisoned),
                // The thread that has it attends when it gives it back.
                Err(TryLockError::WouldBlock) => return,
            };
            let mut turn = Turn { shared: self, scheduler: Some(scheduler) };
            turn.receive();
            turn.give_back();
        }
    }

    /// Waits for the scheduler.
    pub fn turn(&self) -> Turn<'_> {
        let scheduler = self.scheduler.lock().unwrap_or_else(|poisoned| self.recovered(poisoned));
        let mut turn = Turn { shared: self, scheduler: Some(scheduler) };
        turn.receive();
        turn
    }

    /// A thread panicked in a step: the states of the device are unknown.
    fn recovered<'s>(&'s self, poisoned: PoisonError<MutexGuard<'s, Scheduler>>) -> MutexGuard<'s, Scheduler> {
        self.scheduler.clear_poison();
        let mut scheduler = poisoned.into_inner();
        scheduler.lose(Error::Panicked);
        scheduler
    }

    /// The counts at the end of the last step, or of the last change between steps.
    pub fn metrics(&self) -> Metrics {
        *locked(&self.metrics)
    }
}

impl Turn<'_> {
    /// Takes new sequences, ends those whose caller ended them, and forgets salts: last, because a sequence that ends
    /// leaves pages with its salt.
    fn receive(&mut self) {
        let shared = self.shared;
        if shared.news.swap(false, Ordering::SeqCst) {
            let mut inbox = locked(&shared.inbox);
            self.wait_for_slots(&mut inbox);
            drop(inbox);
            self.sweep();
            let caches = &mut self.caches;
            locked(&shared.forgotten).drain(..).for_each(|salt| caches.forget(salt));
        }
        self.publish();
    }

    fn publish(&self) {
        *locked(&self.shared.metrics) = self.metrics();
    }

    fn give_back(&mut self) {
        if self.scheduler.is_some() {
            self.publish();
        }
        self.scheduler = None;
    }
}

impl Deref for Turn<'_> {
    type Target = Scheduler;

    fn deref(&self) -> &Scheduler {
        self.scheduler.as_ref().expect("present until it is dropped")
    }
}

impl DerefMut for Turn<'_> {
    fn deref_mut(&mut self) -> &mut Scheduler {
        self.scheduler.as_mut().expect("present until it is dropped")
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.give_back();
        if !std::thread::panicking() {
            self.shared.attend();
        }
    }
}
