//! `template --lines`: one request and one result per line, in JSON.

use super::{Chat, LARGEST, moment, shown};
use crate::args::TemplateArgs;
use crate::error::limit_option;
use crate::{Error, output};
use inkstone::text::Error as Text;
use inkstone::{ChatTemplate, Conversation, Message};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::io::{BufRead, Read, Write};

/// A line of the input. Missing fields have the defaults of a chat.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    template: Option<String>,
    #[serde(default)]
    messages: Vec<Value>,
    tools: Option<Vec<Value>>,
    documents: Option<Vec<Value>>,
    #[serde(default)]
    variables: Map<String, Value>,
    add_generation_prompt: Option<bool>,
    now: Option<i64>,
}

pub(super) fn answer(chat: &Chat, args: &TemplateArgs) -> Result<(), Error> {
    let mut input = std::io::stdin().lock();
    let mut out = output::stdout();
    // The last template of the requests stays compiled.
    let mut last: Option<(String, ChatTemplate)> = None;
    for line in 1.. {
        let wrong = |message: String| Error::Request { line, message };
        let mut bytes = Vec::new();
        let read = input.by_ref().take(LARGEST + 1).read_until(b'\n', &mut bytes);
        read.map_err(|source| Error::Read { name: "standard input".to_string(), source })?;
        if bytes.is_empty() {
            break;
        }
        if bytes.len() as u64 > LARGEST {
            return Err(wrong(format!("more than {LARGEST} bytes")));
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let request: Request = serde_json::from_slice(&bytes).map_err(|e| wrong(format!("no request: {e}")))?;
        let answer = match one(chat, request, &mut last, args) {
            Ok(answer) => answer,
            Err(Error::Template { source, .. }) => failed(&source),
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => json!({"failed": error.to_string()}),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn one(
    chat: &Chat,
    request: Request,
    last: &mut Option<(String, ChatTemplate)>,
    args: &TemplateArgs,
) -> Result<Value, Error> {
    let template = match request.template {
        None => &chat.template,
        Some(source) => {
            if last.as_ref().is_none_or(|(known, _)| *known != source) {
                let made = ChatTemplate::new(&source).map_err(Error::of_template)?;
                *last = Some((source, made));
            }
            last.as_ref().map_or(&chat.template, |(_, template)| template)
        }
    };
    let messages = request.messages.into_iter().map(Message::from_json).collect::<Result<_, _>>();
    let mut conversation = Conversation::new(messages.map_err(|e: Text| Error::Usage(e.to_string()))?)
        .answer(request.add_generation_prompt.unwrap_or(true));
    conversation.tools = request.tools.unwrap_or_default();
    conversation.documents = request.documents.unwrap_or_default();
    conversation.variables = request.variables;
    conversation.now = request.now.and_then(moment);
    let rendered = chat.render(template, &conversation).map_err(Error::of_template)?;
    let mut answer = json!({"text": rendered.text()});
    if args.ids {
        answer["ids"] = chat.ids(&rendered)?.into();
    }
    if args.runs {
        answer["runs"] = shown::runs(&rendered);
    }
    Ok(answer)
}

/// The result of a failed template.
fn failed(error: &Text) -> Value {
    let Some(template) = error.template() else { return json!({"failed": error.to_string()}) };
    if template.kind() == inkstone::text::TemplateErrorKind::Refused {
        return json!({"refused": template.message()});
    }
    let mut answer = json!({"failed": template.message(), "line": template.line(), "column": template.column()});
    if let Some(option) = limit_option(error) {
        answer["limit"] = option.into();
    }
    answer
}
