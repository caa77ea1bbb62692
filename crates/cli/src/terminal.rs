//! Output to the terminal: notes and errors as single lines, the prompt, a progress bar.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use inkstone::Cancel;
use inkstone::tensor::Progress;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::time::{Duration, Instant};

/// The prompt for a line.
pub(crate) const PROMPT: &str = "> ";
/// The note after the first Ctrl-C at the prompt.
pub(crate) const ONCE_MORE: &str = "Ctrl-C again or Ctrl-D ends";
/// Terminals that can't show the line editor: the line editor has the same list.
const PLAIN: [&str; 3] = ["dumb", "cons25", "emacs"];

/// Shorter work shows no progress bar.
const PATIENCE: Duration = Duration::from_millis(200);

/// Writes one line to standard error, and ignores errors.
pub(crate) fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", one_line(line));
}

/// Writes an error as one line to standard error.
pub(crate) fn error(line: &str) {
    note(&format!("error: {line}"));
}

/// Whether standard output is a terminal.
pub(crate) fn shows_results() -> bool {
    io::stdout().is_terminal()
}

/// Whether lines are read without the line editor.
pub(crate) fn is_plain() -> bool {
    let is = |term: &std::ffi::OsStr| PLAIN.iter().any(|plain| term.eq_ignore_ascii_case(plain));
    std::env::var_os("TERM").is_some_and(|term| is(&term))
}

/// Whether standard error can show a progress bar.
fn shows_progress() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The text in bold, if the terminal and its user support it (<https://no-color.org>).
pub(crate) fn bold(text: &str) -> String {
    styled(text, 1)
}

/// The text dim, under the same condition.
pub(crate) fn dim(text: &str) -> String {
    styled(text, 2)
}

fn styled(text: &str, style: u8) -> String {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
        || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if plain { text.to_string() } else { format!("\x1b[{style}m{text}\x1b[0m") }
}

/// The text in one line, without control characters, so that texts from files can't break lines or control the
/// terminal.
pub(crate) fn one_line(text: &str) -> String {
    escaped(text, |_| false)
}

/// The text with its lines, but without control characters, since a model may write anything.
pub(crate) fn printable(text: &str) -> String {
    escaped(text, |c| matches!(c, '\n' | '\r' | '\t'))
}

fn escaped(text: &str, keep: fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // In addition to control characters: characters that reorder (Unicode TR36, bidirectional overrides) or break a
        // line.
        let steers =
            c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
        if steers && !keep(c) {
            let _ = write!(out, "{}", c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// A progress bar on the terminal, with the switch that ends the work it shows.
pub(crate) struct Bar {
    bar: ProgressBar,
    begun: Instant,
    cancel: Cancel,
}

impl Bar {
    /// A progress bar. The first update sets the total number of bytes.
    pub(crate) fn new(what: &'static str, cancel: Cancel) -> Bar {
        let target = if shows_progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(0), target).with_message(what);
        if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {bytes}/{total_bytes}") {
            bar.set_style(style);
        }
        Bar { bar, begun: Instant::now(), cancel }
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Progress for Bar {
    fn update(&self, done: u64, total: u64) {
        if self.begun.elapsed() < PATIENCE {
            return;
        }
        if self.bar.length() != Some(total) {
            self.bar.set_length(total);
        }
        self.bar.set_position(done);
    }

    fn cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_whatever_a_file_calls_its_tensors() {
        assert_eq!(one_line("a\nb\x1b[2J\u{9b}é\u{202e}"), "a\\nb\\u{1b}[2J\\u{9b}é\\u{202e}");
        assert_eq!(printable("a\n\tb\x1b[2J日"), "a\n\tb\\u{1b}[2J日");
    }

    #[test]
    fn e08_an_interrupt_reaches_the_loading() {
        let cancel = Cancel::new();
        let bar = Bar::new("loading", cancel.clone());
        bar.update(1, 2);
        assert!(!bar.cancelled());
        cancel.cancel();
        assert!(bar.cancelled());
    }
}
