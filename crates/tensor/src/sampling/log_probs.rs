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
    let mut row = Workspace::new();
    let (token, likeliest) = log_probs_in(&mut row, logits, token, top_n)?;
    let mut top = Vec::new();
    reserve(&mut top, likeliest.len())?;
    top.extend(likeliest);
    Ok(LogProbs { token, top })
}

/// Like [`log_probs`], with the memory of a workspace, and with the likeliest tokens one by one.
pub(crate) fn log_probs_in<'w>(
    row: &'w mut Workspace,
    logits: &[f32],
    token: u32,
    top_n: usize,
) -> Result<(f64, impl ExactSizeIterator<Item = (u32, f64)> + use<'w>), SampleError> {
    let unknown = SampleError::Token { token, vocab: logits.len() };
    let own = *usize::try_from(token).ok().and_then(|i| logits.get(i)).ok_or(unknown)?;
    row.load(logits)?;
    let max = row.best().map_or(0.0, |c| c.z);
    let ln_total = ln(logits.iter().map(|&z| exp(below(max, f64::from(z)))).sum());
    let log_prob = move |z: f64| below(max, z) - ln_total;
    let likeliest: &[_] = if top_n == 0 {
        &[]
    } else {
        row.keep_first(top_n);
        row.sorted_set()
    };
    Ok((log_prob(f64::from(own)), likeliest.iter().map(move |c| (c.id, log_prob(c.z)))))
}
