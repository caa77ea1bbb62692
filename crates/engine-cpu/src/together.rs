//! Threads that begin at one moment, for measurements.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Told to threads that wait.
const GO: usize = 1;
const GIVE_UP: usize = 2;

/// Calls `f` with 0 .. `threads` on as many threads, of which this is one. From the first start to the last end; `None` if
/// the system gives too few threads.
pub(crate) fn together(threads: usize, f: impl Fn(usize) + Sync) -> Option<Duration> {
    let (there, told) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (f, there, told) = (&f, &there, &told);
    let timed = |i| {
        let start = Instant::now();
        f(i);
        (start, Instant::now())
    };
    thread::scope(|scope| {
        let waits = |i| {
            move || {
                there.fetch_add(1, Ordering::AcqRel);
                while told.load(Ordering::Acquire) == 0 {
                    spin_loop();
                }
                (told.load(Ordering::Acquire) == GO).then(|| timed(i))
            }
        };
        let start = |i| thread::Builder::new().spawn_scoped(scope, waits(i)).ok();
        let Some(others) = (1..threads).map(start).collect::<Option<Vec<_>>>() else {
            told.store(GIVE_UP, Ordering::Release);
            return None;
        };
        while there.load(Ordering::Acquire) < others.len() {
            // They may need this core.
            thread::yield_now();
        }
        told.store(GO, Ordering::Release);
        let (mut first, mut last) = timed(0);
        for other in others {
            let (start, end) = other.join().ok()??;
            (first, last) = (first.min(start), last.max(end));
        }
        Some(last - first)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_index_is_called_once() {
        for threads in [1, 2, 5] {
            let called: Vec<_> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
            assert!(together(threads, |i| _ = called[i].fetch_add(1, Ordering::Relaxed)).is_some());
            assert!(called.iter().all(|c| c.load(Ordering::Relaxed) == 1));
        }
    }
}
