//! Handles of sequences.

use crate::inbox::Shared;
use crate::output::Output;
use crate::{Error, FinishReason, Flow, Piece, Reply, Result, Timings, Usage};
use std::fmt;
use std::sync::Arc;

/// A handle of a sequence in the scheduler. The sequence ends when the handle is dropped.
pub(crate) struct Handle {
    shared: Arc<Shared>,
    output: Arc<Output>,
}

impl Handle {
    pub fn new(shared: Arc<Shared>, output: Arc<Output>) -> Handle {
        Handle { shared, output }
    }

    pub fn output(&self) -> &Arc<Output> {
        &self.output
    }

    /// Runs a step for all sequences, unless this sequence already has a result.
    pub fn step(&self) {
        self.shared.turn().step_for(&self.output);
    }

    /// Runs steps until the sequence has ended.
    pub fn wait(&self) -> Result<()> {
        loop {
            let mut output = self.output.lock();
            if let Some(error) = output.error.take() {
                return Err(unshared(error));
            }
            if output.finish.is_some() {
                return Ok(());
            }
            output.pieces.clear();
            drop(output);
            self.step();
        }
    }

    /// Ends the sequence at the request of the caller. Does not wait for a step.
    pub fn end(&self, reason: FinishReason) {
        if self.output.lock().finish.is_none() {
            self.output.abandon(reason);
            self.shared.notify();
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.end(FinishReason::Callback);
    }
}

/// The error itself if it belongs only to this sequence, else an error shared by all.
pub(crate) fn unshared(error: Arc<Error>) -> Error {
    Arc::try_unwrap(error).unwrap_or_else(Error::Shared)
}

/// A running generation: an iterator over its pieces. Its counts, times and finish reason can be read at any time, also
/// after an error. Dropping it ends the generation.
pub struct Stream {
    handle: Handle,
    seed: u64,
    /// The tokens of the pieces so far.
    ids: Vec<u32>,
    failed: bool,
}

impl Stream {
    /// `ids` has enough capacity for all tokens of the generation.
    pub(crate) fn new(handle: Handle, seed: u64, ids: Vec<u32>) -> Stream {
        Stream { handle, seed, ids, failed: false }
    }

    /// The seed of its draws.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The tokens of the pieces so far.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The counts so far.
    pub fn usage(&self) -> Usage {
        self.handle.output().lock().usage
    }

    /// The times so far.
    pub fn timings(&self) -> Timings {
        self.handle.output().lock().timings()
    }

    /// The reason why it ended, if it has. There may still be pieces to take.
    pub fn finish(&self) -> Option<FinishReason> {
        self.handle.output().lock().finish
    }

    /// Ends the generation. Pieces that were generated but not taken can still be taken.
    pub fn stop(&self) {
        self.handle.end(FinishReason::Callback);
    }

    /// The output of its sequence.
    #[cfg(feature = "async")]
    pub(crate) fn output(&self) -> &Arc<Output> {
        self.handle.output()
    }

    /// Takes all pieces until `f` ends the generation.
    pub(crate) fn finish_up(mut self, mut f: impl FnMut(&Piece) -> Flow) -> Result<Reply> {
        let (mut text, mut logprobs) = (String::new(), Vec::new());
        let mut cut = false;
        while let Some(piece) = self.next() {
            let mut piece = piece?;
            text.push_str(&piece.text);
            let flow = f(&piece);
            logprobs.append(&mut piece.logprobs);
            match flow {
                Flow::Continue => {}
                Flow::Stop => {
                    // Steps of other callers may have generated more, but the reply must not depend on the thread that
                    // runs the steps.
                    cut = !self.handle.output().lock().pieces.is_empty();
                    self.stop();
                    break;
                }
                Flow::Fail(error) => return Err(Error::Callback(error)),
            }
        }
        let finish = self.finish().filter(|_| !cut).unwrap_or(FinishReason::Callback);
        let usage = Usage { completion_tokens: self.ids.len() as u64, ..self.usage() };
        let timings = self.timings();
        Ok(Reply {
            text,
            logprobs,
            finish,
            score: None,
            seed: self.seed,
            usage,
            timings,
            ids: std::mem::take(&mut self.ids),
        })
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (usage, finish) = (self.usage(), self.finish());
        f.debug_struct("Stream").field("usage", &usage).field("finish", &finish).finish_non_exhaustive()
    }
}

impl Stream {
    /// The next item if it is there without a step.
    pub(crate) fn poll_next(&mut self) -> Option<Option<Result<Piece>>> {
        if self.failed {
            return Some(None);
        }
        let mut output = self.handle.output().lock();
        if let Some(piece) = output.pieces.pop_front() {
            self.ids.extend_from_slice(&piece.ids);
            return Some(Some(Ok(piece)));
        }
        if let Some(error) = output.error.take() {
            self.failed = true;
            return Some(Some(Err(unshared(error))));
        }
        output.finish.map(|_| None)
    }

    /// Runs a step for all sequences, unless this one has an item.
    pub(crate) fn step(&self) {
        self.handle.step();
    }
}

impl Iterator for Stream {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        loop {
            match self.poll_next() {
                Some(item) => return item,
                None => self.step(),
            }
        }
    }
}
