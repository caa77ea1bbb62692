//! Slices of Inkstone and the peers that alternate, each between two measurements of the memory bandwidth.

use super::machine::{Machine, State};
use super::protocol::{Process, Sweep, Took};
use super::record::{Figure, Test, What};
use crate::error::Error;

/// A peer that is measured.
pub trait Contestant {
    /// How it is run, for results.
    fn variant(&self) -> &str;
    fn fill(&mut self, depth: usize) -> Result<(), Error>;
    /// As many tokens as fit in so many milliseconds.
    fn decode(&mut self, milliseconds: u64) -> Result<Took, Error>;
    fn prompt(&mut self, tokens: usize) -> Result<Took, Error>;
}

impl Contestant for Process {
    fn variant(&self) -> &str {
        self.name()
    }
    fn fill(&mut self, depth: usize) -> Result<(), Error> {
        Self::fill(self, depth)
    }
    fn decode(&mut self, milliseconds: u64) -> Result<Took, Error> {
        Self::decode(self, milliseconds)
    }
    fn prompt(&mut self, tokens: usize) -> Result<Took, Error> {
        Self::prompt(self, tokens)
    }
}

/// The work of a process between two reads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slice {
    /// 0 is Inkstone, the peers are numbered from 1.
    pub who: usize,
    pub took: Took,
    /// The mean of the read rates before and after, in bytes per second.
    pub read: f64,
    pub state: State,
}

/// How far the reads around a slice may differ, as a share of the larger one.
const MOST_DIFFERENCE: f64 = 0.15;
/// A slice of decoding.
pub const MILLISECONDS: u64 = 100;
/// Slices of each in a state, or the state has no figure.
const LEAST_SLICES: usize = 3;

/// `cycles` times each in turn. Slices of decoding whose reads differ too much are dropped; a prompt takes longer than
/// the memory keeps still, and is not bound by it.
pub fn run(
    test: &Test,
    machine: &Machine,
    ours: &mut Process,
    peers: &mut [Box<dyn Contestant>],
    cycles: usize,
) -> Result<Vec<Slice>, Error> {
    let mut slices = Vec::new();
    let mut before = ours.sweep()?;
    let each = 1 + peers.len();
    for who in (0..cycles).flat_map(|_| 0..each) {
        let contestant: &mut dyn Contestant = if who == 0 { ours } else { &mut *peers[who - 1] };
        let took = match test.what {
            What::Decode => contestant.decode(MILLISECONDS)?,
            _ => contestant.prompt(test.tokens)?,
        };
        let after = ours.sweep()?;
        slices.extend(state(test, machine, &before, &after).map(|state| {
            let read = (before.read + after.read) / 2.0;
            Slice { who, took, read, state }
        }));
        before = after;
    }
    Ok(slices)
}

/// Whether the result of the test is compared with the speed of memory. It is not with busy threads.
fn is_bound(test: &Test) -> bool {
    test.what == What::Decode && test.busy == 0
}

/// The state that a slice between two sweeps counts for, if it does.
fn state(test: &Test, machine: &Machine, before: &Sweep, after: &Sweep) -> Option<State> {
    match is_bound(test) {
        true => is_steady(before, after).then(|| machine.state(&after.state)),
        false => Some(State::Any),
    }
}

fn is_steady(before: &Sweep, after: &Sweep) -> bool {
    let difference = (before.read - after.read).abs();
    before.state == after.state && difference <= MOST_DIFFERENCE * before.read.max(after.read)
}

/// The figures of one state of the memory.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub state: State,
    /// Tokens per second.
    pub ours: Figure,
    /// The fastest of the peers: which one, and its figure.
    pub best: (usize, Figure),
    /// The median of the read rates of Inkstone's slices, in bytes per second.
    pub read: f64,
    /// Median of the share of it that Inkstone reached, if Inkstone counts the bytes that it reads.
    pub share: Option<f64>,
    /// Median of the multiplications and additions per second, if Inkstone counts them.
    pub macs: Option<f64>,
}

/// The figures by state; states in which somebody has too few slices are left out.
pub fn outcomes(test: &Test, slices: &[Slice]) -> Vec<Outcome> {
    let outcome = |wanted: State| {
        let of = |who: usize| slices.iter().filter(move |s| s.who == who && s.state == wanted);
        let figure = |who: usize| {
            let rates: Vec<f64> = of(who).map(|s| s.took.rate()).collect();
            Figure::of(&rates).filter(|f| f.runs >= LEAST_SLICES || !is_bound(test))
        };
        let peers = (1..).take_while(|who| slices.iter().any(|s| s.who >= *who));
        let best = peers.filter_map(|who| Some((who, figure(who)?)));
        let shares: Vec<f64> = of(0).filter_map(|s| Some(s.took.bytes? / s.took.seconds / s.read)).collect();
        let macs: Vec<f64> = of(0).filter_map(|s| Some(s.took.macs? / s.took.seconds)).collect();
        Some(Outcome {
            state: wanted,
            ours: figure(0)?,
            best: best.max_by(|a, b| a.1.median.total_cmp(&b.1.median))?,
            read: Figure::of(&of(0).map(|s| s.read).collect::<Vec<_>>())?.median,
            share: Figure::of(&shares).map(|f| f.median),
            macs: Figure::of(&macs).map(|f| f.median),
        })
    };
    [State::Slow, State::Fast, State::Any].into_iter().filter_map(outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::machine::Kind;

    fn slice(who: usize, rate: f64, read: f64, state: State) -> Slice {
        Slice { who, took: Took { tokens: rate, seconds: 1.0, bytes: Some(rate * 1e9), macs: None }, read, state }
    }

    fn slow(who: usize, rate: f64) -> Slice {
        slice(who, rate, 35e9, State::Slow)
    }

    fn fast(who: usize, rate: f64) -> Slice {
        slice(who, rate, 60e9, State::Fast)
    }

    #[test]
    fn reads_of_two_states_or_that_differ_by_more_than_15_percent_are_not_steady() {
        let sweep = |read: f64, state: &str| Sweep { read, state: state.to_owned() };
        let is_steady = |before: f64, after: f64| is_steady(&sweep(before, "slow"), &sweep(after, "slow"));
        assert!(is_steady(34e9, 40e9) && is_steady(40e9, 34e9));
        assert!(!is_steady(33.9e9, 40e9) && !is_steady(40e9, 33.9e9));
        assert!(!super::is_steady(&sweep(40e9, "slow"), &sweep(40e9, "fast")));
    }

    #[test]
    fn states_are_apart_and_the_best_peer_counts() {
        let mut slices = Vec::new();
        for i in 0..3 {
            slices.extend([slow(0, 30.0 + f64::from(i)), slow(1, 20.0), slow(2, 25.0)]);
            slices.extend([fast(0, 50.0), fast(1, 30.0), fast(2, 28.0)]);
        }
        let found = outcomes(&Test::decode(2, 0, 1), &slices);
        assert_eq!(found.iter().map(|o| o.state).collect::<Vec<_>>(), [State::Slow, State::Fast]);
        assert_eq!(found.iter().map(|o| (o.ours.median, o.best.0)).collect::<Vec<_>>(), [(31.0, 2), (50.0, 1)]);
        assert_eq!(found[0].share, Some(31.0 / 35.0));
    }

    #[test]
    fn prompts_and_what_runs_beside_busy_threads_count_whatever_memory_does() {
        let machine = |kind| Machine { name: String::new(), kind };
        let sweep = |read: f64, state: &str| Sweep { read, state: state.to_owned() };
        let (low, high) = (sweep(35e9, "slow"), sweep(60e9, "fast"));
        let state = |test: &Test, kind, before, after| state(test, &machine(kind), before, after);
        let decode = Test::decode(2, 0, 1);
        assert_eq!(state(&decode, Kind::Avx512, &low, &high), None);
        assert_eq!(state(&decode, Kind::Avx512, &low, &low), Some(State::Slow));
        assert_eq!(state(&decode, Kind::Avx512, &high, &high), Some(State::Fast));
        assert_eq!(state(&decode, Kind::Avx2, &low, &low), Some(State::Any));
        for test in [Test::prefill(2, 512), decode.under(1)] {
            assert_eq!(state(&test, Kind::Avx512, &low, &high), Some(State::Any));
            // Nor need they be many.
            let slices = [slice(0, 30.0, 35e9, State::Any), slice(1, 20.0, 60e9, State::Any)];
            let found = outcomes(&test, &slices);
            assert_eq!(found.iter().map(|o| (o.state, o.ours.runs)).collect::<Vec<_>>(), [(State::Any, 1)]);
        }
    }

    #[test]
    fn a_state_with_too_few_slices_has_no_figure() {
        let mut slices: Vec<Slice> = (0..3).flat_map(|_| [slow(0, 30.0), slow(1, 20.0)]).collect();
        slices.extend((0..2).flat_map(|_| [fast(0, 50.0), fast(1, 30.0)]));
        let found = outcomes(&Test::decode(2, 0, 1), &slices);
        assert_eq!(found.iter().map(|o| o.state).collect::<Vec<_>>(), [State::Slow]);
        assert_eq!(outcomes(&Test::decode(2, 0, 1), &slices[..1]), []);
    }
}
