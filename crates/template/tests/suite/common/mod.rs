//! Requests as data: a template, a conversation, what must come out.

pub mod greedy;

use inkstone_template::{Error, Given, Kind, Limits, Origin, Output, Renderer, Template};
use serde_json::{Map, Value};
use std::path::PathBuf;

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/templates")
}

pub fn read(file: &str) -> String {
    let path = folder().join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

pub fn rows(file: &str) -> Vec<Value> {
    read(file).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The clock of the golden data: 2026-08-01 00:00:00 UTC.
pub const NOW: i64 = 1_785_542_400;

/// JSON as values whose texts are input.
pub fn given(renderer: &Renderer, value: &Value) -> Result<Given, Error> {
    Ok(match value {
        Value::Null => Given::none(),
        Value::Bool(truth) => (*truth).into(),
        Value::Number(n) => match (n.as_i64(), n.as_u64()) {
            (Some(n), _) => n.into(),
            (None, Some(n)) => n.into(),
            (None, None) => n.as_f64().unwrap().into(),
        },
        Value::String(text) => renderer.text(text, Origin::Input)?,
        Value::Array(values) => {
            renderer.list(values.iter().map(|value| given(renderer, value)).collect::<Result<_, _>>()?)?
        }
        Value::Object(fields) => dict(renderer, fields)?,
    })
}

fn dict(renderer: &Renderer, fields: &Map<String, Value>) -> Result<Given, Error> {
    let mut pairs = Vec::new();
    for (key, value) in fields {
        pairs.push((renderer.text(key, Origin::Input)?, given(renderer, value)?));
    }
    renderer.dict(pairs.into_iter())
}

/// A message as transformers hands it to a template: without nulls, its reasoning under all names.
pub fn seen(message: &Value) -> Value {
    let Value::Object(fields) = message else { return message.clone() };
    let fields: Map<String, Value> =
        fields.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.clone(), value.clone())).collect();
    let reasoning = ["reasoning_content", "thinking", "reasoning"].iter().find_map(|name| fields.get(*name)).cloned();
    let Some(reasoning) = reasoning else { return Value::Object(fields) };
    let mut out = Map::new();
    out.insert("thinking".into(), fields.get("thinking").cloned().unwrap_or(reasoning.clone()));
    for (key, value) in fields {
        out.insert(key, value);
    }
    out.insert("reasoning_content".into(), reasoning);
    Value::Object(out)
}

pub struct Request<'a> {
    pub messages: &'a [Value],
    pub tools: Option<&'a Value>,
    pub documents: Option<&'a Value>,
    pub variables: Option<&'a Value>,
    pub answer: bool,
    pub now: i64,
    pub limits: Limits,
}

impl Default for Request<'_> {
    fn default() -> Self {
        let limits = Limits { steps: 1 << 40, ..Limits::default() };
        Request { messages: &[], tools: None, documents: None, variables: None, answer: true, now: NOW, limits }
    }
}

impl Request<'_> {
    pub fn render(&self, template: &Template) -> Result<Output, Error> {
        let mut renderer = template.renderer(&self.limits);
        renderer.now(self.now);
        let mut messages = Vec::new();
        for message in self.messages {
            messages.push(given(&renderer, &seen(message))?);
        }
        let messages = renderer.list(messages)?;
        renderer.set("messages", messages);
        for (name, value) in [("tools", self.tools), ("documents", self.documents)] {
            let value = value.filter(|list| list.as_array().is_none_or(|list| !list.is_empty()));
            let value = value.map_or(Ok(Given::none()), |value| given(&renderer, value))?;
            renderer.set(name, value);
        }
        renderer.set("add_generation_prompt", self.answer.into());
        for (name, token) in [("bos_token", "<s>"), ("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "")] {
            let token = renderer.text(token, Origin::Template)?;
            renderer.set(name, token);
        }
        for (name, value) in self.variables.and_then(Value::as_object).into_iter().flatten() {
            let value = given(&renderer, value)?;
            renderer.set(name, value);
        }
        renderer.render()
    }
}

/// What came out, as golden data name it.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    Text(String),
    Refused(String),
    Failed(String),
}

pub fn outcome(source: &str, request: &Request) -> Outcome {
    match Template::new(source).and_then(|template| request.render(&template)) {
        Ok(output) => Outcome::Text(output.text),
        Err(error) if error.kind() == Kind::Refused => Outcome::Refused(error.message().to_string()),
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

/// The outcome that a row of golden data wants; of a failure only that there is one.
pub fn matches(row: &Value, got: &Outcome) -> bool {
    match (row.get("text"), row.get("refused"), got) {
        (Some(text), _, Outcome::Text(got)) => text == got,
        (None, Some(message), Outcome::Refused(got)) => message == got,
        (None, None, Outcome::Failed(_)) => row.get("failed").is_some(),
        _ => false,
    }
}

/// How much a conversation is: its values and the bytes of its texts and keys.
pub fn size(value: &Value) -> (usize, usize) {
    let sum = |(values, bytes), (more, longer)| (values + more, bytes + longer);
    match value {
        Value::String(text) => (1, text.len()),
        Value::Array(list) => list.iter().map(size).fold((1, 0), sum),
        Value::Object(fields) => {
            let pair = |(key, value): (&String, &Value)| sum((1, key.len()), size(value));
            fields.iter().map(pair).fold((1, 0), sum)
        }
        _ => (1, 0),
    }
}

/// The limits of a conversation.
pub fn limits(messages: &[Value]) -> Limits {
    let (values, bytes) =
        messages.iter().map(|message| size(&seen(message))).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    Limits::for_conversation(messages.len(), values, bytes)
}

/// A conversation of so many messages that goes on as this one does.
pub fn longer(messages: &[Value], n: usize) -> Vec<Value> {
    let start = usize::from(messages[0]["role"] == "system");
    let turns = messages[start + 2]["role"] == "user";
    // Questions and answers go on in turns, an agent's calls without a question.
    let head = start + usize::from(!turns);
    let rest = &messages[head..messages.len() - (messages.len() - head) % 2];
    messages[..head].iter().chain(rest.iter().cycle()).take(n).cloned().collect()
}
