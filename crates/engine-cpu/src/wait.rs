//! Waiting: briefly by spinning, then asleep, so that a loaded machine does not collapse. Who yields to threads of others gets
//! its core back only after their whole turn; who slept gets it at once.

use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Rounds of spinning (some 80 to 200 microseconds: longer than what is drawn between steps takes) before a thread sleeps.
const SPINS: u32 = 4000;
/// A sleeper looks again after this time, whoever forgot to wake it.
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

/// Where threads sleep that wait for tiles of others. Ringing costs nothing while nobody sleeps.
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
