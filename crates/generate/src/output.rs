//! What a handle and the scheduler share about one sequence.

use crate::{Error, FinishReason, Piece, Timings, Usage};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Pieces that may wait for their reader before its sequence is passed over.
const FULL: usize = 64;

/// The scheduler writes, the handle reads.
#[derive(Debug)]
pub(crate) struct Output {
    state: Mutex<State>,
    abandoned: AtomicBool,
}

#[derive(Debug)]
pub(crate) struct State {
    pub pieces: VecDeque<Piece>,
    /// Logits of every fed token, where these are wanted.
    pub logits: Vec<f32>,
    pub finish: Option<FinishReason>,
    pub error: Option<Arc<Error>>,
    pub usage: Usage,
    started: Instant,
    first: Option<Instant>,
    last: Option<Instant>,
    ended: Option<Instant>,
}

impl Output {
    /// Nothing yet; `logits` has room for those that are wanted.
    pub fn new(usage: Usage, logits: Vec<f32>) -> Output {
        let state = State {
            pieces: VecDeque::new(),
            logits,
            finish: None,
            error: None,
            usage,
            started: Instant::now(),
            first: None,
            last: None,
            ended: None,
        };
        Output { state: Mutex::new(state), abandoned: AtomicBool::new(false) }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks an output without a reader: its sequence ends before the next step. Does not wait.
    #[cfg(feature = "async")]
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }

    /// Whether the output has lost its reader.
    pub fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }
}

impl State {
    /// Whether the handle has something to take.
    pub fn is_ready(&self) -> bool {
        !self.pieces.is_empty() || self.finish.is_some()
    }

    /// Whether the reader is too far behind.
    pub fn is_full(&self) -> bool {
        self.pieces.len() >= FULL
    }

    /// A token was drawn.
    pub fn drew(&mut self) {
        let now = Instant::now();
        self.first.get_or_insert(now);
        self.last = Some(now);
        self.usage.completion_tokens += 1;
    }

    /// It has ended; `rest` is the text that was held back until now.
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

    /// It has ended with an error. The two come under one lock: a reader that sees the end finds the error.
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
