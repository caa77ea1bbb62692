//! The form of a request.

use inkstone::{Message, Model, Options, Request};
use serde::Deserialize;
use serde_json::{Map, Value};

/// A line of the input. All other fields are options.
#[derive(Deserialize)]
struct Form {
    id: Option<Value>,
    prompt: Option<String>,
    ids: Option<Vec<u32>>,
    messages: Option<Vec<Message>>,
    #[serde(flatten)]
    options: Map<String, Value>,
}

/// The name of a line whose other fields are wrong, for its result.
#[derive(Deserialize)]
struct Named {
    id: Option<Value>,
}

/// Reads a request. `options` are the options of the command line. Returns also the name that the line gives itself.
pub(super) fn parse(line: &[u8], model: &Model, options: &Options) -> (Option<Value>, Result<Request, String>) {
    match serde_json::from_slice::<Form>(line) {
        Ok(mut form) => (form.id.take(), form.request(model, options)),
        Err(error) => {
            let id = serde_json::from_slice::<Named>(line).ok().and_then(|named| named.id);
            (id, Err(format!("no request: {error}")))
        }
    }
}

impl Form {
    fn request(self, model: &Model, options: &Options) -> Result<Request, String> {
        let own: Options =
            serde_json::from_value(Value::Object(self.options)).map_err(|e| format!("no request: {e}"))?;
        let options = own.over(options);
        match (self.prompt, self.ids, self.messages) {
            (Some(prompt), None, None) => Ok(Request::new(prompt, options)),
            (None, Some(ids), None) => Ok(Request::new(ids, options)),
            (None, None, Some(messages)) => model.chat_request(&messages, &options).map_err(|e| e.to_string()),
            (None, None, None) => Err("no request: it has none of the fields prompt, ids, messages".to_string()),
            _ => Err("no request: it has several of the fields prompt, ids, messages; allowed: one".to_string()),
        }
    }
}
