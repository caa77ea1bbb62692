//! The arguments of calls: templates want them as an object or as the text that encodes it, and the APIs of chat servers have
//! either. A template is asked once: it renders a small conversation with both.

use super::{Conversation, Message, TemplateLimits, values};
use crate::Tokenizer;
use inkstone_template::Template;
use serde_json::{Value, json};

/// How a template wants the arguments of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arguments {
    Object,
    Text,
    Either,
}

/// Whether a message of a conversation has calls.
pub(super) fn has_calls(conversation: &Conversation) -> bool {
    conversation.messages.iter().any(|message| message.fields().contains_key("tool_calls"))
}

/// A name that no template has of its own.
const NAME: &str = "qxqname";
const VALUE: &str = "qxqvalue";

/// What a template makes of a call whose arguments are of this form.
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

/// How a template wants arguments: a text that it encodes once more, passes over or can't go through should have been an
/// object, an object that it can't use a text.
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
                // A template may pass over a text that it can't use.
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
    /// Calls with their arguments in the form that is wanted; `None` if they have it.
    pub(super) fn changed(self, calls: &Value) -> Option<Value> {
        if self == Arguments::Either {
            return None;
        }
        let mut changed = None;
        for (i, call) in calls.as_array()?.iter().enumerate() {
            // Some clients leave the function out.
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
            // A text that encodes no object stays a text.
            (Arguments::Object, Value::String(text)) => serde_json::from_str(text)
                .ok()
                .filter(|value: &Value| value.is_object() && super::message::depth(value) <= super::MAX_DEPTH),
            (Arguments::Text, Value::Object(_)) => Some(Value::String(python_json(arguments))),
            _ => None,
        }
    }
}

/// JSON with a space behind commas and colons, as models have seen it.
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
