//! Conversations in files: the file of a session, in which the bytes of the caller are the messages.
//!
//! The bytes are a JSON object: `version` is 1, `messages` is a list of messages in the format of chat APIs.

use super::Dialogue;
use crate::{Error, Model, Result};
use inkstone_generate::Options;
use inkstone_text::{ChatTemplate, Message};
use serde_json::{Value, json};
use std::path::Path;

const VERSION: u64 = 1;

impl Dialogue {
    /// Writes the conversation to a file: its messages, and the keys and values of its tokens as far as the cache has them.
    /// `options` are the options of its turns: the variables of the template are a part of the text. The file contains the
    /// messages in plain form. An existing file is replaced when the new one is complete; after an error it is as before.
    ///
    /// ```no_run
    /// # use inkstone::{Dialogue, Model, Options};
    /// let model = Model::open("model.gguf")?;
    /// let mut dialogue = Dialogue::new(&model, model.chat_template()?);
    /// let options = Options::default();
    /// let mut turn = dialogue.ask("Who wrote Faust?", &options)?;
    /// let answer: String = turn.stream.by_ref().map(|piece| Ok(piece?.text)).collect::<inkstone::Result<_>>()?;
    /// dialogue.answered(&answer);
    /// dialogue.save("faust.session", &options)?;
    ///
    /// // Later, perhaps in another process: only the new question is computed.
    /// let mut dialogue = Dialogue::restore(&model, model.chat_template()?, "faust.session")?;
    /// let turn = dialogue.ask("When?", &options)?;
    /// # Ok::<(), inkstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// The file can't be written, the messages are longer than [`MAX_EXTRA`](inkstone_generate::MAX_EXTRA), or the engine
    /// fails.
    pub fn save(&self, path: impl AsRef<Path>, options: &Options) -> Result<()> {
        let mut options = options.clone();
        // They end an answer; the conversation is saved afterwards.
        (options.cancel, options.deadline) = (None, None);
        // A template may refuse a conversation without a question. It has its messages, but no rows.
        let mut ids = self.ids(&options).unwrap_or_default();
        ids.truncate(self.model.config().context);
        // The rows of the last prompt and its answer are found by their tokens.
        let mut session = self.session.clone();
        session.reset();
        session.append_ids(&ids)?;
        Ok(session.save(path, &to_bytes(&self.messages))?)
    }

    /// Reads a conversation from a file that [`Dialogue::save`] wrote with the same model, cache formats and engine. It
    /// goes on with its messages, and the tokens in common with the next prompt are not computed again. If the template
    /// writes the messages in another way than when they were saved, more is computed.
    ///
    /// # Errors
    /// The file can't be read, is damaged, belongs to another model or engine, or is not the file of a conversation.
    pub fn restore(model: &Model, template: ChatTemplate, path: impl AsRef<Path>) -> Result<Dialogue> {
        let path = path.as_ref();
        let (session, bytes) = model.restore(path)?;
        let no_messages = |reason| Error::NoConversation { file: path.display().to_string(), reason };
        let messages = from_bytes(&bytes).map_err(no_messages)?;
        Ok(Dialogue { model: model.clone(), template, messages, session })
    }
}

fn to_bytes(messages: &[Message]) -> Vec<u8> {
    let messages: Vec<Value> = messages.iter().map(Message::to_json).collect();
    json!({ "version": VERSION, "messages": messages }).to_string().into_bytes()
}

/// The messages, or the reason why the bytes have none.
fn from_bytes(bytes: &[u8]) -> Result<Vec<Message>, String> {
    if bytes.is_empty() {
        return Err("its text is raw".to_owned());
    }
    let mut saved: Value = serde_json::from_slice(bytes).map_err(|e| format!("its bytes are not JSON: {e}"))?;
    let Some(version) = saved.get("version") else { return Err("its bytes have no version".to_owned()) };
    if *version != VERSION {
        let found: String = version.to_string().chars().take(20).collect();
        return Err(format!("its version is {found}, expected {VERSION}"));
    }
    let Some(Value::Array(messages)) = saved.get_mut("messages").map(Value::take) else {
        return Err("its bytes have no list of messages".to_owned());
    };
    let message = |(place, value)| Message::from_json(value).map_err(|e| format!("message {}: {e}", place + 1));
    messages.into_iter().enumerate().map(message).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let parts = json!({ "role": "tool", "content": [{ "type": "text", "text": "\u{1b}é\0" }], "name": "x" });
        let messages = [
            Message::system("Be kind."),
            Message::user(""),
            Message::from_json(parts).unwrap(),
            Message::assistant("\n"),
        ];
        assert_eq!(from_bytes(&to_bytes(&messages)).unwrap(), messages);
        assert_eq!(from_bytes(&to_bytes(&[])).unwrap(), []);
    }

    #[test]
    fn g5_bytes_of_no_conversation_are_refused() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let cases = [
            ("", "its text is raw"),
            ("\0", "its bytes are not JSON: expected value at line 1 column 1"),
            ("\"\\ud800\"", "its bytes are not JSON: "),
            (&deep, "its bytes are not JSON: recursion limit exceeded"),
            ("[]", "its bytes have no version"),
            ("{\"version\": 2, \"messages\": []}", "its version is 2, expected 1"),
            ("{\"version\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaa\"}", "its version is \"aaaaaaaaaaaaaaaaaaa, expected 1"),
            ("{\"version\": 1}", "its bytes have no list of messages"),
            ("{\"version\": 1, \"messages\": {}}", "its bytes have no list of messages"),
            ("{\"version\": 1, \"messages\": [{\"role\": \"user\"}, 5]}", "message 2: a message is 5, allowed: "),
            ("{\"version\": 1, \"messages\": [{\"role\": \"a b\"}]}", "message 1: the role of a message is "),
            ("{\"version\": 1, \"messages\": []} x", "its bytes are not JSON: trailing characters"),
        ];
        for (bytes, wanted) in cases {
            let reason = from_bytes(bytes.as_bytes()).unwrap_err();
            assert!(reason.starts_with(wanted) && !reason.contains('\n'), "{reason}");
        }
        assert!(from_bytes(b"{\"version\": 1, \"messages\": [\"\xff\"]}").is_err());
    }
}
