//! Log-probabilities of a row's raw logits.

use super::SampleError;
use super::row::{Workspace, reserve};
use super::truncate::below;
use crate::math::{exp, ln};

/// Natural logarithms of probabilities, before any chain.
#[derive(Clone, Debug, PartialEq)]
pub struct LogProbs {
    /// The log-probability of the requested token.
    pub token: f64,
    /// The likeliest tokens with theirs, in order; without tokens of probability 0.
    pub top: Vec<(u32, f64)>,
}

/// The log-probability of `token` and the `top_n` likeliest tokens of a row. The sum runs in the order of the ids.
pub fn log_probs(logits: &[f32], token: u32, top_n: usize) -> Result<LogProbs, SampleError> {
    let unknown = SampleError::Token { token, vocab: logits.len() };
    let own = *usize::try_from(token).ok().and_then(|i| logits.get(i)).ok_or(unknown)?;
    let mut row = Workspace::new();
    row.load(logits)?;
    let max = row.best().map_or(0.0, |c| c.z);
    let ln_total = ln(logits.iter().map(|&z| exp(below(max, f64::from(z)))).sum());
    let log_prob = |z: f64| below(max, z) - ln_total;
    let mut top = Vec::new();
    if top_n > 0 {
        row.keep_first(top_n);
        let set = row.sorted_set();
        reserve(&mut top, set.len())?;
        top.extend(set.iter().map(|c| (c.id, log_prob(c.z))));
    }
    Ok(LogProbs { token: log_prob(f64::from(own)), top })
}
