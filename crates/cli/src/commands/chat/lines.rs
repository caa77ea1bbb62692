//! The lines of a conversation: edited on a terminal, read from a pipe.

use crate::Error;
use crate::commands::prompt::RULE;
use crate::input;
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{Config, Editor};
use std::io::{self, BufRead, IsTerminal};

/// What stands before a line on a terminal.
const PROMPT: &str = "> ";

/// What is said, line by line.
pub(super) enum Lines {
    /// With the lines before at the arrow keys, for as long as the program runs.
    Terminal(Box<Editor<(), MemHistory>>),
    /// No line is longer than this.
    Pipe(u64),
}

impl Lines {
    /// Of standard input.
    pub(super) fn new(limit: u64) -> Result<Lines, Error> {
        if io::stdin().is_terminal() && io::stderr().is_terminal() {
            let config = Config::builder().auto_add_history(true).build();
            let editor = Editor::with_history(config.clone(), MemHistory::with_config(&config))?;
            Ok(Lines::Terminal(Box::new(editor)))
        } else {
            Ok(Lines::Pipe(limit))
        }
    }

    /// Whether a person types.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Lines::Terminal(_))
    }

    /// The next line, without its end; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<String>, Error> {
        match self {
            Lines::Terminal(editor) => match editor.readline(PROMPT) {
                Ok(line) => Ok(Some(line)),
                Err(ReadlineError::Eof) => Ok(None),
                Err(ReadlineError::Interrupted) => Err(Error::Interrupted),
                Err(e) => Err(e.into()),
            },
            Lines::Pipe(limit) => read(io::stdin().lock(), *limit),
        }
    }
}

fn read(reader: impl BufRead, limit: u64) -> Result<Option<String>, Error> {
    let name = || "standard input".to_string();
    let mut bytes = Vec::new();
    // One byte more than the limit, and the line end.
    let read = reader.take(limit.saturating_add(2)).read_until(b'\n', &mut bytes);
    read.map_err(|source| Error::Read { name: name(), source })?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if bytes.ends_with(b"\n") {
        bytes.pop();
        if bytes.ends_with(b"\r") {
            bytes.pop();
        }
    }
    if bytes.len() as u64 > limit {
        return Err(Error::TextTooLong { name: name(), limit, rule: RULE });
    }
    input::text("standard input", &bytes).map(|text| Some(text.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_pipe_are_bounded_and_utf_8() {
        let all = |bytes: &[u8]| {
            let mut reader = bytes;
            let mut lines = Vec::new();
            while let Some(line) = read(&mut reader, 4)? {
                lines.push(line);
            }
            Ok::<_, Error>(lines)
        };
        assert_eq!(all(b"ab\r\n\nabcd\nlast").unwrap(), ["ab", "", "abcd", "last"]);
        assert!(all(b"abcde\n").unwrap_err().to_string().starts_with("standard input: more than 4 bytes"));
        assert!(all(b"abc\xFF\n").unwrap_err().to_string().contains("not UTF-8 at byte 3"));
    }
}
