//! Conversations as files: a JSON list of messages.

use crate::Error;
use crate::input::Input;
use inkstone::Message;
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// The largest size of a file in bytes. No model has the context for a longer conversation.
const LARGEST: u64 = 16 << 20;

/// Writes messages to a file, and replaces an existing one.
pub(super) fn save(file: &str, messages: &[Message]) -> Result<(), Error> {
    let list: Vec<Value> = messages.iter().map(Message::to_json).collect();
    let wrong = |source| Error::Write { file: file.to_string(), source };
    let mut json = serde_json::to_vec_pretty(&list).map_err(|e| wrong(e.into()))?;
    json.push(b'\n');
    // The old file is kept until the new one is complete.
    let temporary = format!("{file}.part");
    let written = File::create(&temporary)
        .and_then(|mut f| f.write_all(&json))
        .and_then(|()| std::fs::rename(Path::new(&temporary), Path::new(file)));
    written.map_err(|source| {
        let _ = std::fs::remove_file(&temporary);
        wrong(source)
    })
}

/// Reads the messages of a file.
pub(super) fn load(file: &str) -> Result<Vec<Message>, Error> {
    let text = Input::open(Path::new(file))?.read(LARGEST, "of a saved conversation")?;
    let wrong = |message| Error::Saved { file: file.to_string(), message };
    let list: Vec<Value> = serde_json::from_str(&text).map_err(|e| wrong(format!("no JSON list of messages: {e}")))?;
    let message = |(place, value)| Message::from_json(value).map_err(|e| wrong(format!("message {}: {e}", place + 1)));
    list.into_iter().enumerate().map(message).collect()
}
