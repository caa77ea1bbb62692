//! Waiting: first spinning for a short time, then sleeping, so that a loaded machine does not collapse. A thread that
//! yields to threads of other processes gets its core back only after their whole time slice; a thread that slept gets
//! it immediately.

use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Rounds of spinning before a thread sleeps: some 80 to 200 microseconds, longer than the work between steps.
const SPINS: u32 = 4000;
/// A sleeping thread checks its condition again after this time, even if it was not woken.
const LIMIT: Duration = Duration::from_millis(1);

/// Waiting that gets ever more patient.
#[derive(Default)]
pub(crate) struct Wait(u32);

impl Wait {
    /// A moment; true when it is time to sleep.
    pub(crate) fn brief(&mut self) -> bool {
        std::hint::spin_loop();
        self.0 += 1;
        self.0 >= SPINS
    }

    /// A moment, or a sleep until the bell rings, unless `done`; afterwards the caller looks again.
    pub(crate) fn pause(&mut self, bell: &Bell, done: impl Fn() -> bool) {
        if self.brief() {
            bell.sleep(done);
            *self = Wait::default();
        }
    }
}

/// The place where threads sleep that wait for tiles of other workers. Waking costs nothing while no thread sleeps.
#[derive(Default)]
pub(crate) struct Bell {
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    rung: Condvar,
}

impl Bell {
    fn sleep(&self, done: impl Fn() -> bool) {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        // Either this thread sees what was done, or who did it sees the sleeper.
        fence(Ordering::SeqCst);
        if !done() {
            drop(self.rung.wait_timeout(guard, LIMIT));
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Wakes all who sleep; after something was done that they may wait for.
    pub(crate) fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            drop(self.lock.lock());
            self.rung.notify_all();
        }
    }
}
