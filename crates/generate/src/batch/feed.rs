//! Requests that are added while others run.

use super::{BatchEnd, BatchPiece, Prompt, Request};
use crate::beams::{Beams, Found, Hypothesis};
use crate::{FinishReason, Generator, Options, Piece, Result, Stream, Usage};
use inkstone_kvcache::Salt;
use std::collections::VecDeque;

/// Requests that are generated at once, and that are added while others run: for callers that can't hold all of them at
/// the same time. It is an iterator over the events; `None` means that all requests so far have ended. It keeps nothing
/// of a request that has ended. Dropping it ends all requests.
pub struct Batch {
    generator: Generator,
    /// The requests with samples that have not begun.
    waiting: VecDeque<Waiting>,
    open: VecDeque<Open>,
    /// The events of the beam searches that have ended.
    events: VecDeque<BatchEvent>,
}

/// An event of a request.
#[derive(Debug)]
#[non_exhaustive]
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
    /// The last sample of a request has ended.
    Done {
        /// The number of the request.
        request: usize,
    },
}

/// The samples of a request that have not begun, or its beam search.
struct Waiting {
    request: usize,
    ids: Vec<u32>,
    options: Options,
    salt: Salt,
    next: u32,
    count: u32,
    /// The sequences of each: 1 for a sample.
    beams: usize,
}

struct Open {
    request: usize,
    source: Source,
}

/// The origin of a request's events.
enum Source {
    Sample { sample: usize, stream: Stream },
    Search(Box<Beams>),
}

impl Generator {
    /// A batch without requests.
    pub fn batch(&self) -> Batch {
        Batch { generator: self.clone(), waiting: VecDeque::new(), open: VecDeque::new(), events: VecDeque::new() }
    }
}

impl Batch {
    /// Adds a request under a number of its own, which its events carry. A request that has no room waits until another one
    /// ends.
    ///
    /// # Errors
    /// The prompt can't be encoded, or the number of samples or beams is invalid. The other errors of a request are events.
    pub fn add(&mut self, number: usize, request: &Request) -> Result<()> {
        let generator = &self.generator;
        let ids = match &request.prompt {
            Prompt::Text(text) => generator.encode(text, &request.options)?,
            Prompt::Ids(ids) => ids.clone(),
        };
        let resolved = generator.resolve(&request.options);
        let (count, beams) = (resolved.samples()?, resolved.beams()?);
        let mut options = request.options.clone();
        if beams == 1 {
            (options.n, options.num_beams) = (Some(1), Some(1));
            options.seed = Some(resolved.seed.unwrap_or_else(crate::generator::drawn_seed));
        }
        let salt = generator.salt(&options, None);
        self.waiting.push_back(Waiting { request: number, ids, options, salt, next: 0, count, beams });
        Ok(())
    }

    /// Whether a sequence is left for a further request.
    pub fn has_room(&self) -> bool {
        let waiting: usize = self.waiting.iter().map(Waiting::sequences).sum();
        self.running() + waiting < self.generator.config().sequences
    }

    /// Whether all requests have ended.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.open.is_empty() && self.events.is_empty()
    }

    /// The number of sequences of the open requests.
    fn running(&self) -> usize {
        self.open.iter().map(|open| open.source.sequences()).sum()
    }

    /// Begins the next sample or search. Returns its error if it can't begin; the other samples would fail in the same way.
    fn begin(&mut self) -> Option<BatchEvent> {
        let waiting = self.waiting.front_mut()?;
        let (request, sample) = (waiting.request, waiting.next as usize);
        waiting.next += 1;
        let source = if waiting.beams > 1 {
            let search = self.generator.beams(&waiting.ids, &waiting.options, waiting.salt);
            search.map(|search| Source::Search(Box::new(search)))
        } else {
            let seed = waiting.options.seed.map(|seed| seed.wrapping_add(sample as u64));
            let options = Options { seed, ..waiting.options.clone() };
            let stream = self.generator.stream_with_salt(&waiting.ids, &options, waiting.salt);
            stream.map(|stream| Source::Sample { sample, stream })
        };
        if source.is_err() || waiting.next == waiting.count || waiting.beams > 1 {
            self.waiting.pop_front();
        }
        match source {
            Ok(source) => {
                self.open.push_back(Open { request, source });
                None
            }
            Err(error) => {
                self.done(request);
                Some(BatchEvent::Piece(BatchPiece { request, sample, piece: Err(error) }))
            }
        }
    }

    /// Adds the last event of a request if none of its samples is left.
    fn done(&mut self, request: usize) {
        let open = self.open.iter().any(|open| open.request == request);
        if !open && self.waiting.iter().all(|waiting| waiting.request != request) {
            self.events.push_back(BatchEvent::Done { request });
        }
    }

    /// An event that is there, in turns.
    fn take(&mut self) -> Option<BatchEvent> {
        for _ in 0..self.open.len() {
            let mut open = self.open.pop_front()?;
            let request = open.request;
            match &mut open.source {
                Source::Sample { sample, stream } => match stream.poll_next() {
                    Some(Some(piece)) => {
                        let piece = BatchPiece { request, sample: *sample, piece };
                        self.open.push_back(open);
                        return Some(BatchEvent::Piece(piece));
                    }
                    Some(None) => {
                        self.done(request);
                        return Some(BatchEvent::End { request, sample: *sample, end: end(stream) });
                    }
                    None => {}
                },
                Source::Search(search) => {
                    if let Some(found) = search.poll() {
                        self.found(request, found);
                        return self.events.pop_front();
                    }
                }
            }
            self.open.push_back(open);
        }
        None
    }

    /// Adds the events of a beam search that has ended.
    fn found(&mut self, request: usize, found: Result<Found>) {
        match found {
            Ok(Found { hypotheses, usage, timings }) => {
                for (sample, found) in hypotheses.into_iter().enumerate() {
                    let usage = Usage { completion_tokens: found.ids.len() as u64, ..usage };
                    let end = BatchEnd { finish: found.finish, score: Some(found.score), seed: 0, usage, timings };
                    let piece = Piece { text: self.text(&found), ids: found.ids, ..Piece::default() };
                    self.events.push_back(BatchEvent::Piece(BatchPiece { request, sample, piece: Ok(piece) }));
                    self.events.push_back(BatchEvent::End { request, sample, end });
                }
            }
            Err(error) => {
                self.events.push_back(BatchEvent::Piece(BatchPiece { request, sample: 0, piece: Err(error) }));
            }
        }
        self.done(request);
    }

    /// The text of a result, without its end token.
    fn text(&self, found: &Hypothesis) -> String {
        let ids = match found.finish {
            FinishReason::End => found.ids.split_last().map_or(&[][..], |(_, ids)| ids),
            _ => &found.ids,
        };
        let tokenizer = self.generator.tokenizer();
        let mut decoder = tokenizer.decoder();
        let mut text = decoder.push(&tokenizer.decode(ids)).to_owned();
        text.push_str(decoder.finish());
        text
    }
}

impl Waiting {
    /// The number of sequences that it will need.
    fn sequences(&self) -> usize {
        if self.beams > 1 { self.beams } else { (self.count - self.next) as usize }
    }
}

impl Source {
    /// The number of its sequences.
    fn sequences(&self) -> usize {
        match self {
            Source::Sample { .. } => 1,
            Source::Search(search) => search.sequences(),
        }
    }

    /// Runs a step for all sequences of the generator.
    fn step(&self) {
        match self {
            Source::Sample { stream, .. } => stream.step(),
            Source::Search(search) => search.step(),
        }
    }
}

/// The end of a sample.
fn end(stream: &Stream) -> BatchEnd {
    let finish = stream.finish().unwrap_or(FinishReason::Error);
    BatchEnd { finish, score: None, seed: stream.seed(), usage: stream.usage(), timings: stream.timings() }
}

impl Iterator for Batch {
    type Item = BatchEvent;

    fn next(&mut self) -> Option<BatchEvent> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let sequences = self.generator.config().sequences;
            while let Some(next) = self.waiting.front() {
                // A request that no number of ended ones makes room for fails when it begins.
                if self.running() + next.beams > sequences && !self.open.is_empty() {
                    break;
                }
                if let Some(failed) = self.begin() {
                    return Some(failed);
                }
            }
            if let Some(event) = self.take() {
                return Some(event);
            }
            // A step computes all of them.
            self.open.front()?.source.step();
        }
    }
}
