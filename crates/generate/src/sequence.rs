//! A sequence between admission and end: what it feeds next, and what becomes of the tokens that it draws.

use crate::output::Output;
use crate::runner::Drawn;
use crate::stops::StopRules;
use crate::{Cancel, Error, FinishReason, Piece};
use inkstone_kvcache::PageTable;
use inkstone_tensor::step::record::Record;
use inkstone_text::{Decoder, Tokenizer};
use std::sync::Arc;
use std::time::Instant;

/// What a sequence is run for.
pub(crate) enum Goal {
    /// Tokens.
    Draw(Box<Draw>),
    /// The logits of every position of the prompt.
    Logits,
}

/// How tokens are drawn, and what is told of them.
pub(crate) struct Draw {
    /// Words of the sampling chain.
    pub sampler: Vec<u32>,
    /// Log-probabilities with so many alternatives.
    pub logprobs: Option<usize>,
    /// Most tokens to draw; 0: the prompt is read, and no more ...
    pub limit: u64,
    /// ... and why not more.
    pub at_limit: FinishReason,
    /// End tokens, as the device sees them.
    pub ends: Vec<u32>,
    pub stops: StopRules,
    pub decoder: Decoder,
    /// What the stop rules let through of a token; kept for its memory.
    pub bytes: Vec<u8>,
}

pub(crate) struct Sequence {
    pub id: u64,
    pub prompt: Vec<u32>,
    /// Tokens in the caches, those of the step under way included.
    pub fed: usize,
    pub table: PageTable,
    /// Tokens that it may need pages for.
    pub reach: usize,
    /// Most prompt tokens in each of its steps; the last number holds for all that follow.
    pub chunks: Vec<usize>,
    /// Steps that it was part of.
    pub steps: usize,
    pub goal: Goal,
    pub deadline: Option<Instant>,
    pub cancel: Option<Cancel>,
    pub output: Arc<Output>,
}

impl Sequence {
    /// Prompt tokens that were not fed yet; 0: it decodes.
    pub fn fresh(&self) -> usize {
        self.prompt.len().saturating_sub(self.fed)
    }

    /// Most prompt tokens in its next step.
    pub fn chunk(&self) -> usize {
        self.chunks.get(self.steps).or(self.chunks.last()).copied().unwrap_or(usize::MAX)
    }

    /// A reason to end that lies outside the model.
    pub fn interrupted(&self) -> Option<FinishReason> {
        if self.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
            return Some(FinishReason::Cancelled);
        }
        if self.output.is_abandoned() {
            return Some(FinishReason::Callback);
        }
        self.deadline.filter(|d| Instant::now() >= *d).map(|_| FinishReason::Deadline)
    }

    /// Takes a token that was drawn. True if the sequence has ended.
    pub fn take(&mut self, drawn: &Drawn, tokenizer: &Tokenizer) -> bool {
        let Goal::Draw(draw) = &mut self.goal else { return true };
        // One lock for the token and what follows from it: readers see both or neither.
        let mut output = self.output.lock();
        let index = output.usage.completion_tokens;
        let id = match token_of(drawn.record, index) {
            Ok(id) => id,
            Err(error) => {
                output.fail(Arc::new(error), &draw.rest());
                return true;
            }
        };
        output.drew();
        let mut piece = Piece { ids: vec![id], ..Piece::default() };
        if let Some(top) = draw.logprobs {
            piece.logprobs.extend(drawn.score(id, top));
        }
        draw.bytes.clear();
        let is_end = draw.stops.is_end(id);
        let stopped = !is_end && draw.stops.feed(tokenizer.piece(id).unwrap_or_default(), &mut draw.bytes);
        let finish = if is_end {
            Some(FinishReason::End)
        } else if stopped {
            Some(FinishReason::Stop)
        } else {
            (index + 1 >= draw.limit).then_some(draw.at_limit)
        };
        piece.text.push_str(draw.decoder.push(&draw.bytes));
        output.pieces.push_back(piece);
        if let Some(finish) = finish {
            output.end(finish, &draw.rest());
        }
        finish.is_some()
    }

    /// Ends it if its prompt was fed. True if the sequence has ended.
    pub fn ends_with_its_prompt(&mut self) -> bool {
        let ended = self.fresh() == 0;
        if ended {
            self.end(FinishReason::Length);
        }
        ended
    }

    /// Ends it; what was held back goes out, unless it belongs to a stop text.
    pub fn end(&mut self, finish: FinishReason) {
        let rest = self.goal.rest();
        self.output.lock().end(finish, &rest);
    }

    /// Ends it with an error.
    pub fn fail(&mut self, error: Arc<Error>) {
        let rest = self.goal.rest();
        self.output.lock().fail(error, &rest);
    }
}

impl Goal {
    fn rest(&mut self) -> String {
        match self {
            Goal::Draw(draw) => draw.rest(),
            Goal::Logits => String::new(),
        }
    }
}

impl Draw {
    /// Whether the prompt fills the context. A limit of no tokens that was asked for leaves the prompt to read.
    pub fn has_no_room(&self) -> bool {
        self.limit == 0 && self.at_limit == FinishReason::Context
    }

    /// The text that is held back: what could have become a stop text, and the bytes of a character that was cut.
    fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        self.stops.release(&mut bytes);
        let mut text = self.decoder.push(&bytes).to_owned();
        text.push_str(self.decoder.finish());
        text
    }
}

/// The token of a record, or the error that it stands for.
fn token_of(record: u32, token: u64) -> Result<u32, Error> {
    match Record::decode(record) {
        Record::Token(id) => Ok(id),
        Record::NanLogits => Err(Error::NanLogits { token }),
        Record::Empty(stage) => Err(Error::NoTokenLeft { token, stage }),
        other => Err(Error::NoRecord { token, status: format!("{other:?}") }),
    }
}
