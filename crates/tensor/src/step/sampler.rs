//! How a sequence draws, in the words of a step buffer: seed, where its generated text begins, and its chain.

use super::record::Record;
use crate::sampling::{Chain, ChainError, ChainRef, Draw, Workspace, sample_in};
use std::ops::Range;

/// Words before the chain.
const HEAD: usize = 3;

/// A sequence's sampling, as a step carries it.
#[derive(Clone, Copy, Debug)]
pub struct Sampler<'a> {
    /// Of its random numbers.
    pub seed: u64,
    /// Position of the first generated token: the length of the prompt.
    pub generated_from: usize,
    /// Its chain.
    pub chain: ChainRef<'a>,
}

impl<'a> Sampler<'a> {
    /// Appends the words of a sampler.
    pub fn encode(seed: u64, generated_from: usize, chain: &Chain, words: &mut Vec<u32>) {
        words.extend([seed as u32, (seed >> 32) as u32, generated_from as u32]);
        chain.encode(words);
    }

    /// The sampler at the beginning of `words`.
    ///
    /// # Errors
    /// If the words are none.
    pub fn decode(words: &'a [u32]) -> Result<Sampler<'a>, ChainError> {
        let missing = ChainError::Words { at: 0, reason: "is missing" };
        let (head, chain) = words.split_at_checked(HEAD).ok_or(missing)?;
        let seed = u64::from(head[0]) | u64::from(head[1]) << 32;
        Ok(Sampler { seed, generated_from: head[2] as usize, chain: ChainRef::decode(chain)? })
    }

    /// The positions whose tokens the draw behind a row at this position reads: the last ones, as far back as a stage of the
    /// chain looks.
    pub fn reads(&self, position: usize) -> Range<usize> {
        let tokens = position + 1;
        let generated = tokens.saturating_sub(self.generated_from);
        let back = self.chain.into_iter().map(|stage| stage.looks_back(tokens, generated)).max();
        tokens - back.unwrap_or(0)..tokens
    }

    /// The draw of the token that follows a row at this position.
    pub fn draw_after(&self, position: usize) -> Draw {
        Draw { seed: self.seed, index: (position + 1).saturating_sub(self.generated_from) as u64 }
    }

    /// The record of a row at this position with these logits: the token drawn, or a status. `read` are the tokens at the
    /// positions of [`Sampler::reads`].
    pub fn draw(&self, workspace: &mut Workspace, logits: &[f32], read: &[u32], position: usize) -> Record {
        let generated_from = self.generated_from.saturating_sub(self.reads(position).start);
        let draw = self.draw_after(position);
        sample_in(workspace, logits, read, generated_from, self.chain, draw).map_or_else(Record::from, Record::Token)
    }
}
