//! The arguments of tool calls. Templates expect either an object or its JSON text, and the APIs of chat servers use
//! both. The form that a template expects is found once, by rendering a small conversation with both.

use super::{Conversation, Message, TemplateLimits, values};
use crate::Tokenizer;
use inkstone_template::Template;
use serde_json::{Value, json};

/// The form of arguments that a template expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arguments {
    Object,
    Text,
    Either,
}

/// Whether a message of the conversation has tool calls.
pub(super) fn has_calls(conversation: &Conversation) -> bool {
    conversation.messages.iter().any(|message| message.fields().contains_key("tool_calls"))
}

/// A name that no template contains.
const NAME: &str = "qxqname";
const VALUE: &str = "qxqvalue";

/// The prompt of a small conversation with a tool call that has these arguments.
fn answer(template: &Template, tokenizer: &Tokenizer, arguments: &Value, content: &Value) -> Option<String> {
    let call =
        json!({"id": "qxqcall01", "type": "function", "function": {"name": "qxqfunction", "arguments": arguments}});
    let parameters = json!({"type": "object", "properties": {NAME: {"type": "string", "description": "d"}}});
    let tool =
        json!({"type": "function", "function": {"name": "qxqfunction", "description": "d", "parameters": parameters}});
    let messages = [
        json!({"role": "user", "content": "q"}),
        json!({"role": "assistant", "content": content, "tool_calls": [call]}),
        json!({"role": "tool", "name": "qxqfunction", "tool_call_id": "qxqcall01", "content": "r"}),
    ];
    let messages = messages.into_iter().map(Message::from_json).collect::<Result<_, _>>().ok()?;
    let conversation = Conversation::new(messages).tools(vec![tool]);
    let output =
        values::render(template, &conversation, tokenizer, Arguments::Either, &TemplateLimits::default()).ok()?;
    Some(output.text)
}

/// The form of arguments that a template expects. If it encodes a text a second time, omits it or fails to iterate over
/// it, it expects an object; if it can't use an object, it expects a text.
pub(super) fn wanted(template: &Template, tokenizer: &Tokenizer) -> Arguments {
    let object = json!({NAME: VALUE});
    let text = Value::String(object.to_string());
    for content in [json!(""), Value::Null, json!("c")] {
        let of_object = answer(template, tokenizer, &object, &content);
        let of_text = answer(template, tokenizer, &text, &content);
        let encoded = format!("\\\"{NAME}\\\"");
        return match (of_object, of_text) {
            (None, None) => continue,
            (Some(_), None) => Arguments::Object,
            (None, Some(_)) => Arguments::Text,
            (Some(of_object), Some(of_text)) => {
                // A template may omit an argument that it can't use.
                let loses = |text: &str| !text.contains(VALUE);
                match () {
                    () if of_text.contains(&encoded) => Arguments::Object,
                    () if loses(&of_text) && !loses(&of_object) => Arguments::Object,
                    () if loses(&of_object) && !loses(&of_text) => Arguments::Text,
                    () => Arguments::Either,
                }
            }
        };
    }
    Arguments::Either
}

impl Arguments {
    /// The calls with their arguments converted to this form, or `None` if all arguments already have it.
    pub(super) fn changed(self, calls: &Value) -> Option<Value> {
        if self == Arguments::Either {
            return None;
        }
        let mut changed = None;
        for (i, call) in calls.as_array()?.iter().enumerate() {
            // Some clients omit the object `function`.
            let path = if call.get("function").is_some() { "/function/arguments" } else { "/arguments" };
            let Some(arguments) = call.pointer(path).and_then(|arguments| self.converted(arguments)) else { continue };
            let all = changed.get_or_insert_with(|| calls.clone());
            if let Some(place) = all.get_mut(i).and_then(|call| call.pointer_mut(path)) {
                *place = arguments;
            }
        }
        changed
    }

    fn converted(self, arguments: &Value) -> Option<Value> {
        match (self, arguments) {
            // A text that does not encode an object stays a text.
            (Arguments::Object, Value::String(text)) => serde_json::from_str(text)
                .ok()
                .filter(|value: &Value| value.is_object() && super::message::depth(value) <= super::MAX_DEPTH),
            (Arguments::Text, Value::Object(_)) => Some(Value::String(python_json(arguments))),
            _ => None,
        }
    }
}

/// JSON with a space after commas and colons, as in the training data of models.
fn python_json(value: &Value) -> String {
    use serde_json::ser::{Formatter, Serializer};
    struct Spaced;
    impl Formatter for Spaced {
        fn begin_array_value<W: ?Sized + std::io::Write>(&mut self, w: &mut W, first: bool) -> std::io::Result<()> {
            if first { Ok(()) } else { w.write_all(b", ") }
        }
        fn begin_object_key<W: ?Sized + std::io::Write>(&mut self, w: &mut W, first: bool) -> std::io::Result<()> {
            if first { Ok(()) } else { w.write_all(b", ") }
        }
        fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, w: &mut W) -> std::io::Result<()> {
            w.write_all(b": ")
        }
    }
    let mut out = Vec::new();
    let written = serde::Serialize::serialize(value, &mut Serializer::with_formatter(&mut out, Spaced));
    match written {
        Ok(()) => String::from_utf8(out).unwrap_or_default(),
        Err(_) => value.to_string(),
    }
}
