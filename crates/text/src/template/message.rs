//! What a template gets: messages, tools, documents.

use crate::Error;
use inkstone_template::Template;
use serde_json::{Map, Value};
use std::time::SystemTime;

/// Lists and objects inside each other.
pub const MAX_DEPTH: usize = 64;

/// The longest name of a role or of a variable, in bytes.
const MAX_NAME: usize = 64;

/// What templates find under names of their own, beside the functions of the interpreter: what a request has, the vocabulary,
/// the language. No variable takes the place of one.
const RESERVED: &[&str] = &[
    "messages",
    "tools",
    "documents",
    "add_generation_prompt",
    "bos_token",
    "eos_token",
    "unk_token",
    "pad_token",
    "chat_template",
    "conversation",
    "tokenize",
    "loop",
    "self",
    "super",
    "caller",
    "varargs",
    "kwargs",
    "true",
    "false",
    "none",
    "and",
    "or",
    "not",
    "in",
    "is",
    "if",
    "else",
    "for",
    "recursive",
];

/// All names that no variable can have.
fn reserved() -> impl Iterator<Item = &'static str> {
    RESERVED.iter().copied().chain(Template::globals())
}

/// A message of a conversation: a role, a content, and what else a template knows (`tool_calls`, `name`, ...).
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    fields: Map<String, Value>,
}

impl Message {
    /// What a user says.
    pub fn user(content: impl Into<String>) -> Message {
        Message::of("user", content.into())
    }

    /// What the model shall keep to.
    pub fn system(content: impl Into<String>) -> Message {
        Message::of("system", content.into())
    }

    /// What the model said.
    pub fn assistant(content: impl Into<String>) -> Message {
        Message::of("assistant", content.into())
    }

    fn of(role: &str, content: String) -> Message {
        let fields = [("role", role.to_string()), ("content", content)];
        Message { fields: fields.map(|(key, value)| (key.to_string(), Value::String(value))).into_iter().collect() }
    }

    /// A message from JSON, as the APIs of chat servers have it. The content may be what the template takes: a text, a
    /// list of parts, nothing.
    ///
    /// # Errors
    /// Something that is no object, or whose role is no name: roles are what templates write around texts, so they have
    /// letters, digits, `_`, `-` and `.` only.
    pub fn from_json(value: Value) -> Result<Message, Error> {
        let wrong = |value: &Value, what| {
            let shown: String = value.to_string().chars().take(40).collect();
            Error::Message { what, value: shown }
        };
        let fields = match value {
            Value::Object(fields) => fields,
            other if depth(&other) > MAX_DEPTH => return Err(Error::TooDeep { max: MAX_DEPTH }),
            other => return Err(wrong(&other, "a message")),
        };
        let is_name = |role: &str| {
            (1..=MAX_NAME).contains(&role.len())
                && role.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
        };
        match fields.get("role") {
            Some(Value::String(role)) if is_name(role) => Ok(Message { fields }),
            Some(role) if depth(role) > MAX_DEPTH => Err(Error::TooDeep { max: MAX_DEPTH }),
            role => Err(wrong(role.unwrap_or(&Value::Null), "the role of a message")),
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        Value::Object(self.fields.clone())
    }

    /// Its role.
    pub fn role(&self) -> &str {
        self.fields.get("role").and_then(Value::as_str).unwrap_or_default()
    }

    /// Its content, if that is a text.
    pub fn text(&self) -> Option<&str> {
        self.fields.get("content")?.as_str()
    }

    /// All of it.
    pub(crate) fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }
}

/// What a prompt is made of.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Conversation {
    /// From the first to the last.
    pub messages: Vec<Message>,
    /// Descriptions of functions that the model may call, as JSON Schema.
    pub tools: Vec<Value>,
    /// Texts to answer from, in the form that the template wants.
    pub documents: Vec<Value>,
    /// Further variables of the template, such as `enable_thinking`.
    pub variables: Map<String, Value>,
    /// The prompt ends where the answer begins (`add_generation_prompt`).
    pub answer: bool,
    /// What `strftime_now` tells, in UTC; `None`: the time of the call.
    pub now: Option<SystemTime>,
}

impl Conversation {
    /// Messages to be answered.
    pub fn new(messages: Vec<Message>) -> Conversation {
        Conversation { messages, answer: true, ..Conversation::default() }
    }

    /// Sets [`Conversation::tools`].
    #[must_use]
    pub fn tools(self, tools: Vec<Value>) -> Conversation {
        Conversation { tools, ..self }
    }

    /// Sets [`Conversation::documents`].
    #[must_use]
    pub fn documents(self, documents: Vec<Value>) -> Conversation {
        Conversation { documents, ..self }
    }

    /// Adds to [`Conversation::variables`].
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<Value>) -> Conversation {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Sets [`Conversation::answer`].
    #[must_use]
    pub fn answer(self, answer: bool) -> Conversation {
        Conversation { answer, ..self }
    }

    /// Sets [`Conversation::now`].
    #[must_use]
    pub fn now(self, now: SystemTime) -> Conversation {
        Conversation { now: Some(now), ..self }
    }

    /// That variables have names of their own, and that nothing is too deep for the recursion of those who read it.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let starts = |name: &str| name.starts_with(|c: char| c.is_ascii_alphabetic());
        let is_name = |name: &str| {
            (1..=MAX_NAME).contains(&name.len())
                && starts(name)
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                && !reserved().any(|known| known.eq_ignore_ascii_case(name))
        };
        if let Some(name) = self.variables.keys().find(|name| !is_name(name)) {
            let name = name.chars().take(MAX_NAME).collect();
            return Err(Error::TemplateVariable { name, reserved: reserved().collect::<Vec<_>>().join(", ") });
        }
        let fields = self.messages.iter().flat_map(|m| m.fields().values());
        let deepest = fields.chain(&self.tools).chain(&self.documents).chain(self.variables.values()).map(depth).max();
        if deepest.is_some_and(|depth| depth > MAX_DEPTH) { Err(Error::TooDeep { max: MAX_DEPTH }) } else { Ok(()) }
    }
}

/// Levels of lists and objects; stops counting above the limit.
pub(super) fn depth(value: &Value) -> usize {
    let mut level = vec![value];
    for depth in 0..=MAX_DEPTH {
        let inner = level.iter().flat_map(|value| match value {
            Value::Array(list) => list.iter().collect::<Vec<_>>(),
            Value::Object(fields) => fields.values().collect(),
            _ => Vec::new(),
        });
        let next: Vec<_> = inner.collect();
        if next.is_empty() {
            return depth;
        }
        level = next;
    }
    MAX_DEPTH + 1
}
