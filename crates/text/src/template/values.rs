//! Converts a conversation to values of a template.

use super::arguments::Arguments;
use super::{Conversation, Origin, TemplateLimits};
use crate::{Error, Tokenizer};
use inkstone_template::{Given, Output, Renderer, Template};
use serde_json::{Map, Value};
use std::time::UNIX_EPOCH;

/// The names under which templates look up the reasoning of a model. All of them are set to the same value.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// The number of keys and roles that are cached.
const KEPT: usize = 16;

pub(super) fn render(
    template: &Template,
    conversation: &Conversation,
    tokenizer: &Tokenizer,
    arguments: Arguments,
    limits: &TemplateLimits,
) -> Result<Output, Error> {
    let limits = limits.of(conversation);
    let mut renderer = template.renderer(&limits);
    if let Some(now) = conversation.now {
        // A time before 1970 is negative.
        let seconds = |since: std::time::Duration| i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        renderer.now(now.duration_since(UNIX_EPOCH).map_or_else(|before| -seconds(before.duration()), seconds));
    }
    let mut values = Values::new(&renderer);
    let mut messages = Vec::with_capacity(conversation.messages.len());
    for message in &conversation.messages {
        messages.push(values.message(message.fields(), message.role(), arguments)?);
    }
    let messages = renderer.list(messages)?;
    let mut variables = vec![("messages", messages), ("add_generation_prompt", conversation.answer.into())];
    for (name, list) in [("tools", &conversation.tools), ("documents", &conversation.documents)] {
        let value = if list.is_empty() { Given::none() } else { values.list(list)? };
        variables.push((name, value));
    }
    for (name, value) in &conversation.variables {
        variables.push((name, values.value(value)?));
    }
    let tokens = [
        ("bos_token", tokenizer.bos()),
        ("eos_token", tokenizer.eos()),
        ("unk_token", tokenizer.unknown()),
        ("pad_token", tokenizer.padding()),
    ];
    for (name, id) in tokens {
        let token = id.and_then(|id| tokenizer.token(id)).map_or("", |token| token.text);
        variables.push((name, renderer.text(token, Origin::Template)?));
    }
    for (name, value) in variables {
        renderer.set(name, value);
    }
    Ok(renderer.render()?)
}

/// Converts JSON, whose depth was checked, to values.
struct Values<'c, 'r, 't> {
    renderer: &'r Renderer<'t>,
    /// The cached keys and roles.
    known: Vec<(&'c str, Origin, Given)>,
}

impl<'c, 'r, 't> Values<'c, 'r, 't> {
    fn new(renderer: &'r Renderer<'t>) -> Values<'c, 'r, 't> {
        Values { renderer, known: Vec::new() }
    }

    fn value(&mut self, value: &'c Value) -> Result<Given, Error> {
        Ok(match value {
            Value::Null => Given::none(),
            Value::Bool(truth) => (*truth).into(),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => number.into(),
                (None, Some(number)) => number.into(),
                (None, None) => number.as_f64().unwrap_or(f64::NAN).into(),
            },
            Value::String(text) => self.renderer.text(text, Origin::Input)?,
            Value::Array(list) => self.list(list)?,
            Value::Object(fields) => self.dict(fields)?,
        })
    }

    fn list(&mut self, list: &'c [Value]) -> Result<Given, Error> {
        let mut values = Vec::with_capacity(list.len());
        for value in list {
            values.push(self.value(value)?);
        }
        Ok(self.renderer.list(values)?)
    }

    fn dict(&mut self, fields: &'c Map<String, Value>) -> Result<Given, Error> {
        let mut pairs = Vec::with_capacity(fields.len());
        for (key, value) in fields {
            pairs.push((self.key(key)?, self.value(value)?));
        }
        Ok(self.renderer.dict(pairs.into_iter())?)
    }

    /// The value of a text that may be repeated. The first few texts are cached: they are the most frequent, and a
    /// linear search is faster than a hash.
    fn known(&mut self, text: &'c str, origin: Origin) -> Result<Given, Error> {
        let is_it = |(known, known_origin, _): &&(&str, Origin, Given)| *known == text && *known_origin == origin;
        if let Some((.., known)) = self.known.iter().find(is_it) {
            return Ok(known.clone());
        }
        let made = self.renderer.text(text, origin)?;
        if self.known.len() < KEPT {
            self.known.push((text, origin, made.clone()));
        }
        Ok(made)
    }

    fn key(&mut self, key: &'c str) -> Result<Given, Error> {
        self.known(key, Origin::Input)
    }

    /// Converts a message as transformers does: without keys whose value is null, and with the reasoning of the model
    /// under all names. The role counts as written by the template, because it was checked to be a name.
    fn message(&mut self, fields: &'c Map<String, Value>, role: &'c str, arguments: Arguments) -> Result<Given, Error> {
        let thought = REASONING.iter().find_map(|name| fields.get(*name).filter(|value| !value.is_null()));
        let mut pairs = Vec::with_capacity(fields.len() + 2);
        if let Some(thought) = thought
            && fields.get("thinking").is_none_or(Value::is_null)
        {
            pairs.push((self.key("thinking")?, self.value(thought)?));
        }
        for (key, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            let value = match &**key {
                "role" => self.known(role, Origin::Template)?,
                "tool_calls" => match arguments.changed(value) {
                    Some(changed) => self.owned(&changed)?,
                    None => self.value(value)?,
                },
                // Set below from the first reasoning field.
                "reasoning_content" => continue,
                _ => self.value(value)?,
            };
            pairs.push((self.key(key)?, value));
        }
        if let Some(thought) = thought {
            pairs.push((self.key("reasoning_content")?, self.value(thought)?));
        }
        Ok(self.renderer.dict(pairs.into_iter())?)
    }

    /// Converts a value that the conversation does not own.
    fn owned(&self, value: &Value) -> Result<Given, Error> {
        Values::new(self.renderer).value(value)
    }
}
