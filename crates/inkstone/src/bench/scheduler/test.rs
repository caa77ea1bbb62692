//! The tests, their units and their bounds.

use std::fmt;

/// A test of the scheduler: a measured quantity is divided by a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SchedulerTest {
    /// Tokens per second of eight requests in a batch; base: eight sequences without scheduler.
    Batch,
    /// Tokens per second of a stream after its prompt; base: a sequence without scheduler.
    Single,
    /// Prompt tokens per second of a stream; base: a sequence without scheduler.
    Prompt,
    /// Seconds to the first token after a long prompt that is in the cache; base: the same prompt before it was there.
    Prefix,
    /// The longest time in seconds between two tokens of a text while a long prompt is read; base: four times the median
    /// time before the prompt, but at least 50 ms.
    Stall,
    /// Tokens per second after a long prompt whose pages are in random order; base: pages in order.
    Scattered,
    /// Seconds to the first token of the last of eight samples of a long prompt; base: one sample.
    Samples,
}

/// The allowed ratios of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Bound {
    /// At least this.
    Least(f64),
    /// At most this.
    Most(f64),
}

impl Bound {
    /// Whether a ratio keeps it. No bound is kept by a ratio that is not a number.
    pub fn is_met(self, ratio: f64) -> bool {
        match self {
            Bound::Least(least) => ratio >= least,
            Bound::Most(most) => ratio <= most,
        }
    }

    /// The number.
    pub fn value(self) -> f64 {
        match self {
            Bound::Least(value) | Bound::Most(value) => value,
        }
    }

    /// The comparison of a ratio with the number: `>=` or `<=`.
    pub fn sign(self) -> &'static str {
        match self {
            Bound::Least(_) => ">=",
            Bound::Most(_) => "<=",
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {}", self.sign(), self.value())
    }
}

impl SchedulerTest {
    /// All tests.
    pub const ALL: [SchedulerTest; 7] = [
        SchedulerTest::Batch,
        SchedulerTest::Single,
        SchedulerTest::Prompt,
        SchedulerTest::Prefix,
        SchedulerTest::Stall,
        SchedulerTest::Scattered,
        SchedulerTest::Samples,
    ];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            SchedulerTest::Batch => "batch",
            SchedulerTest::Single => "single",
            SchedulerTest::Prompt => "prompt",
            SchedulerTest::Prefix => "prefix",
            SchedulerTest::Stall => "stall",
            SchedulerTest::Scattered => "scattered",
            SchedulerTest::Samples => "samples",
        }
    }

    /// The unit of both quantities.
    pub fn unit(self) -> &'static str {
        match self {
            SchedulerTest::Batch | SchedulerTest::Single | SchedulerTest::Prompt | SchedulerTest::Scattered => {
                "tokens/s"
            }
            SchedulerTest::Prefix | SchedulerTest::Stall | SchedulerTest::Samples => "s",
        }
    }

    /// The bound of the ratio.
    pub fn bound(self) -> Bound {
        match self {
            SchedulerTest::Batch => Bound::Least(0.9),
            SchedulerTest::Single => Bound::Least(0.95),
            SchedulerTest::Prompt => Bound::Least(0.98),
            SchedulerTest::Prefix => Bound::Most(0.03),
            SchedulerTest::Stall => Bound::Most(1.5),
            SchedulerTest::Scattered => Bound::Least(0.95),
            SchedulerTest::Samples => Bound::Most(1.2),
        }
    }
}

impl fmt::Display for SchedulerTest {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_includes_its_number() {
        let (least, most) = (Bound::Least(0.9), Bound::Most(1.5));
        assert_eq!([0.89, 0.9, 2.0, f64::NAN].map(|ratio| least.is_met(ratio)), [false, true, true, false]);
        assert_eq!([0.1, 1.5, 1.51, f64::NAN].map(|ratio| most.is_met(ratio)), [true, true, false, false]);
        assert_eq!([least.to_string(), most.to_string()], [">= 0.9", "<= 1.5"]);
    }

    #[test]
    fn rates_have_a_least_ratio_and_times_a_most() {
        for test in SchedulerTest::ALL {
            assert_eq!(matches!(test.bound(), Bound::Least(_)), test.unit() == "tokens/s", "{test}");
        }
    }
}
