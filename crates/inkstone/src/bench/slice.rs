//! A time, and what memory was like around it.

use std::fmt;
use std::time::Duration;

/// Reads around a slice that differ by a larger part of the larger one say that memory changed meanwhile.
const STEADY: f64 = 0.15;

/// From so many times the read of one thread on, several threads have the fast state: two had 1.1 to 1.5 times as much in the slow
/// one, 1.65 to 1.9 in the fast one.
const FAST: f64 = 1.55;

/// Which of its states memory was in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum State {
    /// One thread: there is but one.
    Single,
    /// Several threads read not much more than one.
    Slow,
    /// Several threads read much more than one.
    Fast,
    /// Prompts of several threads, which compute more than they read and are longer than memory keeps a state.
    Any,
    /// Nobody measured it.
    Unknown,
}

impl State {
    /// The state of `read` bytes a second with so many threads where one alone reads `alone`.
    pub(super) fn of(read: f64, alone: f64, threads: usize) -> State {
        match threads {
            1 => State::Single,
            _ if read >= FAST * alone => State::Fast,
            _ => State::Slow,
        }
    }

    /// In tables.
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

/// Some steps in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Slice {
    /// Tokens, of all sequences together.
    pub tokens: u64,
    /// Decode steps.
    pub steps: u64,
    /// What they took.
    pub time: Duration,
    /// Bytes of weights, keys and values that they had to read; 0 for prompts, which compute more than they read.
    pub bytes: u64,
    /// Multiply-adds that they had to do.
    pub macs: u64,
    /// Bytes a second that memory was read at just before and just after.
    pub reads: Option<(f64, f64)>,
}

impl Slice {
    /// Whether memory was alike before and after, as far as anybody measured it.
    pub fn is_steady(&self) -> bool {
        self.reads.is_none_or(|(before, after)| (before - after).abs() <= STEADY * before.max(after))
    }

    /// Bytes a second that memory was read at meanwhile.
    pub fn read(&self) -> Option<f64> {
        self.reads.map(|(before, after)| (before + after) / 2.0)
    }

    /// Tokens a second.
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
        // Of Zen 4 and of Zen 5, which differ the least.
        assert_eq!([(37.0, 30.0), (49.7, 33.1)].map(|(read, alone)| State::of(read, alone, 2)), [State::Slow; 2]);
        assert_eq!([(58.0, 33.0), (79.0, 48.0)].map(|(read, alone)| State::of(read, alone, 2)), [State::Fast; 2]);
        assert_eq!(State::of(31.0, 31.0, 1), State::Single);
    }
}
