//! Many requests at once.

mod feed;

pub use feed::{Batch, BatchEvent};

use crate::{Error, FinishReason, Generator, Options, Piece, Reply, Result, Timings, TokenScore, Usage};
use std::collections::HashMap;

/// A prompt: a text, or its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// A text, which is tokenized.
    Text(String),
    /// Token ids, which are used as they are.
    Ids(Vec<u32>),
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Prompt {
        Prompt::Text(text.to_owned())
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Prompt {
        Prompt::Text(text)
    }
}

impl From<Vec<u32>> for Prompt {
    fn from(ids: Vec<u32>) -> Prompt {
        Prompt::Ids(ids)
    }
}

impl From<&[u32]> for Prompt {
    fn from(ids: &[u32]) -> Prompt {
        Prompt::Ids(ids.to_vec())
    }
}

/// A prompt with the options of its generation.
#[derive(Clone, Debug)]
pub struct Request {
    /// The prompt.
    pub prompt: Prompt,
    /// The options; [`Options::n`] samples are generated.
    pub options: Options,
}

impl Request {
    /// A request.
    pub fn new(prompt: impl Into<Prompt>, options: Options) -> Request {
        Request { prompt: prompt.into(), options }
    }
}

/// A piece of one of many requests.
#[derive(Debug)]
pub struct BatchPiece {
    /// The index of the request.
    pub request: usize,
    /// The index of the sample, below [`Options::n`], or of the text of a beam search, best first.
    pub sample: usize,
    /// The piece, or the error that ended the sample. An error of the whole request comes once, with sample 0.
    pub piece: Result<Piece>,
}

/// The end of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BatchEnd {
    /// The reason.
    pub finish: FinishReason,
    /// The score of a text of a beam search.
    pub score: Option<f64>,
    /// The seed of its draws.
    pub seed: u64,
    /// Its counts.
    pub usage: Usage,
    /// Its times.
    pub timings: Timings,
}

/// Many requests that are generated at once: an iterator over their pieces, in the order in which they are there. As
/// many requests run as the generator has sequences; the next ones follow as these end. Dropping it ends all of them.
pub struct BatchStream<'r> {
    batch: Batch,
    /// The requests that have not begun.
    requests: std::iter::Enumerate<std::slice::Iter<'r, Request>>,
    ends: HashMap<(usize, usize), BatchEnd>,
}

impl Generator {
    /// Generates all samples of a prompt ([`Options::n`]), in their order, or the texts of a beam search
    /// ([`Options::num_beams`]), best first. Sample i has the seed of the options plus i. The prompt is computed once.
    ///
    /// # Errors
    /// Like [`Generator::generate`].
    pub fn generate_all(&self, prompt: impl Into<Prompt>, options: &Options) -> Result<Vec<Reply>> {
        let replies = self.generate_batch(&[Request::new(prompt, options.clone())]);
        replies.into_iter().next().unwrap_or_else(|| Ok(Vec::new()))
    }

    /// Generates the replies of many requests at once. The result of a request does not depend on the others: an error of
    /// one ends only this one.
    pub fn generate_batch(&self, requests: &[Request]) -> Vec<Result<Vec<Reply>>> {
        let mut batch = self.stream_batch(requests);
        let mut parts: HashMap<(usize, usize), (Piece, Vec<TokenScore>)> = HashMap::new();
        let mut errors: HashMap<usize, Error> = HashMap::new();
        for BatchPiece { request, sample, piece } in &mut batch {
            match piece {
                Ok(mut piece) => {
                    let (whole, scores) = parts.entry((request, sample)).or_default();
                    whole.text.push_str(&piece.text);
                    whole.ids.append(&mut piece.ids);
                    scores.append(&mut piece.logprobs);
                }
                Err(error) => drop(errors.entry(request).or_insert(error)),
            }
        }
        let mut replies = |request: usize| {
            let mut replies = Vec::new();
            while let Some(end) = batch.ends.remove(&(request, replies.len())) {
                let (Piece { text, ids, .. }, logprobs) = parts.remove(&(request, replies.len())).unwrap_or_default();
                let BatchEnd { finish, score, seed, usage, timings } = end;
                replies.push(Reply { text, ids, logprobs, finish, score, seed, usage, timings });
            }
            replies
        };
        (0..requests.len()).map(|i| errors.remove(&i).map_or_else(|| Ok(replies(i)), Err)).collect()
    }

    /// Generates many requests at once and returns their pieces as they come. Nothing is computed before the first piece is
    /// requested.
    pub fn stream_batch<'r>(&self, requests: &'r [Request]) -> BatchStream<'r> {
        BatchStream { batch: self.batch(), requests: requests.iter().enumerate(), ends: HashMap::new() }
    }
}

impl BatchStream<'_> {
    /// The end of a sample, after its last piece.
    pub fn end(&self, request: usize, sample: usize) -> Option<&BatchEnd> {
        self.ends.get(&(request, sample))
    }
}

impl Iterator for BatchStream<'_> {
    type Item = BatchPiece;

    fn next(&mut self) -> Option<BatchPiece> {
        loop {
            while self.batch.has_room() {
                let Some((index, request)) = self.requests.next() else { break };
                if let Err(error) = self.batch.add(index, request) {
                    return Some(BatchPiece { request: index, sample: 0, piece: Err(error) });
                }
            }
            match self.batch.next()? {
                BatchEvent::Piece(piece) => return Some(piece),
                BatchEvent::End { request, sample, end } => drop(self.ends.insert((request, sample), end)),
                BatchEvent::Done { .. } => {}
            }
        }
    }
}
