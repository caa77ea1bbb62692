//! Requests, and their outcomes: computed from the description of the options, and as the generator gives them.

use super::hash::failing;
use super::{EOS, PIECES, next_token};
use inkstone_generate::{Cancel, Error, FinishReason, Generator, Options, Reply, Stream, TokenScore, Usage};
use std::time::Duration;

/// A request for draws by hash.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub prompt: Vec<u32>,
    pub seed: u64,
    /// `None`: as many as the context holds.
    pub max_tokens: Option<u64>,
    pub stop: Vec<String>,
    pub stop_ids: Vec<u32>,
    pub ignore_end: bool,
    pub logprobs: Option<u32>,
    /// Its deadline has passed when it begins.
    pub late: bool,
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub ids: Vec<u32>,
    pub text: String,
    pub finish: FinishReason,
    pub usage: Usage,
}

impl Request {
    pub fn new(seed: u64, prompt: &[u32]) -> Request {
        Request { seed, prompt: prompt.to_vec(), ..Request::default() }
    }

    /// The same that ends only at its limit.
    pub fn tokens(self, max_tokens: u64) -> Request {
        Request { max_tokens: Some(max_tokens), ignore_end: true, ..self }
    }

    pub fn stop(mut self, text: &str) -> Request {
        self.stop.push(text.to_owned());
        self
    }

    /// Its options.
    pub fn options(&self) -> Options {
        let mut o = Options::default().seed(self.seed).ignore_end(self.ignore_end);
        o = self.max_tokens.map_or(o.clone().unlimited(), |n| o.max_tokens(n));
        (o.stop, o.stop_ids, o.logprobs) = (self.stop.clone(), self.stop_ids.clone(), self.logprobs);
        o.deadline = self.late.then_some(Duration::ZERO);
        o
    }

    /// Its reply as an outcome.
    pub fn reply(&self, generator: &Generator) -> Outcome {
        Outcome::of(generator.generate_ids(&self.prompt, &self.options()).expect("a reply"))
    }

    /// Its stream.
    pub fn stream(&self, generator: &Generator) -> Reader {
        Reader::new(generator.stream_ids(&self.prompt, &self.options()).expect("a stream"))
    }

    /// Its stream, which a switch can end.
    pub fn stream_until(&self, generator: &Generator, cancel: &Cancel) -> Reader {
        let options = self.options().cancel(cancel.clone());
        Reader::new(generator.stream_ids(&self.prompt, &options).expect("a stream"))
    }

    /// The outcome by the description of the options.
    pub fn outcome(&self, context: usize) -> Outcome {
        let room = (context - self.prompt.len()) as u64;
        let (limit, at_limit) = match self.max_tokens {
            Some(n) if n <= room => (n, FinishReason::Length),
            _ => (room, FinishReason::Context),
        };
        // A prompt that fills the context ends before its first step.
        if self.late && (limit > 0 || at_limit == FinishReason::Length) {
            return self.cut(&[], FinishReason::Deadline);
        }
        let (mut ids, mut bytes) = (Vec::new(), Vec::new());
        while (ids.len() as u64) < limit {
            if failing(self.seed) == Some(ids.len() as u64) {
                return self.cut(&ids, FinishReason::Error);
            }
            let tokens = self.prompt.iter().chain(&ids).copied();
            let id = next_token(self.seed, self.prompt.len(), tokens);
            ids.push(id);
            if self.is_end(id) {
                return self.cut(&ids, FinishReason::End);
            }
            bytes.extend_from_slice(PIECES[id as usize]);
            if let Some(start) = self.stop_in(&bytes) {
                let text = String::from_utf8_lossy(&bytes[..start]).into_owned();
                return Outcome { text, ..self.cut(&ids, FinishReason::Stop) };
            }
        }
        self.cut(&ids, at_limit)
    }

    /// The outcome if it ends for this reason after these tokens, none of which completes a stop text.
    pub fn cut(&self, ids: &[u32], finish: FinishReason) -> Outcome {
        let pieces = ids.iter().filter(|id| !self.is_end(**id)).map(|id| PIECES[*id as usize]);
        let text = String::from_utf8_lossy(&pieces.collect::<Vec<_>>().concat()).into_owned();
        let mut usage = Usage::default();
        (usage.prompt_tokens, usage.completion_tokens) = (self.prompt.len() as u64, ids.len() as u64);
        Outcome { ids: ids.to_vec(), text, finish, usage }
    }

    fn is_end(&self, id: u32) -> bool {
        id == EOS && !self.ignore_end || self.stop_ids.contains(&id)
    }

    /// The beginning of the stop text that is complete first; of several that end together the longest counts.
    fn stop_in(&self, bytes: &[u8]) -> Option<usize> {
        let complete =
            |end: &usize| self.stop.iter().filter(|s| bytes[..*end].ends_with(s.as_bytes())).map(String::len).max();
        (0..=bytes.len()).find_map(|end| Some(end - complete(&end)?))
    }
}

impl Outcome {
    pub fn of(reply: Reply) -> Outcome {
        let usage = without_hit(reply.usage);
        Outcome { ids: reply.ids, text: reply.text, finish: reply.finish, usage }
    }
}

/// The counts of a request, which don't depend on what is in the cache, but for one.
#[track_caller]
fn without_hit(usage: Usage) -> Usage {
    assert!(usage.cached_tokens < usage.prompt_tokens, "{usage:?}: a token is left to compute");
    let mut usage = usage;
    usage.cached_tokens = 0;
    usage
}

/// A stream that is being read.
pub struct Reader {
    stream: Stream,
    text: String,
    scores: Vec<TokenScore>,
    pub error: Option<Error>,
}

impl Reader {
    fn new(stream: Stream) -> Reader {
        Reader { stream, text: String::new(), scores: Vec::new(), error: None }
    }

    /// Reads a piece; false at the end.
    pub fn read(&mut self) -> bool {
        match self.stream.next() {
            Some(Ok(piece)) => {
                self.text.push_str(&piece.text);
                self.scores.extend(piece.logprobs);
                true
            }
            Some(Err(error)) => {
                assert!(self.error.is_none(), "a second error: {error}");
                self.error = Some(error);
                true
            }
            None => false,
        }
    }

    /// Reads this number of pieces.
    #[track_caller]
    pub fn read_pieces(&mut self, pieces: usize) {
        (0..pieces).for_each(|i| assert!(self.read(), "the stream ends after {i} pieces"));
    }

    /// Reads to the end.
    #[track_caller]
    pub fn rest(&mut self) -> Outcome {
        while self.read() {}
        let finish = self.stream.finish().expect("an end");
        assert_eq!(self.error.is_some(), finish == FinishReason::Error, "{:?}", self.error);
        let usage = without_hit(self.stream.usage());
        Outcome { ids: self.ids().to_vec(), text: self.text.clone(), finish, usage }
    }

    /// The stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The tokens that were read.
    pub fn ids(&self) -> &[u32] {
        self.stream.ids()
    }

    /// Their text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Their scores.
    pub fn scores(&self) -> &[TokenScore] {
        &self.scores
    }
}
