//! The input of a template: messages, tools and documents.

use crate::Error;
use inkstone_template::Template;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};
use std::time::SystemTime;

/// The largest nesting depth of lists and objects.
pub const MAX_DEPTH: usize = 64;

/// The longest name of a role or of a variable, in bytes.
const MAX_NAME: usize = 64;

/// Names that variables of a conversation can't have: the inputs of a template, the special tokens, and names of the
/// language, in addition to the functions of the interpreter.
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

/// All reserved names.
fn reserved() -> impl Iterator<Item = &'static str> {
    RESERVED.iter().copied().chain(Template::globals())
}

/// A message of a conversation: a role, a content, and further fields that a template may use (`tool_calls`, `name`,
/// ...).
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    fields: Map<String, Value>,
}

impl Message {
    /// A message of the user.
    pub fn user(content: impl Into<String>) -> Message {
        Message::of("user", content.into())
    }

    /// A system message: instructions for the model.
    pub fn system(content: impl Into<String>) -> Message {
        Message::of("system", content.into())
    }

    /// A message of the model.
    pub fn assistant(content: impl Into<String>) -> Message {
        Message::of("assistant", content.into())
    }

    fn of(role: &str, content: String) -> Message {
        let fields = [("role", role.to_string()), ("content", content)];
        Message { fields: fields.map(|(key, value)| (key.to_string(), Value::String(value))).into_iter().collect() }
    }

    /// A message from JSON, in the format of chat APIs. The content may have any form that the template accepts: a
    /// text, a list of parts, or none.
    ///
    /// # Errors
    /// The value is not an object, or its role is not a name. Templates write roles as part of the prompt, so a role
    /// may contain only letters, digits, `_`, `-` and `.`.
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

    /// The message as JSON.
    pub fn to_json(&self) -> Value {
        Value::Object(self.fields.clone())
    }

    /// Its role.
    pub fn role(&self) -> &str {
        self.fields.get("role").and_then(Value::as_str).unwrap_or_default()
    }

    /// Its content, if the content is a text.
    pub fn text(&self) -> Option<&str> {
        self.fields.get("content")?.as_str()
    }

    /// All fields.
    pub(crate) fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }
}

/// As [`Message::to_json`].
impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fields.serialize(serializer)
    }
}

/// As [`Message::from_json`]: an object with a role, and with any other fields for the template.
impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Message, D::Error> {
        Message::from_json(Value::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// The messages and variables from which a template makes a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Conversation {
    /// The messages, from the first to the last.
    pub messages: Vec<Message>,
    /// Functions that the model may call, described in JSON Schema.
    pub tools: Vec<Value>,
    /// Documents that the answer should be based on, in the form that the template expects.
    pub documents: Vec<Value>,
    /// Further variables of the template, such as `enable_thinking`.
    pub variables: Map<String, Value>,
    /// Whether the prompt ends with the beginning of an answer (`add_generation_prompt`).
    pub answer: bool,
    /// The time that `strftime_now` formats, in UTC. `None` stands for the time of the call.
    pub now: Option<SystemTime>,
}

impl Conversation {
    /// A conversation that ends with the beginning of an answer.
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

    /// Checks that no variable has a reserved name, and that all values are shallow enough for recursive functions.
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

/// The nesting depth of lists and objects. Counting stops above the limit.
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
