//! The state of a sequence that its handle and the scheduler share.

use crate::question::Question;
use crate::{Error, FinishReason, Piece, Result, Timings, Usage};
use inkstone_compute::KEPT;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// A sequence with this number of unread pieces is skipped.
pub(crate) const FULL: usize = 64;

/// The output of a sequence, which the scheduler writes and the handle reads.
#[derive(Debug)]
pub(crate) struct Output {
    state: Mutex<State>,
    /// The reason why its reader wants nothing more.
    abandoned: OnceLock<FinishReason>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub pieces: VecDeque<Piece>,
    /// The logits of every fed token, if they are requested.
    pub logits: Vec<f32>,
    /// The question that the sequence answers, if it answers questions.
    pub question: Option<Question>,
    pub finish: Option<FinishReason>,
    pub error: Option<Arc<Error>>,
    pub usage: Usage,
    started: Instant,
    first: Option<Instant>,
    last: Option<Instant>,
    ended: Option<Instant>,
}

impl Output {
    /// An empty output of a prompt of this number of tokens. `logits` has enough capacity for the requested logits.
    pub fn new(prompt: usize, logits: Vec<f32>, question: Option<Question>) -> Output {
        let state = State {
            // Together with the steps under way: no step waits for memory.
            pieces: VecDeque::with_capacity(FULL + KEPT),
            logits,
            question,
            finish: None,
            error: None,
            usage: Usage { prompt_tokens: prompt as u64, ..Usage::default() },
            started: Instant::now(),
            first: None,
            last: None,
            ended: None,
        };
        Output { state: Mutex::new(state), abandoned: OnceLock::new() }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks an output whose reader wants nothing more: no further piece is added, and its sequence ends before the next
    /// step.
    pub fn abandon(&self, reason: FinishReason) {
        // Under the lock, so that a token that is being added comes before or not at all.
        let _state = self.lock();
        self.abandoned.get_or_init(|| reason);
    }

    /// The reason why its reader wants nothing more, if so.
    pub fn abandoned(&self) -> Option<FinishReason> {
        self.abandoned.get().copied()
    }
}

impl State {
    /// Whether the handle can take a piece, an answer or the end.
    pub fn is_ready(&self) -> bool {
        let answered = self.question.as_ref().is_some_and(Question::is_answered);
        answered || !self.pieces.is_empty() || self.finish.is_some()
    }

    /// Whether too many pieces are unread, with this number of further ones to come.
    pub fn is_full(&self, coming: usize) -> bool {
        self.pieces.len() + coming >= FULL
    }

    /// Appends this number of logits, which `fetch` writes.
    pub fn take_logits(&mut self, values: usize, fetch: &mut dyn FnMut(&mut [f32]) -> Result<()>) -> Result<()> {
        let start = self.logits.len();
        self.logits.resize(start + values, 0.0);
        fetch(&mut self.logits[start..])
    }

    /// Records the time and count of a drawn token.
    pub fn drew(&mut self) {
        let now = Instant::now();
        self.first.get_or_insert(now);
        self.last = Some(now);
        self.usage.completion_tokens += 1;
    }

    /// Records the end of the sequence. `rest` is the text that was held back.
    pub fn end(&mut self, finish: FinishReason, rest: &str) {
        if !rest.is_empty() {
            match self.pieces.back_mut() {
                Some(last) => last.text.push_str(rest),
                None => self.pieces.push_back(Piece { text: rest.to_owned(), ..Piece::default() }),
            }
        }
        self.ended = Some(Instant::now());
        self.finish = Some(finish);
    }

    /// Records the end with an error. Both are set under one lock, so that a reader that sees the end also finds the
    /// error.
    pub fn fail(&mut self, error: Arc<Error>, rest: &str) {
        self.error = Some(error);
        self.end(FinishReason::Error, rest);
    }

    pub fn timings(&self) -> Timings {
        let first = self.first.or(self.ended);
        Timings {
            prefill: first.map_or_else(|| self.started.elapsed(), |f| f - self.started),
            decode: self.first.zip(self.last).map_or_else(Default::default, |(first, last)| last - first),
            total: self.ended.map_or_else(|| self.started.elapsed(), |e| e - self.started),
        }
    }
}
