//! JSON in, JSON out: `json_lines [MODEL]`, a request per line of standard input, a reply per line of standard output. The feature
//! `serde` reads options and messages and writes replies; an unknown field is an error.
//!
//! ```json
//! {"prompt": "Once upon a time", "options": {"seed": 7, "max_tokens": 20}}
//! {"messages": [{"role": "user", "content": "Hello!"}], "options": {"temperature": 0.5}}
//! ```

use inkstone::{Error, ErrorKind, Message, Model, ModelOptions, Options, Reply};
use serde::Deserialize;
use serde_json::json;

/// A line: a prompt to continue, or messages to answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    prompt: Option<String>,
    #[serde(default)]
    messages: Vec<Message>,
    #[serde(default)]
    options: Options,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = match std::env::args().nth(1) {
        Some(path) => Model::open(path)?,
        None => Model::embedded(&ModelOptions::default())?,
    };
    for line in std::io::stdin().lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(request) => match reply(&model, &request) {
                Ok(reply) => serde_json::to_value(reply)?,
                Err(error) => json!({ "error": error.to_string(), "status": status(error.kind()) }),
            },
            Err(error) => json!({ "error": error.to_string(), "status": 400 }),
        };
        println!("{answer}");
    }
    Ok(())
}

fn reply(model: &Model, request: &Request) -> Result<Reply, Error> {
    match &request.prompt {
        Some(prompt) => model.generate(prompt, &request.options),
        None => model.chat(&request.messages, &request.options),
    }
}

/// The HTTP status of an error in a web service.
fn status(kind: ErrorKind) -> u16 {
    match kind {
        ErrorKind::InvalidRequest => 400,
        ErrorKind::NotFound => 404,
        ErrorKind::Cancelled => 499,
        ErrorKind::Unsupported => 501,
        ErrorKind::OutOfMemory | ErrorKind::Busy => 503,
        _ => 500,
    }
}
