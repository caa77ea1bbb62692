//! The summary of the repetitions of a test.

use super::{Meter, Slice, State};

/// The slices of all repetitions of a test with memory in the same state.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// The state.
    pub state: State,
    /// The number of repetitions with such slices.
    pub runs: usize,
    /// The number of slices.
    pub slices: usize,
    /// Tokens per second: the mean over the repetitions, each with all its slices.
    pub mean: f64,
    /// The standard deviation of the repetitions; 0 for one repetition.
    pub deviation: f64,
    /// The median over the slices.
    pub median: f64,
    /// The bytes of weights, keys and values that must be read per token; 0 for prompts.
    pub token_bytes: f64,
    /// The bytes that the steps read per second.
    pub bytes_rate: f64,
    /// The read rate of memory during the slices in bytes per second, if it was measured.
    pub read: Option<f64>,
    /// The share of this read rate that the steps reached.
    pub of_read: Option<f64>,
    /// Multiply-adds per second.
    pub macs_rate: f64,
    /// Their share of the rate of the fastest loop of byte products.
    pub of_products: Option<f64>,
}

impl Summary {
    /// Returns a summary for each state with steady slices, and the number of slices that were not steady. A prompt is
    /// one slice. It takes longer than memory stays in one state, so it always counts, with state [`State::Any`].
    pub fn of(runs: &[Vec<Slice>], meter: Option<&Meter>) -> (Vec<Summary>, usize) {
        let counts = |s: &Slice| s.bytes == 0 || s.is_steady();
        let dropped = runs.iter().flatten().filter(|s| !counts(s)).count();
        let state = |s: &Slice| match meter.zip(s.read()).map(|(meter, read)| meter.state(read)) {
            Some(State::Slow | State::Fast) if s.bytes == 0 => State::Any,
            found => found.unwrap_or(State::Unknown),
        };
        let mut states: Vec<State> = runs.iter().flatten().filter(|s| counts(s)).map(state).collect();
        states.sort_unstable();
        states.dedup();
        let of = |wanted: State| {
            let kept = runs.iter().map(|run| run.iter().filter(|s| counts(s) && state(s) == wanted).copied().collect());
            let kept: Vec<Vec<Slice>> = kept.filter(|run: &Vec<Slice>| !run.is_empty()).collect();
            Summary::of_state(wanted, &kept, meter)
        };
        (states.into_iter().map(of).collect(), dropped)
    }

    fn of_state(state: State, runs: &[Vec<Slice>], meter: Option<&Meter>) -> Summary {
        let slices: Vec<Slice> = runs.iter().flatten().copied().collect();
        let all = Total::of(&slices);
        let rates: Vec<f64> = runs.iter().map(|run| Total::of(run)).map(|t| t.tokens / t.seconds).collect();
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let squares: f64 = rates.iter().map(|r| (r - mean).powi(2)).sum();
        let deviation = if rates.len() > 1 { (squares / (rates.len() - 1) as f64).sqrt() } else { 0.0 };
        // The bytes that could have been read in the time of each slice.
        let readable: Option<f64> = slices.iter().map(|s| Some(s.read()? * s.time.as_secs_f64())).sum();
        let read = readable.map(|bytes| bytes / all.seconds);
        let macs_rate = all.macs / all.seconds;
        Summary {
            state,
            runs: runs.len(),
            slices: slices.len(),
            mean,
            deviation,
            median: median(slices.iter().map(Slice::rate).collect()),
            token_bytes: all.bytes / all.tokens,
            bytes_rate: all.bytes / all.seconds,
            read,
            of_read: readable.map(|bytes| all.bytes / bytes).filter(|share| *share > 0.0),
            macs_rate,
            of_products: meter.map(|meter| macs_rate / meter.products()),
        }
    }
}

/// Sums over slices.
struct Total {
    tokens: f64,
    seconds: f64,
    bytes: f64,
    macs: f64,
}

impl Total {
    fn of(slices: &[Slice]) -> Total {
        let sum = |f: fn(&Slice) -> f64| slices.iter().map(f).sum();
        Total {
            tokens: sum(|s| s.tokens as f64),
            seconds: sum(|s| s.time.as_secs_f64()),
            bytes: sum(|s| s.bytes as f64),
            macs: sum(|s| s.macs as f64),
        }
    }
}

/// The median of some values; 0 without values.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    values.get(low).zip(values.get(high)).map_or(0.0, |(a, b)| (a + b) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_compute::Gauge;
    use std::time::Duration;

    fn slice(tokens: u64, seconds: f64, read: f64) -> Slice {
        let time = Duration::from_secs_f64(seconds);
        Slice { tokens, steps: 1, time, bytes: tokens * 10, macs: tokens * 4, reads: Some((read, read)) }
    }

    #[test]
    fn a_mean_is_over_repetitions_and_a_share_over_all_slices() {
        let runs = [vec![slice(10, 1.0, 200.0), slice(30, 1.0, 200.0)], vec![slice(30, 1.0, 400.0)]];
        let (all, dropped) = Summary::of(&runs, None);
        assert_eq!((all.len(), dropped), (1, 0));
        let s = &all[0];
        assert_eq!((s.state, s.runs, s.slices, s.mean, s.median), (State::Unknown, 2, 3, 25.0, 30.0));
        assert!((s.deviation - 50f64.sqrt()).abs() < 1e-9);
        assert_eq!((s.token_bytes, s.bytes_rate), (10.0, 700.0 / 3.0));
        assert_eq!((s.read, s.of_read), (Some(800.0 / 3.0), Some(700.0 / 800.0)));
        assert_eq!((s.macs_rate, s.of_products), (280.0 / 3.0, None));
    }

    /// A meter that measures nothing.
    struct Still;

    impl Gauge for Still {
        fn read(&mut self) -> Option<f64> {
            None
        }
        fn read_alone(&mut self) -> Option<f64> {
            None
        }
        fn products(&mut self) -> Option<f64> {
            None
        }
        fn streams(&self) -> usize {
            1
        }
        fn bytes(&self) -> u64 {
            0
        }
    }

    #[test]
    fn each_state_has_a_summary_of_its_slices() {
        let meter = Meter { gauge: Box::new(Still), threads: 2, alone: 100.0, products: 480.0 };
        let runs = [vec![slice(10, 1.0, 110.0), slice(30, 1.0, 200.0)], vec![slice(20, 1.0, 110.0)]];
        let (all, dropped) = Summary::of(&runs, Some(&meter));
        let told: Vec<_> = all.iter().map(|s| (s.state, s.runs, s.slices, s.mean, s.of_products)).collect();
        let wanted = [(State::Slow, 2, 2, 15.0, Some(0.125)), (State::Fast, 1, 1, 30.0, Some(0.25))];
        assert_eq!((&told[..], dropped), (&wanted[..], 0));
    }

    #[test]
    fn prompts_have_one_summary_whatever_the_state() {
        let run = |threads| {
            let meter = Meter { gauge: Box::new(Still), threads, alone: 100.0, products: 480.0 };
            let runs = [110.0, 200.0].map(|read| vec![Slice { bytes: 0, ..slice(10, 1.0, read) }]);
            Summary::of(&runs, Some(&meter)).0.iter().map(|s| (s.state, s.runs)).collect::<Vec<_>>()
        };
        assert_eq!([run(2), run(1)], [[(State::Any, 2)], [(State::Single, 2)]]);
    }

    #[test]
    fn slices_of_memory_that_changed_are_dropped_but_for_prompts() {
        let unsteady = Slice { reads: Some((100.0, 50.0)), ..slice(10, 1.0, 0.0) };
        let prompt = Slice { bytes: 0, ..unsteady };
        assert_eq!(Summary::of(&[vec![unsteady]], None), (vec![], 1));
        let (all, dropped) = Summary::of(&[vec![prompt]], None);
        assert_eq!((all.len(), dropped, all[0].of_read), (1, 0, None));
    }
}
