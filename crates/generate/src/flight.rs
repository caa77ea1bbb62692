//! A step under composition, and a step that the device has until its results are read.

use crate::reply::TokenScore;
use crate::{Error, Result};
use inkstone_compute::Ticket;
use inkstone_kvcache as kvcache;
use inkstone_tensor::step::record::Record;
use inkstone_tensor::step::{PageCopy, SeqStep, StepBuffer};
use std::ops::Range;
use std::time::{Duration, Instant};

/// The results of a part that the host asks for, in addition to one record per sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// None.
    Nothing,
    /// The log-probabilities of its last row.
    Scores,
    /// The logits of its rows.
    Logits,
    /// The logits of its last row, from which the host draws a token.
    Draw,
}

/// Writes values that a step brings back.
pub(crate) type Fetch<'a> = dyn FnMut(&mut [f32]) -> Result<()> + 'a;

/// The part of a sequence in a step.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The sequence. Results go by this number: its slot may have another owner when they arrive.
    pub id: u64,
    /// Its slot in the carry during the step.
    pub slot: usize,
    /// The number of its rows.
    pub rows: usize,
    /// Whether it feeds the token that was drawn last.
    pub decode: bool,
    /// Whether these rows are the last ones of its prompt, or later ones.
    pub whole: bool,
    /// Whether the device draws a token.
    pub draws: bool,
    /// The results that the host asks for.
    pub wish: Wish,
    /// Its rows with logits, by their index in the step.
    pub logits: Range<usize>,
}

impl Part {
    /// Whether a token is drawn, by the device or the host.
    pub fn gives_token(&self) -> bool {
        self.draws || self.wish == Wish::Draw
    }
}

/// The rows of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// A part of a prompt, of which more tokens are left.
    Chunk,
    /// The rest of a prompt.
    Rest,
    /// The token that was drawn last.
    Decode,
}

/// A step under composition. Its memory is reused.
pub(crate) struct Step {
    pub(crate) buffer: StepBuffer,
    parts: Vec<Part>,
    /// Tokens in the caches of its sequences, including the tokens of the step.
    cached: usize,
    /// The number of page copies.
    copies: usize,
}

impl Step {
    /// An empty step in this buffer.
    pub fn new(buffer: StepBuffer, sequences: usize) -> Step {
        Step { buffer, parts: Vec::with_capacity(sequences), cached: 0, copies: 0 }
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.parts.clear();
        (self.cached, self.copies) = (0, 0);
    }

    /// Adds the next rows of the sequence `id`, which has `before` tokens in the caches.
    pub fn push(&mut self, id: u64, before: usize, rows: Rows, wish: Wish, s: &SeqStep) {
        let (decode, whole) = (rows == Rows::Decode, rows != Rows::Chunk);
        let first = self.buffer.logits().len();
        self.buffer.push(s);
        let (logits, rows) = (first..self.buffer.logits().len(), s.tokens.len());
        self.parts.push(Part { id, slot: s.slot, rows, decode, whole, draws: s.sampler.is_some(), wish, logits });
        self.cached += before + rows;
    }

    /// Adds a copy of the beginning of a page of a layer group, which is made before the rows are computed.
    pub fn copy(&mut self, group: usize, copy: kvcache::PageCopy) {
        let kvcache::PageCopy { from, to, places } = copy;
        self.buffer.copy(PageCopy { group: group as u32, from, to, places });
        self.copies += 1;
    }

    /// Whether pages are copied.
    pub fn has_copies(&self) -> bool {
        self.copies > 0
    }

    /// Its parts, in the order in which they were added.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.buffer.rows()
    }

    /// The number of rows with logits.
    pub fn logit_rows(&self) -> usize {
        self.buffer.logits().len()
    }

    pub fn cached(&self) -> usize {
        self.cached
    }
}

/// A step that was launched, until it has landed.
#[derive(Debug)]
pub(crate) struct Flight {
    /// The submit of its page copies.
    pub copied: Option<Ticket>,
    /// The submit of its first window of logit rows.
    pub ticket: Ticket,
    pub parts: Vec<Part>,
    /// The row of the ring that it writes, if it draws.
    pub ring: Option<usize>,
    /// The number of rows with logits.
    pub logit_rows: usize,
    /// The number of windows of logit rows.
    pub windows: usize,
    /// The time of its launch, if it is measured.
    pub launched: Option<Instant>,
    /// The time that the host spent on its launch.
    pub waited: Duration,
}

impl Flight {
    /// A flight without parts, to be filled.
    pub fn empty() -> Flight {
        Flight {
            copied: None,
            ticket: Ticket(0),
            parts: Vec::new(),
            ring: None,
            logit_rows: 0,
            windows: 1,
            launched: None,
            waited: Duration::ZERO,
        }
    }
}

/// The reason why a step has no results.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Nothing was given to the queue: all states are as before.
    NotRun(Error),
    /// The states of all sequences are unknown.
    Lost(Error),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        match failure {
            Failure::NotRun(error) | Failure::Lost(error) => error,
        }
    }
}

/// The result of a sequence in a step.
pub(crate) struct Drawn<'a> {
    /// A token or a status.
    pub record: u32,
    /// Its scores, if they were requested.
    pub scores: Option<&'a [u32]>,
}

impl Drawn<'_> {
    /// Whether the device leaves the draw to the host.
    pub fn is_left_to_host(&self) -> bool {
        Record::decode(self.record) == Record::Host
    }

    /// The token, or the error of its record. `index` is the number of tokens that the sequence drew before.
    pub fn token(&self, index: u64) -> Result<u32> {
        match Record::decode(self.record) {
            Record::Token(id) => Ok(id),
            Record::NanLogits => Err(Error::NanLogits { token: index }),
            Record::Empty(stage) => Err(Error::NoTokenLeft { token: index, stage }),
            other => Err(Error::NoRecord { token: index, status: format!("{other:?}") }),
        }
    }

    /// The score of the drawn token, with this number of the most probable tokens.
    pub fn score(&self, id: u32, top: usize) -> Option<TokenScore> {
        self.scores.and_then(|words| TokenScore::decode(id, words, top))
    }
}
