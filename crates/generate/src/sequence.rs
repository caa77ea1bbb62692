//! A sequence: the tokens that it feeds next, and the processing of the tokens that it draws.

use crate::flight::Drawn;
use crate::host::Drawer;
use crate::output::Output;
use crate::question::{IDLE, Scoring};
use crate::request::CHAIN_WORDS;
use crate::stops::StopRules;
use crate::{Cancel, Error, FinishReason, Piece, clock};
use inkstone_kvcache::{PageCopy, Salt, Tables};
use inkstone_tensor::step::GROUPS;
use inkstone_text::{Decoder, Tokenizer};

use std::sync::Arc;
use std::time::Instant;

/// The purpose of a sequence.
pub(crate) enum Goal {
    /// To draw tokens.
    Draw(Box<Draw>),
    /// To compute the logits of every position of the prompt.
    Logits,
    /// To compute which tokens are probable behind texts that the reader sets.
    Score(Box<Scoring>),
}

/// How the tokens of a sequence are drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling<'a> {
    /// The words of a sampler.
    pub words: &'a [u32],
    /// Whether log-probabilities are wanted.
    pub scored: bool,
}

/// The effect of a drawn token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The reader has it, and the sequence goes on.
    More,
    /// The reader has it, and the sequence has ended.
    Last,
    /// The sequence has ended without it.
    Dropped,
}

/// The parameters and state of drawing tokens.
pub(crate) struct Draw {
    /// The words of the sampling chain.
    pub sampler: Vec<u32>,
    /// Computes log-probabilities, with this number of alternatives.
    pub logprobs: Option<usize>,
    /// The largest number of tokens to draw; with 0 only the prompt is computed.
    pub limit: u64,
    /// The reason for the end at this limit.
    pub at_limit: FinishReason,
    /// The end tokens passed to the device.
    pub ends: Vec<u32>,
    pub stops: StopRules,
    pub decoder: Decoder,
    /// The bytes of a token that the stop rules released, kept to reuse the memory.
    pub bytes: Vec<u8>,
}

pub(crate) struct Sequence {
    /// The order of arrival.
    pub id: u64,
    /// The prompt and the tokens drawn so far.
    pub tokens: Vec<u32>,
    /// The number of tokens of the prompt.
    pub prompt: usize,
    /// The number of tokens that the host feeds: the prompt, or all tokens so far when the sequence began anew. The
    /// device knows the tokens that it draws behind them.
    pub known: usize,
    /// Tokens in the caches, including the tokens of steps that were launched.
    pub fed: usize,
    /// The number of rows whose logits have been given to the caller.
    pub given: usize,
    /// Whether its slot of the carry is set up.
    pub begun: bool,
    /// The number of its steps that are under way.
    pub flights: usize,
    /// The number of these whose results are void, because the draw before them was left to the host.
    pub void: usize,
    pub tables: Tables,
    /// Of each layer group a page whose beginning is to be copied into the tables, and the page itself, until the copies are
    /// launched.
    pub copies: [Option<PageCopy>; GROUPS],
    pub sources: Tables,
    /// Which sequences it shares pages with.
    pub salt: Salt,
    /// Whether no other sequence has its salt.
    pub private: bool,
    /// Whether its beginning was looked up since it has its slot.
    pub looked_up: bool,
    /// Whether what was found has been counted.
    pub counted: bool,
    /// The number of tokens that others can share.
    pub offered: usize,
    /// Lengths of its prompt at which other texts part from it, where the next one wants a checkpoint.
    pub parts: Vec<usize>,
    /// The largest number of tokens that it can have.
    pub reach: usize,
    /// The largest number of prompt tokens in each of its steps; the last number applies to all further steps.
    pub chunks: Vec<usize>,
    /// The number of steps that it was part of.
    pub steps: usize,
    /// The number of draws that were launched.
    pub draws: u64,
    pub drawer: Drawer,
    pub goal: Goal,
    pub deadline: Option<Instant>,
    pub cancel: Option<Cancel>,
    pub output: Arc<Output>,
}

impl Sequence {
    /// The words of its sampling beyond those that each sequence has in a step. The host draws by a chain of its own.
    pub fn list_words(&self) -> usize {
        let words = self.goal.sampling().filter(|_| self.drawer != Drawer::Host).map_or(0, |s| s.words.len());
        words.saturating_sub(CHAIN_WORDS)
    }

    /// The number of tokens that the host has to feed before it decodes; 0 if it decodes.
    pub fn fresh(&self) -> usize {
        self.known.saturating_sub(self.fed)
    }

    /// Whether its next row feeds the token that was drawn last, which the host feeds if it has drawn it; or the row is
    /// computed again for the host.
    pub fn decodes(&self) -> bool {
        let drawn = self.fed >= self.prompt || self.drawer == Drawer::HostOnce;
        let feeds_one = matches!(self.goal, Goal::Draw(_)) && self.looked_up && self.fresh() == 1;
        self.fresh() == 0 || feeds_one && drawn
    }

    /// Prepares it to begin anew: all its tokens are fed again, and nothing is given out twice.
    pub fn rewind(&mut self) {
        (self.known, self.fed, self.begun) = (self.tokens.len(), 0, false);
        (self.looked_up, self.offered) = (false, 0);
    }

    /// The largest number of prompt tokens in its next step.
    pub fn chunk(&self) -> usize {
        self.chunks.get(self.steps).or(self.chunks.last()).copied().unwrap_or(usize::MAX)
    }

    /// Whether it has something to compute, a part of its prompt or a draw within its limit, and a reader for it.
    pub fn can_continue(&self) -> bool {
        let more = match &self.goal {
            _ if self.void > 0 => false,
            _ if self.fresh() > 0 => true,
            // The host has to draw first.
            _ if self.drawer != Drawer::Device => false,
            Goal::Draw(draw) => self.draws < draw.limit,
            Goal::Logits | Goal::Score(_) => false,
        };
        more && !self.is_full()
    }

    /// Whether it waits for its reader, with no step under way.
    pub fn is_behind(&self) -> bool {
        let waits = match &self.goal {
            Goal::Score(scoring) => !scoring.asked && scoring.idle >= IDLE,
            _ => self.is_full(),
        };
        self.flights == 0 && waits
    }

    /// Whether too many pieces are unread, or will be when the launched steps have landed; or whether no question is
    /// asked.
    pub fn is_full(&self) -> bool {
        if let Goal::Score(scoring) = &self.goal {
            return !scoring.asked;
        }
        let output = self.output.lock();
        output.is_full(self.draws.saturating_sub(output.usage.completion_tokens) as usize)
    }

    /// The reason for an end that was requested by the caller.
    pub fn interrupted(&self) -> Option<FinishReason> {
        if self.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
            return Some(FinishReason::Cancelled);
        }
        if let Some(reason) = self.output.abandoned() {
            return Some(reason);
        }
        self.deadline.filter(|d| clock::now() >= *d).map(|_| FinishReason::Deadline)
    }

    /// Processes a drawn token.
    pub fn take(&mut self, drawn: &Drawn, tokenizer: &Tokenizer) -> Taken {
        let draw = match &mut self.goal {
            Goal::Draw(draw) => draw,
            Goal::Score(scoring) => return Sequence::answer(scoring, &self.output, drawn),
            Goal::Logits => return Taken::Dropped,
        };
        // One lock for the token and all its effects, so that readers see all of them or none.
        let mut output = self.output.lock();
        if let Some(reason) = self.output.abandoned() {
            output.end(reason, &draw.rest());
            return Taken::Dropped;
        }
        let index = output.usage.completion_tokens;
        let id = match drawn.token(index) {
            Ok(id) => id,
            Err(error) => {
                output.fail(Arc::new(error), &draw.rest());
                return Taken::Dropped;
            }
        };
        output.drew();
        self.tokens.push(id);
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
        let Some(finish) = finish else { return Taken::More };
        output.end(finish, &draw.rest());
        Taken::Last
    }

    /// Ends a sequence that draws nothing, because its whole prompt has been computed. Returns true if it has ended.
    pub fn ends_with_its_prompt(&mut self) -> bool {
        let ends = match &self.goal {
            Goal::Draw(draw) => draw.limit == 0,
            Goal::Logits => true,
            Goal::Score(_) => false,
        };
        if ends {
            self.end(FinishReason::Length);
        }
        ends
    }

    /// Ends the sequence and releases the text that was held back, unless it belongs to a stop text.
    pub fn end(&mut self, finish: FinishReason) {
        let rest = self.goal.rest();
        self.output.lock().end(finish, &rest);
    }

    /// Ends the sequence with an error.
    pub fn fail(&mut self, error: Arc<Error>) {
        let rest = self.goal.rest();
        self.output.lock().fail(error, &rest);
    }
}

impl Goal {
    /// How its tokens are drawn, if there are any.
    pub fn sampling(&self) -> Option<Sampling<'_>> {
        match self {
            Goal::Draw(draw) if draw.limit > 0 => {
                Some(Sampling { words: &draw.sampler, scored: draw.logprobs.is_some() })
            }
            Goal::Score(scoring) => Some(Sampling { words: &scoring.sampler, scored: true }),
            Goal::Draw(_) | Goal::Logits => None,
        }
    }

    /// Whether its sequence counts as a request.
    pub fn counts(&self) -> bool {
        !matches!(self, Goal::Score(scoring) if !scoring.counts)
    }

    fn rest(&mut self) -> String {
        match self {
            Goal::Draw(draw) => draw.rest(),
            Goal::Logits | Goal::Score(_) => String::new(),
        }
    }
}

impl Draw {
    /// Whether the prompt fills the context. With a requested limit of 0 tokens the prompt is still computed.
    pub fn has_no_room(&self) -> bool {
        self.limit == 0 && self.at_limit == FinishReason::Context
    }

    /// The text that is held back: the possible beginning of a stop text, and an incomplete character.
    fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        self.stops.release(&mut bytes);
        let mut text = self.decoder.push(&bytes).to_owned();
        text.push_str(self.decoder.finish());
        text
    }
}
