//! A conversation of several turns.

mod saved;

use crate::chat::{is_too_long, template_limits, with_stops, with_time_left};
use crate::{Model, Result};
use inkstone_generate::{Limit, Options, Session, Stream};
use inkstone_text::{ChatTemplate, Conversation, Message};
use std::time::Instant;

/// A conversation with a model. It keeps the messages, and drops the oldest turns when the context is full. Each turn
/// computes only what the conversation has not in common with earlier turns. [`Dialogue::save`] and [`Dialogue::restore`]
/// keep it in a file.
///
/// ```no_run
/// # use inkstone::{Dialogue, Model, Options};
/// let model = Model::open("model.gguf")?;
/// let mut dialogue = Dialogue::new(&model, model.chat_template()?);
/// let mut turn = dialogue.ask("Hello!", &Options::default())?;
/// let mut answer = String::new();
/// for piece in turn.stream.by_ref() {
///     answer += &piece?.text;
/// }
/// dialogue.answered(&answer);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dialogue {
    model: Model,
    template: ChatTemplate,
    messages: Vec<Message>,
    /// The tokens of the last prompt. If the conversation was restored, only the requests of this session find its rows.
    session: Session,
}

/// A question with its answer.
#[derive(Debug)]
pub struct Turn {
    /// The pieces of the answer.
    pub stream: Stream,
    /// The prompt: the conversation up to the question.
    pub prompt: Vec<u32>,
    /// The number of old turns that were dropped to make room.
    pub forgotten: usize,
}

impl Dialogue {
    /// An empty conversation with a model. The dialogue keeps a handle of the model.
    pub fn new(model: &Model, template: ChatTemplate) -> Dialogue {
        Dialogue { model: model.clone(), template, messages: Vec::new(), session: model.session() }
    }

    /// The messages that have not been dropped.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Replaces the conversation.
    pub fn set_messages(&mut self, messages: Vec<Message>) {
        self.messages = messages;
    }

    /// Sets the system message at the beginning of the conversation, or removes it.
    pub fn set_system(&mut self, text: Option<&str>) {
        let turns = self.messages.split_off(self.first_turn());
        self.messages = text.map(Message::system).into_iter().chain(turns).collect();
    }

    /// Removes all turns.
    pub fn reset(&mut self) {
        self.messages.truncate(self.first_turn());
    }

    /// Removes the last question and its answer. Returns false if there is none.
    pub fn undo(&mut self) -> bool {
        let last = self.last_question();
        if let Some(last) = last {
            self.messages.truncate(last);
        }
        last.is_some()
    }

    /// Asks a question. If the conversation leaves too little room for an answer, the oldest turns are dropped: the
    /// room is the token limit of the answer, but at most a quarter of the context.
    ///
    /// # Errors
    /// Like [`Model::chat_stream`]. In this case the conversation does not change.
    pub fn ask(&mut self, text: &str, options: &Options) -> Result<Turn> {
        let mut messages = self.messages.clone();
        messages.push(Message::user(text));
        self.turn_of(messages, options)
    }

    /// Asks the last question again and drops the messages after it. Returns `None` if there is no question.
    ///
    /// # Errors
    /// Like [`Dialogue::ask`].
    pub fn ask_again(&mut self, options: &Options) -> Result<Option<Turn>> {
        let Some(last) = self.last_question() else { return Ok(None) };
        self.turn_of(self.messages[..=last].to_vec(), options).map(Some)
    }

    /// Counts the tokens of the context that the conversation takes so far.
    ///
    /// # Errors
    /// Like [`Model::chat_ids`].
    pub fn tokens(&self, options: &Options) -> Result<usize> {
        Ok(self.ids(options)?.len())
    }

    /// The tokens of the conversation so far.
    fn ids(&self, options: &Options) -> Result<Vec<u32>> {
        let conversation = Conversation::new(self.messages.clone()).answer(false);
        self.model.chat_ids(&self.template, &conversation, options)
    }

    /// Adds the answer of the model, which may be incomplete if it was stopped.
    pub fn answered(&mut self, text: &str) {
        // In the plain form an answer begins with the space after the colon.
        let text = if self.template.is_plain() { text.trim() } else { text };
        self.messages.push(Message::assistant(text));
    }

    /// Begins a turn with these messages, which become the conversation unless it fails.
    fn turn_of(&mut self, messages: Vec<Message>, options: &Options) -> Result<Turn> {
        let before = std::mem::replace(&mut self.messages, messages);
        let turn = self.turn(options);
        if turn.is_err() {
            self.messages = before;
        }
        turn
    }

    fn turn(&mut self, options: &Options) -> Result<Turn> {
        let (start, limits) = (Instant::now(), template_limits(options));
        let context = self.model.config().context;
        let wanted = match options.max_tokens {
            Some(Limit::Tokens(tokens)) => usize::try_from(tokens).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        let most = context - wanted.min(context / 4);
        // The starts of the turns that may be kept.
        let first = self.first_turn();
        let questions = self.messages.iter().enumerate().skip(first + 1).filter(|(_, m)| m.role() == "user");
        let starts: Vec<usize> = [first].into_iter().chain(questions.map(|(at, _)| at)).collect();
        let prompt_without = |forgotten: usize| {
            let left = [&self.messages[..first], &self.messages[starts[forgotten]..]].concat();
            self.model.chat_ids_within(&self.template, &Conversation::new(left), options, &limits)
        };
        // Dropping more turns does not resolve errors of other kinds.
        let fits = |prompt: &Result<Vec<u32>>| match prompt {
            Ok(ids) => ids.len() <= most,
            Err(error) => !is_too_long(error),
        };
        let mut forgotten = 0;
        let mut prompt = prompt_without(0);
        if !fits(&prompt) && starts.len() > 1 {
            // The smallest number of turns that must be dropped, at most all except the last. A prompt that fits also
            // fits with more turns dropped, so this is a binary search.
            let mut most_forgotten = starts.len() - 1;
            forgotten = 1;
            while forgotten < most_forgotten {
                let middle = forgotten.midpoint(most_forgotten);
                if fits(&prompt_without(middle)) {
                    most_forgotten = middle;
                } else {
                    forgotten = middle + 1;
                }
            }
            prompt = prompt_without(forgotten);
        }
        let prompt = prompt?;
        self.messages.drain(first..starts[forgotten]);
        // The cache holds the rows of the tokens that both prompts begin with.
        self.session.reset();
        self.session.append_ids(&prompt)?;
        let stream = self.session.draft(&with_stops(&self.template, &with_time_left(options, start)))?;
        Ok(Turn { stream, prompt, forgotten })
    }

    fn last_question(&self) -> Option<usize> {
        self.messages.iter().rposition(|m| m.role() == "user")
    }

    /// The index of the first turn, after the system message.
    fn first_turn(&self) -> usize {
        self.messages.iter().take_while(|m| m.role() == "system").count()
    }
}
