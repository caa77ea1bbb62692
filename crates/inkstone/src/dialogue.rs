//! A conversation that goes on, turn by turn.

use crate::chat::is_too_long;
use crate::{Model, Result};
use inkstone_generate::{Limit, Options, Stream};
use inkstone_text::{ChatTemplate, Conversation, Message};

/// A conversation with a model: remembers what was said, and forgets the oldest turns when the context is full.
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
pub struct Dialogue<'m> {
    model: &'m Model,
    template: ChatTemplate,
    messages: Vec<Message>,
}

/// A question, and its answer to come.
pub struct Turn {
    /// The answer, piece by piece.
    pub stream: Stream,
    /// The prompt: the conversation up to the question.
    pub prompt: Vec<u32>,
    /// How many of the oldest turns were forgotten to make room.
    pub forgotten: usize,
}

impl<'m> Dialogue<'m> {
    /// An empty conversation.
    pub fn new(model: &'m Model, template: ChatTemplate) -> Dialogue<'m> {
        Dialogue { model, template, messages: Vec::new() }
    }

    /// What was said and is not forgotten.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Goes on from another conversation.
    pub fn set_messages(&mut self, messages: Vec<Message>) {
        self.messages = messages;
    }

    /// What the model shall keep to: a message at the beginning, or none.
    pub fn set_system(&mut self, text: Option<&str>) {
        let turns = self.messages.split_off(self.first_turn());
        self.messages = text.map(Message::system).into_iter().chain(turns).collect();
    }

    /// Forgets all turns.
    pub fn reset(&mut self) {
        self.messages.truncate(self.first_turn());
    }

    /// Takes the last question back, with what came after it; false if there is none.
    pub fn undo(&mut self) -> bool {
        let last = self.messages.iter().rposition(|m| m.role() == "user");
        if let Some(last) = last {
            self.messages.truncate(last);
        }
        last.is_some()
    }

    /// A question. If the conversation leaves too little room for an answer, the oldest turns go: so many tokens as the
    /// answer may have, at most a quarter of the context, are kept free.
    ///
    /// # Errors
    /// As [`Model::chat_stream`]; the conversation is as before then.
    pub fn ask(&mut self, text: &str, options: &Options) -> Result<Turn> {
        let before = self.messages.clone();
        self.messages.push(Message::user(text));
        let turn = self.turn(options);
        if turn.is_err() {
            self.messages = before;
        }
        turn
    }

    /// What the model said; what it began and was stopped at, too.
    pub fn answered(&mut self, text: &str) {
        // In the plain form an answer begins with the space behind the colon.
        let text = if self.template.is_plain() { text.trim() } else { text };
        self.messages.push(Message::assistant(text));
    }

    fn turn(&mut self, options: &Options) -> Result<Turn> {
        let context = self.model.config().context;
        let wanted = match options.max_tokens {
            Some(Limit::Tokens(tokens)) => usize::try_from(tokens).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        let most = context - wanted.min(context / 4);
        let mut forgotten = 0;
        let prompt = loop {
            let conversation = Conversation::new(self.messages.clone());
            match self.model.chat_ids(&self.template, &conversation, options) {
                Ok(ids) if ids.len() <= most => break ids,
                Err(e) if !is_too_long(&e) => return Err(e),
                too_long => {
                    if !self.forget_oldest() {
                        break too_long?;
                    }
                }
            }
            forgotten += 1;
        };
        Ok(Turn { stream: self.model.answer_ids(&self.template, &prompt, options)?, prompt, forgotten })
    }

    /// Where the turns begin: behind what the model shall keep to.
    fn first_turn(&self) -> usize {
        self.messages.iter().take_while(|m| m.role() == "system").count()
    }

    /// The first turn goes, unless it is the last.
    fn forget_oldest(&mut self) -> bool {
        let first = self.first_turn();
        let next = self.messages.iter().skip(first + 1).position(|m| m.role() == "user");
        if let Some(next) = next {
            self.messages.drain(first..first + 1 + next);
        }
        next.is_some()
    }
}
