use inkstone_compute::Plan;
use std::time::Duration;

/// How often a plan ran, and on what in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// Runs.
    pub count: u64,
    /// Tokens.
    pub rows: u64,
    /// Rows whose logits were computed.
    pub logit_rows: u64,
    /// Tokens in the caches of its sequences, with those of the run.
    pub cached: u64,
}

impl Runs {
    pub(crate) fn add(&mut self, rows: usize, logit_rows: usize, cached: usize) {
        self.count += 1;
        self.rows += rows as u64;
        self.logit_rows += logit_rows as u64;
        self.cached += cached as u64;
    }
}

/// What a plan took.
#[derive(Clone, Debug)]
pub struct PlanTimes {
    /// The plan.
    pub plan: Plan,
    /// How often it ran.
    pub runs: Runs,
    /// Of each step the time from the start of its first tile to the end of its last one, summed over the runs.
    pub steps: Vec<Duration>,
}
