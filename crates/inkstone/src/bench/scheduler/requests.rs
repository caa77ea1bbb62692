//! Requests through the scheduler.

use crate::bench::summary::median;
use crate::{Model, Options, Request, Result, Stream};
use std::time::Instant;

/// The first tokens of a text do not count: the steps of a prompt may still be under way.
pub(super) const SKIPPED: usize = 4;

/// A model that answers requests.
pub(super) struct Requests<'m> {
    pub model: &'m Model,
}

/// Seconds between two tokens of a text.
pub(super) struct Gaps {
    /// The median before a prompt joins.
    pub usual: f64,
    /// The longest one until the first token after the prompt.
    pub longest: f64,
}

/// The most probable tokens, so that little is computed except the model, and exactly this many of them.
fn options(tokens: usize) -> Options {
    let greedy = Options::default().temperature(0.0).top_k(0).top_p(1.0).min_p(0.0).repeat_penalty(1.0);
    greedy.ignore_end(true).seed(0).max_tokens(tokens as u64)
}

impl Requests<'_> {
    /// Tokens per second of a request for each prompt, all at once, from the call to the replies.
    pub(super) fn batch(&self, prompts: Vec<Vec<u32>>, text: usize) -> Result<f64> {
        let requests: Vec<Request> = prompts.into_iter().map(|prompt| Request::new(prompt, options(text))).collect();
        let start = Instant::now();
        let replies = self.model.generate_batch(&requests);
        let time = start.elapsed();
        let mut tokens = 0;
        for reply in replies.into_iter().collect::<Result<Vec<_>>>()?.iter().flatten() {
            tokens += reply.ids.len();
        }
        Ok(tokens as f64 / time.as_secs_f64())
    }

    /// Tokens per second of a stream after its first tokens.
    pub(super) fn decode(&self, prompt: &[u32], text: usize) -> Result<f64> {
        let mut stream = self.model.stream_ids(prompt, &options(text + 1))?;
        // The prompt also draws a token.
        let skipped = 1 + SKIPPED.min(text / 2);
        take(&mut stream, skipped)?;
        let (before, start) = (stream.ids().len(), Instant::now());
        take(&mut stream, text + 1)?;
        Ok((stream.ids().len() - before) as f64 / start.elapsed().as_secs_f64())
    }

    /// Seconds from a request to its first token.
    pub(super) fn first_token(&self, prompt: &[u32]) -> Result<f64> {
        let start = Instant::now();
        let mut stream = self.model.stream_ids(prompt, &options(1))?;
        take(&mut stream, 1)?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// Seconds from a request for `n` samples to the first token of the last one. Samples that have begun go on.
    pub(super) fn samples(&self, prompt: Vec<u32>, n: usize) -> Result<f64> {
        let request = Request::new(prompt, options(super::MANY).n(n as u32));
        let start = Instant::now();
        let mut begun = vec![false; n];
        for event in self.model.stream_batch(std::slice::from_ref(&request)) {
            event.piece?;
            begun[event.sample] = true;
            if begun.iter().all(|begun| *begun) {
                break;
            }
        }
        Ok(start.elapsed().as_secs_f64())
    }

    /// The times between the tokens of a text: while it runs with no other text, and while the prompt of another text is
    /// read. All steps are computed when the first text is asked for a token.
    pub(super) fn stall(&self, prompt: &[u32], other: &[u32], text: usize) -> Result<Gaps> {
        let room = self.model.config().context - prompt.len();
        let mut stream = self.model.stream_ids(prompt, &options(room))?;
        take(&mut stream, 1 + SKIPPED.min(text / 2))?;
        let mut before = Vec::with_capacity(text);
        for _ in 0..text / 2 {
            before.push(gap(&mut stream)?);
        }
        let joins = self.model.stream_ids(other, &options(1))?;
        let mut longest = 0.0_f64;
        while joins.usage().completion_tokens == 0 && stream.finish().is_none() {
            longest = longest.max(gap(&mut stream)?);
        }
        Ok(Gaps { usual: median(before), longest })
    }
}

/// Takes pieces until the stream has given this many tokens in all.
fn take(stream: &mut Stream, tokens: usize) -> Result<()> {
    while stream.ids().len() < tokens {
        let Some(piece) = stream.next() else { break };
        piece?;
    }
    Ok(())
}

/// Seconds until the next piece.
fn gap(stream: &mut Stream) -> Result<f64> {
    let start = Instant::now();
    stream.next().transpose()?;
    Ok(start.elapsed().as_secs_f64())
}
