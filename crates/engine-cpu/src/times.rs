//! When steps begin and end, recorded without a lock or an allocation.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The times of a program's steps.
pub(crate) struct Times {
    origin: Instant,
    steps: Box<[Span]>,
}

/// Nanoseconds since the origin: the run under way, from its first tile to its last one; and all runs before it.
struct Span {
    first: AtomicU64,
    last: AtomicU64,
    total: AtomicU64,
}

impl Times {
    pub(crate) fn new(steps: usize) -> Times {
        let span = || Span { first: AtomicU64::new(u64::MAX), last: AtomicU64::new(0), total: AtomicU64::new(0) };
        Times { origin: Instant::now(), steps: (0..steps).map(|_| span()).collect() }
    }

    /// When nothing runs: adds up what ran last.
    pub(crate) fn next_run(&self) {
        for span in &self.steps {
            let (first, last) = (span.first.swap(u64::MAX, Relaxed), span.last.swap(0, Relaxed));
            span.total.fetch_add(last.saturating_sub(first), Relaxed);
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// Tiles of a step ran from `begun` until now.
    pub(crate) fn ran(&self, step: usize, begun: u64) {
        self.steps[step].first.fetch_min(begun, Relaxed);
        self.steps[step].last.fetch_max(self.now(), Relaxed);
    }

    /// Of all runs, by step; when nothing runs.
    pub(crate) fn totals(&self) -> Vec<Duration> {
        self.next_run();
        self.steps.iter().map(|span| Duration::from_nanos(span.total.load(Relaxed))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_lasts_from_its_first_tile_to_its_last_and_runs_add_up() {
        let times = Times::new(3);
        let span = |step: usize, first, last| {
            times.steps[step].first.fetch_min(first, Relaxed);
            times.steps[step].last.fetch_max(last, Relaxed);
        };
        for first in [1000, 5000] {
            times.next_run();
            span(0, first + 20, first + 70);
            span(0, first, first + 10);
            span(1, first + 30, first + 40);
        }
        // The time of a worker between its tiles counts, because other workers wait for the step meanwhile.
        assert_eq!(times.totals(), [140, 20, 0].map(Duration::from_nanos));
        assert_eq!(times.totals(), [140, 20, 0].map(Duration::from_nanos));
        times.ran(2, times.now());
        assert!(times.totals()[2] < Duration::from_secs(10));
    }
}
