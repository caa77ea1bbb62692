//! A conversation that goes on, turn by turn.

use crate::chat::{is_too_long, template_limits, with_time_left};
use crate::{Model, Result};
use inkstone_generate::{Limit, Options, Stream};
use inkstone_text::{ChatTemplate, Conversation, Message};
use std::time::Instant;

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
#[derive(Clone, Debug)]
pub struct Dialogue {
    model: Model,
    template: ChatTemplate,
    messages: Vec<Message>,
}

/// A question, and its answer to come.
#[derive(Debug)]
pub struct Turn {
    /// The answer, piece by piece.
    pub stream: Stream,
    /// The prompt: the conversation up to the question.
    pub prompt: Vec<u32>,
    /// How many of the oldest turns were forgotten to make room.
    pub forgotten: usize,
}

impl Dialogue {
    /// An empty conversation with a model, which the dialogue keeps a handle to.
    pub fn new(model: &Model, template: ChatTemplate) -> Dialogue {
        Dialogue { model: model.clone(), template, messages: Vec::new() }
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
        let (start, limits) = (Instant::now(), template_limits(options));
        let context = self.model.config().context;
        let wanted = match options.max_tokens {
            Some(Limit::Tokens(tokens)) => usize::try_from(tokens).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        let most = context - wanted.min(context / 4);
        // Where the turns begin that may be left.
        let first = self.first_turn();
        let questions = self.messages.iter().enumerate().skip(first + 1).filter(|(_, m)| m.role() == "user");
        let starts: Vec<usize> = [first].into_iter().chain(questions.map(|(at, _)| at)).collect();
        let prompt_without = |forgotten: usize| {
            let left = [&self.messages[..first], &self.messages[starts[forgotten]..]].concat();
            self.model.chat_ids_within(&self.template, &Conversation::new(left), options, &limits)
        };
        // An error of another kind does not go away if more is forgotten.
        let fits = |prompt: &Result<Vec<u32>>| match prompt {
            Ok(ids) => ids.len() <= most,
            Err(error) => !is_too_long(error),
        };
        let mut forgotten = 0;
        let mut prompt = prompt_without(0);
        if !fits(&prompt) && starts.len() > 1 {
            // As few as will do, at worst all but the last. What fits does so without more, too, so halves are left out.
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
        let stream = self.model.answer_ids(&self.template, &prompt, &with_time_left(options, start))?;
        Ok(Turn { stream, prompt, forgotten })
    }

    /// Where the turns begin: behind what the model shall keep to.
    fn first_turn(&self) -> usize {
        self.messages.iter().take_while(|m| m.role() == "system").count()
    }
}
