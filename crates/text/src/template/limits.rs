//! Limits on the rendering of a template.

use super::{Conversation, Message};
use inkstone_template::Limits;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Limits on the rendering of a template. A limit that is not set grows with the conversation, so that ordinary
/// templates do not reach it.
/// The serialised form has the numbers that are set; `cancel` and `deadline` are not part of it.
///
/// ```
/// let limits = inkstone_text::TemplateLimits::default().steps(1_000_000);
/// assert_eq!(limits.steps, Some(1_000_000));
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TemplateLimits {
    /// Steps: instructions and the values that they visit ([`inkstone_template::Limits::steps`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Bytes of the values that are alive at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Bytes of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// A flag that ends the rendering when it is set.
    #[serde(skip)]
    pub cancel: Option<Arc<AtomicBool>>,
    /// The time at which the rendering ends.
    #[serde(skip)]
    pub deadline: Option<Instant>,
}

impl TemplateLimits {
    /// Sets [`TemplateLimits::steps`](#structfield.steps).
    #[must_use]
    pub fn steps(self, steps: u64) -> TemplateLimits {
        TemplateLimits { steps: Some(steps), ..self }
    }

    /// Sets [`TemplateLimits::memory`](#structfield.memory).
    #[must_use]
    pub fn memory(self, bytes: u64) -> TemplateLimits {
        TemplateLimits { memory: Some(bytes), ..self }
    }

    /// Sets [`TemplateLimits::output`](#structfield.output).
    #[must_use]
    pub fn output(self, bytes: u64) -> TemplateLimits {
        TemplateLimits { output: Some(bytes), ..self }
    }

    /// The limits of the interpreter for this conversation.
    pub(super) fn of(&self, conversation: &Conversation) -> Limits {
        let (values, bytes) = size(conversation);
        let entries = conversation.messages.len() + conversation.tools.len() + conversation.documents.len();
        let grown = Limits::for_conversation(entries, values, bytes);
        let memory = |limit: Option<u64>, grown| limit.map_or(grown, |n| usize::try_from(n).unwrap_or(usize::MAX));
        Limits {
            steps: self.steps.unwrap_or(grown.steps),
            memory: memory(self.memory, grown.memory),
            output: memory(self.output, grown.output),
            cancel: self.cancel.clone(),
            deadline: self.deadline,
        }
    }
}

/// The number of values in a conversation and the bytes of its texts.
fn size(conversation: &Conversation) -> (usize, usize) {
    let mut size = (conversation.messages.len(), 0);
    for (key, value) in conversation.messages.iter().flat_map(Message::fields) {
        size.0 += 1;
        size.1 += key.len();
        add(value, &mut size);
    }
    let others = conversation.tools.iter().chain(&conversation.documents).chain(conversation.variables.values());
    others.for_each(|value| add(value, &mut size));
    size
}

/// Adds the size of a value. The recursion is bounded because `Conversation::check` has limited the depth.
fn add(value: &Value, size: &mut (usize, usize)) {
    size.0 += 1;
    match value {
        Value::String(text) => size.1 += text.len(),
        Value::Array(list) => list.iter().for_each(|value| add(value, size)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            size.0 += 1;
            size.1 += key.len();
            add(value, size);
        }),
        _ => {}
    }
}
