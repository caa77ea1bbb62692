//! Requests that are added while others run.

use super::{BatchEnd, BatchPiece, Prompt, Request};
use crate::{FinishReason, Generator, Options, Result, Stream};
use std::collections::VecDeque;

/// Requests that are generated at once, and that are added while others run: for callers that can't hold all of them at
/// the same time. It is an iterator over the events; `None` means that all requests so far have ended. It keeps nothing
/// of a request that has ended. Dropping it ends all requests.
pub struct Batch {
    generator: Generator,
    /// The requests with samples that have not begun.
    waiting: VecDeque<Samples>,
    open: VecDeque<Open>,
}

/// An event of a request.
#[derive(Debug)]
pub enum BatchEvent {
    /// A piece of a sample, or the error that ended it.
    Piece(BatchPiece),
    /// A sample has ended, after its last piece.
    End {
        /// The number of the request.
        request: usize,
        /// The index of the sample.
        sample: usize,
        /// The reason, and its counts.
        end: BatchEnd,
    },
}

/// The samples of a request that have not begun.
struct Samples {
    request: usize,
    ids: Vec<u32>,
    options: Options,
    next: u32,
    count: u32,
}

struct Open {
    request: usize,
    sample: usize,
    stream: Stream,
}

impl Generator {
    /// A batch without requests.
    pub fn batch(&self) -> Batch {
        Batch { generator: self.clone(), waiting: VecDeque::new(), open: VecDeque::new() }
    }
}

impl Batch {
    /// Adds a request under a number, which its events carry. Returns the number of its samples. A request that has no room
    /// waits until another one ends.
    ///
    /// # Errors
    /// The prompt can't be encoded, or [`Options::n`] is invalid. The other errors of a request are events.
    pub fn add(&mut self, number: usize, request: &Request) -> Result<u32> {
        let generator = &self.generator;
        let ids = match &request.prompt {
            Prompt::Text(text) => generator.encode(text, &request.options)?,
            Prompt::Ids(ids) => ids.clone(),
        };
        let resolved = generator.resolve(&request.options);
        let count = resolved.samples()?;
        let seed = resolved.seed.unwrap_or_else(crate::generator::drawn_seed);
        let options = Options { n: Some(1), seed: Some(seed), ..request.options.clone() };
        self.waiting.push_back(Samples { request: number, ids, options, next: 0, count });
        Ok(count)
    }

    /// Whether a sequence is left for a further request.
    pub fn has_room(&self) -> bool {
        let waiting: usize = self.waiting.iter().map(|s| (s.count - s.next) as usize).sum();
        self.open.len() + waiting < self.generator.config().sequences
    }

    /// Whether all requests have ended.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.open.is_empty()
    }

    /// Begins the next sample. Returns its error if it can't begin; the other samples would fail in the same way.
    fn begin(&mut self) -> Option<BatchPiece> {
        let samples = self.waiting.front_mut()?;
        let (request, sample) = (samples.request, samples.next);
        samples.next += 1;
        let seed = samples.options.seed.map(|seed| seed.wrapping_add(u64::from(sample)));
        let options = Options { seed, ..samples.options.clone() };
        let begun = self.generator.stream_ids(&samples.ids, &options);
        if begun.is_err() || samples.next == samples.count {
            self.waiting.pop_front();
        }
        let sample = sample as usize;
        match begun {
            Ok(stream) => {
                self.open.push_back(Open { request, sample, stream });
                None
            }
            Err(error) => Some(BatchPiece { request, sample, piece: Err(error) }),
        }
    }

    /// An event that is there, in turns.
    fn take(&mut self) -> Option<BatchEvent> {
        for _ in 0..self.open.len() {
            let mut open = self.open.pop_front()?;
            match open.stream.poll_next() {
                Some(Some(piece)) => {
                    let Open { request, sample, .. } = open;
                    self.open.push_back(open);
                    return Some(BatchEvent::Piece(BatchPiece { request, sample, piece }));
                }
                Some(None) => {
                    let Open { request, sample, stream } = open;
                    let finish = stream.finish().unwrap_or(FinishReason::Error);
                    let (seed, usage, timings) = (stream.seed(), stream.usage(), stream.timings());
                    let end = BatchEnd { finish, seed, usage, timings };
                    return Some(BatchEvent::End { request, sample, end });
                }
                None => self.open.push_back(open),
            }
        }
        None
    }
}

impl Iterator for Batch {
    type Item = BatchEvent;

    fn next(&mut self) -> Option<BatchEvent> {
        loop {
            while self.open.len() < self.generator.config().sequences && !self.waiting.is_empty() {
                if let Some(failed) = self.begin() {
                    return Some(BatchEvent::Piece(failed));
                }
            }
            if let Some(event) = self.take() {
                return Some(event);
            }
            // A step computes all of them.
            self.open.front()?.stream.step();
        }
    }
}
