//! Many requests at once.

use crate::{Error, FinishReason, Generator, Options, Piece, Reply, Result, Stream, Timings, TokenScore, Usage};
use std::collections::{HashMap, VecDeque};

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
    /// The index of the sample, below [`Options::n`].
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
    generator: &'r Generator,
    /// The requests that have not begun.
    requests: std::iter::Enumerate<std::slice::Iter<'r, Request>>,
    /// The request whose samples begin next.
    next: Option<Samples>,
    open: VecDeque<Open>,
    ends: HashMap<(usize, usize), BatchEnd>,
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
    /// Generates all samples of a prompt ([`Options::n`]), in their order. Sample i has the seed of the options plus i. The
    /// prompt is computed once.
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
                let BatchEnd { finish, seed, usage, timings } = end;
                replies.push(Reply { text, ids, logprobs, finish, seed, usage, timings });
            }
            replies
        };
        (0..requests.len()).map(|i| errors.remove(&i).map_or_else(|| Ok(replies(i)), Err)).collect()
    }

    /// Generates many requests at once and returns their pieces as they come. Nothing is computed before the first piece is
    /// requested.
    pub fn stream_batch<'r>(&'r self, requests: &'r [Request]) -> BatchStream<'r> {
        let (open, ends) = (VecDeque::new(), HashMap::new());
        BatchStream { generator: self, requests: requests.iter().enumerate(), next: None, open, ends }
    }

    /// Prepares the samples of a request.
    fn samples(&self, index: usize, request: &Request) -> Result<Samples> {
        let ids = match &request.prompt {
            Prompt::Text(text) => self.encode(text, &request.options)?,
            Prompt::Ids(ids) => ids.clone(),
        };
        let resolved = self.resolve(&request.options);
        let count = resolved.samples()?;
        let seed = resolved.seed.unwrap_or_else(crate::generator::drawn_seed);
        let options = Options { n: Some(1), seed: Some(seed), ..request.options.clone() };
        Ok(Samples { request: index, ids, options, next: 0, count })
    }
}

impl BatchStream<'_> {
    /// The end of a sample, after its last piece.
    pub fn end(&self, request: usize, sample: usize) -> Option<&BatchEnd> {
        self.ends.get(&(request, sample))
    }

    /// Begins the next sample. Returns a piece with the error of a request that can't begin; `None` at the end.
    fn begin(&mut self) -> Option<Result<(), BatchPiece>> {
        let failed = |request, sample, error| Some(Err(BatchPiece { request, sample, piece: Err(error) }));
        if self.next.as_ref().is_none_or(|s| s.next == s.count) {
            let (index, request) = self.requests.next()?;
            match self.generator.samples(index, request) {
                Ok(samples) => self.next = Some(samples),
                Err(error) => return failed(index, 0, error),
            }
        }
        let samples = self.next.as_mut()?;
        let (request, sample) = (samples.request, samples.next);
        samples.next += 1;
        let seed = samples.options.seed.map(|seed| seed.wrapping_add(u64::from(sample)));
        let options = Options { seed, ..samples.options.clone() };
        match self.generator.stream_ids(&samples.ids, &options) {
            Ok(stream) => self.open.push_back(Open { request, sample: sample as usize, stream }),
            Err(error) => {
                // The other samples would fail in the same way.
                samples.next = samples.count;
                return failed(request, sample as usize, error);
            }
        }
        Some(Ok(()))
    }

    /// A piece that is there, in turns. Samples that have ended make room for others.
    fn take(&mut self) -> Option<BatchPiece> {
        for _ in 0..self.open.len() {
            let mut open = self.open.pop_front()?;
            match open.stream.poll_next() {
                Some(Some(piece)) => {
                    let Open { request, sample, .. } = open;
                    self.open.push_back(open);
                    return Some(BatchPiece { request, sample, piece });
                }
                Some(None) => {
                    let Open { request, sample, stream } = open;
                    let finish = stream.finish().unwrap_or(FinishReason::Error);
                    let (seed, usage, timings) = (stream.seed(), stream.usage(), stream.timings());
                    self.ends.insert((request, sample), BatchEnd { finish, seed, usage, timings });
                }
                None => self.open.push_back(open),
            }
        }
        None
    }
}

impl Iterator for BatchStream<'_> {
    type Item = BatchPiece;

    fn next(&mut self) -> Option<BatchPiece> {
        loop {
            while self.open.len() < self.generator.config().sequences {
                match self.begin() {
                    Some(Ok(())) => {}
                    Some(Err(failed)) => return Some(failed),
                    None => break,
                }
            }
            let running = self.open.len();
            if let Some(piece) = self.take() {
                return Some(piece);
            }
            if self.open.len() == running {
                // A step computes all of them.
                self.open.front()?.stream.step();
            }
        }
    }
}
