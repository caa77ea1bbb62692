//! The prompt of `run`, `complete` and `chat`: an argument or a file, followed by text from a pipe.

use crate::Error;
use crate::args::PromptSource;
use crate::input::{self, Input};
use inkstone::Model;
use std::path::Path;

/// The most bytes that a prompt or a message for this model may have.
pub(super) fn most_bytes(model: &Model) -> u64 {
    model.config().prompt_bytes()
}

/// The reason for the limit of [`most_bytes`], for errors.
pub(super) const RULE: &str = "64 for each token of the context";

/// A prompt whose sources are open. Its text is read when the model, and therefore the longest prompt, is known.
pub(super) struct Prompt {
    first: Part,
    /// A pipe or file on standard input, whose text follows the given prompt.
    piped: Option<Input>,
}

enum Part {
    Text(String),
    Input(Input),
}

impl Prompt {
    pub(super) fn open(source: &PromptSource) -> Result<Prompt, Error> {
        let first = match source {
            PromptSource::Argument(text) => Part::Text(input::argument("the prompt", text)?.to_string()),
            PromptSource::File(path) if path == Path::new("-") => Part::Input(Input::stdin()),
            PromptSource::File(path) => Part::Input(Input::open(path)?),
            PromptSource::Stdin => Part::Input(Input::stdin()),
        };
        let is_stdin = matches!(&first, Part::Input(input) if input.is_stdin());
        Ok(Prompt { first, piped: if is_stdin { None } else { Input::piped() } })
    }

    /// Reads the text. The text from the pipe follows the given prompt after an empty line.
    pub(super) fn read(self, model: &Model) -> Result<String, Error> {
        let limit = most_bytes(model);
        let mut text = match self.first {
            Part::Text(text) => text,
            Part::Input(input) => without_line_end(input.read(limit, RULE)?),
        };
        if let Some(input) = self.piped {
            let piped = without_line_end(input.read(limit, RULE)?);
            if !piped.is_empty() {
                text.push_str("\n\n");
                text.push_str(&piped);
            }
        }
        Ok(text)
    }
}

/// Removes the line end that editors and `echo` add to a text.
fn without_line_end(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_end_is_left_out() {
        for (text, wanted) in [("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n"), ("a", "a"), ("", ""), ("a\r", "a\r")] {
            assert_eq!(without_line_end(text.to_string()), wanted, "{text:?}");
        }
    }
}
