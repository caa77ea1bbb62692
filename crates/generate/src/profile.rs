use inkstone_compute::Plan;
use std::time::Duration;

/// The number of runs of a plan, with their total sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// Runs.
    pub count: u64,
    /// Tokens.
    pub rows: u64,
    /// Rows whose logits were computed.
    pub logit_rows: u64,
    /// Tokens in the caches of its sequences, including the tokens of the run.
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

/// The times of a plan.
#[derive(Clone, Debug)]
pub struct PlanTimes {
    /// The plan.
    pub plan: Plan,
    /// Its runs.
    pub runs: Runs,
    /// For each step the time from the start of its first tile to the end of its last tile, summed over the runs.
    pub steps: Vec<Duration>,
}
