//! Texts from outside: standard input or a file, bounded, checked to be UTF-8.

use crate::error::Error;
use inkstone::text::check_utf8;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

/// Where a text is read from. It is opened before anything slow is done, and read when its limit is known.
pub(crate) struct Input {
    name: String,
    reader: Box<dyn Read>,
}

impl Input {
    /// Standard input.
    pub(crate) fn stdin() -> Input {
        if io::stdin().is_terminal() {
            crate::terminal::note("reading the text from the terminal; Ctrl-D on a line of its own ends it");
        }
        Input { name: "standard input".to_string(), reader: Box::new(io::stdin().lock()) }
    }

    /// A file, or anything else that can be read, such as what `<(command)` gives.
    pub(crate) fn open(path: &Path) -> Result<Input, Error> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|source| Error::Read { name: name.clone(), source })?;
        Ok(Input { name, reader: Box::new(file) })
    }

    /// All of it. `rule` says where the limit comes from.
    pub(crate) fn read(self, limit: u64, rule: &'static str) -> Result<String, Error> {
        let Input { name, reader } = self;
        let mut bytes = Vec::new();
        // `read_to_end` reserves with `try_reserve`: no memory is an error value.
        reader
            .take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|source| Error::Read { name: name.clone(), source })?;
        if bytes.len() as u64 > limit {
            return Err(Error::TextTooLong { name, limit, rule });
        }
        String::from_utf8(bytes).or_else(|e| text(&name, e.as_bytes()).map(str::to_string))
    }
}

/// An argument as text. `name` stands for it in the error.
pub(crate) fn argument<'a>(name: &str, text_argument: &'a OsStr) -> Result<&'a str, Error> {
    text(name, text_argument.as_encoded_bytes())
}

pub(crate) fn text<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, Error> {
    check_utf8(bytes).map_err(|source| Error::Text { name: name.to_string(), source })
}
