//! The ratio of the medians of a test.

use super::SchedulerTest;
use crate::bench::summary::median;

/// Both quantities of a test, measured once.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Round {
    /// The measured quantity.
    pub measured: f64,
    /// The quantity that it is compared with.
    pub base: f64,
}

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Ratio {
    /// The test.
    pub test: SchedulerTest,
    /// The median of the measured quantity.
    pub measured: f64,
    /// The median of the quantity that it is compared with.
    pub base: f64,
    /// The first median divided by the second one.
    pub ratio: f64,
    /// The number of rounds.
    pub rounds: usize,
}

impl Ratio {
    /// The result of these rounds of a test; `None` without rounds.
    pub fn of(test: SchedulerTest, rounds: &[Round]) -> Option<Ratio> {
        let over = |quantity: fn(&Round) -> f64| median(rounds.iter().map(quantity).collect());
        let (measured, base) = (over(|round| round.measured), over(|round| round.base));
        (!rounds.is_empty()).then(|| Ratio { test, measured, base, ratio: measured / base, rounds: rounds.len() })
    }

    /// Whether the ratio keeps the bound of the test.
    pub fn is_met(&self) -> bool {
        self.test.bound().is_met(self.ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(pairs: &[(f64, f64)]) -> Vec<Round> {
        pairs.iter().map(|&(measured, base)| Round { measured, base }).collect()
    }

    #[test]
    fn a_ratio_is_of_medians() {
        let ratio = Ratio::of(SchedulerTest::Batch, &rounds(&[(90.0, 100.0), (1.0, 80.0), (95.0, 400.0)])).unwrap();
        assert_eq!((ratio.measured, ratio.base, ratio.ratio, ratio.rounds), (90.0, 100.0, 0.9, 3));
        let ratio = Ratio::of(SchedulerTest::Prefix, &rounds(&[(1.0, 10.0), (3.0, 30.0)])).unwrap();
        assert_eq!((ratio.measured, ratio.base, ratio.ratio), (2.0, 20.0, 0.1));
        assert_eq!(Ratio::of(SchedulerTest::Batch, &[]), None);
    }

    #[test]
    fn a_ratio_meets_the_bound_of_its_test() {
        let met = |test, measured| Ratio::of(test, &rounds(&[(measured, 100.0)])).unwrap().is_met();
        assert!(met(SchedulerTest::Single, 95.0) && !met(SchedulerTest::Single, 94.9));
        assert!(met(SchedulerTest::Stall, 150.0) && !met(SchedulerTest::Stall, 150.1));
    }
}
