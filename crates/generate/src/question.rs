//! Sequences that answer questions: which tokens are probable behind a text that their reader sets? A sequence keeps its
//! slot between two questions, and its pages if the next text continues the last one.

use crate::flight::Drawn;
use crate::output::{FULL, Output};
use crate::scheduler::Scheduler;
use crate::sequence::{Goal, Sequence, Taken};
use inkstone_tensor::ops::SCORES;
use inkstone_tensor::step::NONE;
use std::sync::Arc;

/// The question of a reader and its answer, which its handle and the scheduler share.
#[derive(Debug)]
pub(crate) struct Question {
    /// The text, until it is taken; then memory for the next one.
    text: Vec<u32>,
    /// Whether the text is to be taken.
    asked: bool,
    /// The answer: the words of a row of scores.
    words: [u32; SCORES.cols],
    answered: bool,
}

/// The state of a sequence that answers questions.
pub(crate) struct Scoring {
    /// The words of its sampling chain: scores are computed only with a draw.
    pub sampler: Vec<u32>,
    /// Whether an answer is missing.
    pub asked: bool,
    /// The steps since the last answer.
    pub idle: usize,
    /// Whether it counts as a request. The further sequences of a search don't.
    pub counts: bool,
}

/// The reader of a sequence that was asked nothing for this number of steps is behind, like one with as many unread pieces.
pub(crate) const IDLE: usize = FULL;

impl Question {
    /// No question. `text` has enough capacity for all texts.
    pub fn new(text: Vec<u32>) -> Question {
        Question { text, asked: false, words: [NONE; SCORES.cols], answered: false }
    }

    /// Asks for the tokens behind the concatenation of two texts.
    pub fn ask(&mut self, first: &[u32], second: &[u32]) {
        self.text.clear();
        self.text.extend_from_slice(first);
        self.text.extend_from_slice(second);
        (self.asked, self.answered) = (true, false);
    }

    /// Whether the answer is there.
    pub fn is_answered(&self) -> bool {
        self.answered
    }

    /// The most probable tokens with their log-probabilities, most probable first.
    pub fn answer(&self) -> impl Iterator<Item = (u32, f32)> + use<> {
        let words = self.words;
        let pairs = (1..words.len()).step_by(2).map(move |at| (words[at], f32::from_bits(words[at + 1])));
        pairs.take_while(|(id, _)| *id != NONE)
    }
}

impl Sequence {
    /// Takes the next text, if there is one. Returns whether it continues the text before; otherwise the sequence begins
    /// anew.
    fn take_question(&mut self) -> Option<bool> {
        let Goal::Score(scoring) = &mut self.goal else { return None };
        scoring.idle += 1;
        let mut output = self.output.lock();
        let question = output.question.as_mut().filter(|question| question.asked)?;
        question.asked = false;
        scoring.asked = true;
        std::mem::swap(&mut self.tokens, &mut question.text);
        let continues = self.tokens.len() > self.fed && self.tokens.starts_with(&question.text[..self.fed]);
        self.known = self.tokens.len();
        Some(continues)
    }

    /// Gives the scores of the row that landed to the reader.
    pub(crate) fn answer(scoring: &mut Scoring, output: &Output, drawn: &Drawn) -> Taken {
        let mut state = output.lock();
        if let Some(reason) = output.abandoned() {
            state.end(reason, "");
            return Taken::Dropped;
        }
        if let Err(error) = drawn.token(state.usage.completion_tokens) {
            state.fail(Arc::new(error), "");
            return Taken::Dropped;
        }
        state.drew();
        (scoring.asked, scoring.idle) = (false, 0);
        if let (Some(question), Some(words)) = (&mut state.question, drawn.scores) {
            question.words.copy_from_slice(words);
            question.answered = true;
        }
        Taken::More
    }
}

impl Scheduler {
    /// Takes the questions of readers. A text that doesn't continue the one before is looked up like a new prompt: it finds
    /// the pages of another text of its search there.
    pub(crate) fn take_questions(&mut self) {
        for slot in 0..self.running.len() {
            let Some(Some(false)) = self.running[slot].as_mut().map(Sequence::take_question) else { continue };
            if let Some(mut s) = self.running[slot].take() {
                self.give_back(&mut s);
                s.rewind();
                self.running[slot] = Some(s);
            }
        }
        for s in &mut self.waiting {
            s.take_question();
        }
    }
}
