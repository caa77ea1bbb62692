//! A timed part of a test, with the state of memory during it.

use std::fmt;
use std::time::Duration;

/// If the reads before and after a slice differ by a larger part of the faster one, the memory has changed its state.
const STEADY: f64 = 0.15;

/// Several threads are in the fast state if they read at least this many times as fast as one thread. Two threads read
/// 1.1 to 1.5 times as fast in the slow state, and 1.65 to 1.9 times in the fast state.
const FAST: f64 = 1.55;

/// The state of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum State {
    /// One thread, which has only one state.
    Single,
    /// Several threads read only slightly faster than one thread.
    Slow,
    /// Several threads read much faster than one thread.
    Fast,
    /// Prompts with several threads: they compute more than they read, and take longer than memory stays in one state.
    Any,
    /// The state was not measured.
    Unknown,
}

impl State {
    /// The state in which `threads` threads read `read` bytes per second, where `alone` is the rate of one thread.
    pub(super) fn of(read: f64, alone: f64, threads: usize) -> State {
        match threads {
            1 => State::Single,
            _ if read >= FAST * alone => State::Fast,
            _ => State::Slow,
        }
    }

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            State::Single => "single",
            State::Slow => "slow",
            State::Fast => "fast",
            State::Any => "any",
            State::Unknown => "unknown",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A number of consecutive steps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Slice {
    /// Tokens of all sequences.
    pub tokens: u64,
    /// Decode steps.
    pub steps: u64,
    /// Their time.
    pub time: Duration,
    /// The bytes of weights, keys and values that they must read; 0 for prompts, which compute more than they read.
    pub bytes: u64,
    /// The multiply-adds that they must compute.
    pub macs: u64,
    /// The read rates of memory immediately before and after, in bytes per second.
    pub reads: Option<(f64, f64)>,
}

impl Slice {
    /// Whether the read rates before and after are similar, or were not measured.
    pub fn is_steady(&self) -> bool {
        self.reads.is_none_or(|(before, after)| (before - after).abs() <= STEADY * before.max(after))
    }

    /// The read rate of memory during the slice, in bytes per second.
    pub fn read(&self) -> Option<f64> {
        self.reads.map(|(before, after)| (before + after) / 2.0)
    }

    /// Tokens per second.
    pub fn rate(&self) -> f64 {
        self.tokens as f64 / self.time.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_whose_reads_differ_by_more_than_15_percent_is_not_steady() {
        let slice = |reads| Slice { reads, ..Slice::default() };
        assert!(slice(Some((34.0, 40.0))).is_steady() && slice(Some((40.0, 34.0))).is_steady());
        assert!(!slice(Some((33.9, 40.0))).is_steady() && !slice(Some((40.0, 33.9))).is_steady());
        assert!(slice(None).is_steady());
    }

    #[test]
    fn the_state_is_how_much_more_several_threads_read_than_one() {
        // Rates of Zen 4 and Zen 5, whose states differ the least.
        assert_eq!([(37.0, 30.0), (49.7, 33.1)].map(|(read, alone)| State::of(read, alone, 2)), [State::Slow; 2]);
        assert_eq!([(58.0, 33.0), (79.0, 48.0)].map(|(read, alone)| State::of(read, alone, 2)), [State::Fast; 2]);
        assert_eq!(State::of(31.0, 31.0, 1), State::Single);
    }
}
