//! The lines of a conversation: edited on a terminal, read from a pipe.

use super::history::{History, MAX_LINES};
use super::quoted::is_open;
use crate::Error;
use crate::commands::prompt::RULE;
use crate::input;
use crate::signals::{PlainPrompt, Signals};
use crate::terminal::{self, ONCE_MORE, PROMPT};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Behavior, Config, Context, Editor, Helper};
use std::cell::Cell;
use std::io::{self, BufRead, IsTerminal, Read};

/// The source of messages and commands. Each of them is one line, or several lines in quotes.
pub(super) enum Lines {
    Terminal(Box<Typed>),
    /// A pipe, with the largest length of a message in bytes.
    Pipe(u64),
}

impl Lines {
    /// Lines from standard input. With `keep` the editor recalls the lines of earlier conversations and stores new
    /// ones.
    pub(super) fn new(limit: u64, keep: bool, signals: &Signals) -> Result<Lines, Error> {
        if io::stdin().is_terminal() && io::stderr().is_terminal() {
            Ok(Lines::Terminal(Box::new(Typed::new(keep, signals)?)))
        } else {
            Ok(Lines::Pipe(limit))
        }
    }

    /// Whether the lines are typed on a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Lines::Terminal(_))
    }

    /// The next line without its line end, or the next lines in quotes; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<String>, Error> {
        match self {
            Lines::Terminal(typed) => typed.next(),
            Lines::Pipe(limit) => read(&mut io::stdin().lock(), *limit),
        }
    }
}

/// Lines typed on a terminal. The arrow keys recall earlier lines.
pub(super) struct Typed {
    editor: Editor<Watcher, MemHistory>,
    history: Option<History>,
    /// The prompt, if the terminal can't show the editor.
    plain: Option<PlainPrompt>,
}

impl Typed {
    fn new(keep: bool, signals: &Signals) -> Result<Typed, Error> {
        // Answers are written to standard output. If it is not the terminal, the prompt is written to the terminal
        // directly.
        let shown = if io::stdout().is_terminal() { Behavior::Stdio } else { Behavior::PreferTerm };
        let config = Config::builder().max_history_size(MAX_LINES)?.behavior(shown).build();
        let mut editor = Editor::with_history(config.clone(), MemHistory::with_config(&config))?;
        editor.set_helper(Some(Watcher::default()));
        let plain = terminal::is_plain().then(|| signals.plain_prompt());
        let mut typed = Typed { editor, history: History::of_user().filter(|_| keep), plain };
        for line in typed.with_history(History::read).unwrap_or_default() {
            typed.editor.add_history_entry(line)?;
        }
        Ok(typed)
    }

    fn next(&mut self) -> Result<Option<String>, Error> {
        let mut warned = false;
        loop {
            let mut read = || self.editor.readline(PROMPT);
            let line = match &self.plain {
                Some(prompt) => prompt.wait(read),
                None => read(),
            };
            match line {
                Ok(line) => {
                    if !line.trim().is_empty() && self.editor.add_history_entry(&line)? {
                        self.with_history(|history| history.add(&line));
                    }
                    return Ok(Some(line));
                }
                Err(ReadlineError::Eof) => return Ok(None),
                // Ctrl-C has cleared the line. The second one in a row, without text in between, ends the program.
                Err(ReadlineError::Interrupted) => {
                    if warned && self.editor.helper().is_none_or(|line| line.is_empty.get()) {
                        return Err(Error::Interrupted);
                    }
                    warned = true;
                    terminal::note(ONCE_MORE);
                }
                Err(ReadlineError::Io(e)) if e.kind() == io::ErrorKind::InvalidData => {
                    terminal::note("the line is dropped: it is not UTF-8");
                }
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Reads or writes the history. After a failure, which a note names, the conversation has no history.
    fn with_history<T>(&mut self, f: impl FnOnce(&History) -> io::Result<T>) -> Option<T> {
        let history = self.history.as_ref()?;
        match f(history) {
            Ok(value) => Some(value),
            Err(e) => {
                terminal::note(&format!("note: no history: {}: {e}", history.name()));
                self.history = None;
                None
            }
        }
    }
}

/// Observes a line while it is typed.
#[derive(Default)]
struct Watcher {
    is_empty: Cell<bool>,
}

impl Helper for Watcher {}
impl Highlighter for Watcher {}

impl Completer for Watcher {
    type Candidate = String;
}

impl Hinter for Watcher {
    type Hint = String;

    /// The editor calls this function after each change of the line.
    fn hint(&self, line: &str, _: usize, _: &Context<'_>) -> Option<String> {
        self.is_empty.set(line.is_empty());
        None
    }
}

impl Validator for Watcher {
    /// Whether an entered line is complete.
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let open = is_open(context.input());
        Ok(if open { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

/// Reads a line of a pipe, and the next lines while quotes are open.
fn read(reader: &mut impl BufRead, limit: u64) -> Result<Option<String>, Error> {
    let Some(mut lines) = read_line(reader, limit, 0)? else { return Ok(None) };
    while is_open(&lines) {
        lines.push('\n');
        let line = read_line(reader, limit, lines.len() as u64)?;
        lines.push_str(&line.ok_or(Error::OpenQuotes)?);
    }
    Ok(Some(lines))
}

/// Reads a line of a message that already has `before` bytes.
fn read_line(reader: &mut impl BufRead, limit: u64, before: u64) -> Result<Option<String>, Error> {
    let name = || "standard input".to_string();
    let mut bytes = Vec::new();
    // One byte more than the limit, and the line end.
    let read = reader.by_ref().take(limit.saturating_sub(before).saturating_add(2)).read_until(b'\n', &mut bytes);
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
    if before.saturating_add(bytes.len() as u64) > limit {
        return Err(Error::TextTooLong { name: name(), limit, rule: RULE });
    }
    input::text("standard input", &bytes).map(|text| Some(text.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(limit: u64, bytes: &[u8]) -> Result<Vec<String>, Error> {
        let mut reader = bytes;
        let mut lines = Vec::new();
        while let Some(line) = read(&mut reader, limit)? {
            lines.push(line);
        }
        Ok(lines)
    }

    #[test]
    fn lines_of_a_pipe_are_bounded_and_utf_8() {
        let all = |bytes| all(4, bytes);
        assert_eq!(all(b"ab\r\n\nabcd\nlast").unwrap(), ["ab", "", "abcd", "last"]);
        assert!(all(b"abcde\n").unwrap_err().to_string().starts_with("standard input: more than 4 bytes"));
        assert!(all(b"abc\xFF\n").unwrap_err().to_string().contains("not UTF-8 at byte 3"));
    }

    #[test]
    fn quotes_hold_lines_of_a_pipe_together() {
        let all = |bytes| all(12, bytes);
        let lines = all(b"a\n\"\"\"b\r\n\nc\"\"\"\nd").unwrap();
        assert_eq!(lines, ["a", "\"\"\"b\n\nc\"\"\"", "d"]);
        assert!(all(b"\"\"\"\n1234\n6789\n").unwrap_err().to_string().contains("more than 12 bytes"));
        assert!(matches!(all(b"\"\"\"b\nc\n"), Err(Error::OpenQuotes)));
    }
}
