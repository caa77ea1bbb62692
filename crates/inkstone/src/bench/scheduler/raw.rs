//! Sequences without scheduler: the base of most tests.

use super::requests::SKIPPED;
use crate::{Model, Result};
use inkstone_generate::PageOrder;
use std::time::Instant;

/// A model whose sequences are computed step by step.
pub(super) struct Raw<'m> {
    pub model: &'m Model,
}

impl Raw<'_> {
    /// Tokens per second of this number of sequences that generate `text` tokens after a prompt of `depth`. The first steps
    /// of a single sequence do not count, as in [`Requests::decode`](super::requests::Requests::decode).
    pub(super) fn decode(&self, sequences: usize, depth: usize, text: usize, order: PageOrder) -> Result<f64> {
        let skipped = if sequences == 1 { SKIPPED.min(text / 2) } else { 0 };
        // Without room for more, no step is launched that does not count.
        let mut steps = self.model.generator().steps_in_pages(sequences, depth + text, order)?;
        steps.prompt(depth)?;
        for _ in 0..skipped {
            steps.decode()?;
        }
        let start = Instant::now();
        for _ in skipped..text {
            steps.decode()?;
        }
        Ok((sequences * (text - skipped)) as f64 / start.elapsed().as_secs_f64())
    }

    /// Tokens per second of a prompt.
    pub(super) fn prompt(&self, tokens: usize) -> Result<f64> {
        let mut steps = self.model.generator().steps(1, tokens)?;
        Ok(tokens as f64 / steps.prompt(tokens)?.as_secs_f64())
    }
}
