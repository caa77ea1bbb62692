//! Chat: generates answers to conversations.

use crate::{Error, Model, Result};
use inkstone_generate::{Options, Reply, Request, Stream};
use inkstone_text::{ChatTemplate, Conversation, Encode, Message, TemplateLimits};
use std::time::Instant;

impl Model {
    /// Generates an answer to a conversation. The prompt is rendered with the chat template of the model, or in a plain
    /// form (`role: content`) if it has none. Texts of messages that look like special tokens stay plain text.
    ///
    /// # Errors
    /// The template refuses the conversation, an option is invalid, or the generation fails.
    pub fn chat(&self, messages: &[Message], options: &Options) -> Result<Reply> {
        let (template, ids, options) = self.asked(messages, options)?;
        self.generate_ids(&ids, &with_stops(&template, &options))
    }

    /// Starts an answer and returns its pieces as a stream. The stream computes only when the next piece is requested.
    ///
    /// # Errors
    /// Like [`Model::chat`], except for failures of the generation.
    pub fn chat_stream(&self, messages: &[Message], options: &Options) -> Result<Stream> {
        let (template, ids, options) = self.asked(messages, options)?;
        self.answer_ids(&template, &ids, &options)
    }

    /// The request for an answer to a conversation, for batches.
    ///
    /// # Errors
    /// The template refuses the conversation, or can't be compiled.
    pub fn chat_request(&self, messages: &[Message], options: &Options) -> Result<Request> {
        let (template, ids, options) = self.asked(messages, options)?;
        Ok(Request::new(ids, with_stops(&template, &options)))
    }

    /// The prompt of the messages, and the options with the remaining time.
    fn asked(&self, messages: &[Message], options: &Options) -> Result<(ChatTemplate, Vec<u32>, Options)> {
        let start = Instant::now();
        let template = self.chat_template()?;
        let ids = self.chat_ids(&template, &Conversation::new(messages.to_vec()), options)?;
        Ok((template, ids, with_time_left(options, start)))
    }

    /// The chat template of the model, or the plain form if it has none ([`ChatTemplate::is_plain`]).
    ///
    /// # Errors
    /// The template can't be compiled.
    pub fn chat_template(&self) -> Result<ChatTemplate> {
        if let Some(template) = self.template().get() {
            return Ok(template.clone());
        }
        let template = ChatTemplate::from_metadata(self.file().metadata())?.unwrap_or_default();
        Ok(self.template().get_or_init(|| template).clone())
    }

    /// Whether the file contains a chat template.
    pub fn has_chat_template(&self) -> bool {
        self.file().metadata().get("tokenizer.chat_template").is_some()
    }

    /// Renders and encodes the prompt of a conversation, which may have tools and documents.
    ///
    /// # Errors
    /// The template refuses the conversation, or is ended by [`Options::template_limits`], [`Options::cancel`] or
    /// [`Options::deadline`].
    pub fn chat_ids(
        &self,
        template: &ChatTemplate,
        conversation: &Conversation,
        options: &Options,
    ) -> Result<Vec<u32>> {
        self.chat_ids_within(template, conversation, options, &template_limits(options))
    }

    pub(crate) fn chat_ids_within(
        &self,
        template: &ChatTemplate,
        conversation: &Conversation,
        options: &Options,
        limits: &TemplateLimits,
    ) -> Result<Vec<u32>> {
        let variables = options.template_vars.iter().cloned();
        let conversation =
            variables.fold(conversation.clone(), |conversation, (name, value)| conversation.variable(name, value));
        let rendered = template.render_within(&conversation, self.tokenizer(), limits)?;
        let encode = Encode::new().bos(options.bos).eos(false).max_bytes(self.config().prompt_bytes());
        Ok(self.tokenizer().encode_rendered(&rendered, &encode)?)
    }

    /// Starts an answer to a prompt from [`Model::chat_ids`].
    ///
    /// # Errors
    /// An option is invalid.
    pub fn answer_ids(&self, template: &ChatTemplate, ids: &[u32], options: &Options) -> Result<Stream> {
        self.stream_ids(ids, &with_stops(template, options))
    }
}

/// The options with the stop texts of a template.
pub(crate) fn with_stops(template: &ChatTemplate, options: &Options) -> Options {
    template.stops().iter().fold(options.clone(), |options, text| options.stop(*text))
}

/// The limits of a template with these options, if it starts now.
pub(crate) fn template_limits(options: &Options) -> TemplateLimits {
    let mut limits = options.template_limits.clone();
    if let Some(cancel) = &options.cancel {
        limits.cancel = Some(cancel.switch());
    }
    let deadline = options.deadline.and_then(|time| Instant::now().checked_add(time));
    limits.deadline = limits.deadline.into_iter().chain(deadline).min();
    limits
}

/// The options with the time that remains since `start`.
pub(crate) fn with_time_left(options: &Options, start: Instant) -> Options {
    let mut left = options.clone();
    left.deadline = options.deadline.map(|time| time.saturating_sub(start.elapsed()));
    left
}

/// Whether a prompt is too long for the context. The limit of a template does not count.
pub(crate) fn is_too_long(error: &Error) -> bool {
    matches!(error, Error::Text(inkstone_text::Error::TextTooLong { .. }))
}
