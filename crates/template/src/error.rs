//! Errors with their place in the template.

use crate::meter::Limit;
use std::fmt;

/// A result inside the interpreter: its error has no place yet.
pub(crate) type Result<T, E = Box<Fail>> = std::result::Result<T, E>;

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The source is not a template.
    Syntax,
    /// An invalid value, argument or operation.
    Runtime,
    /// A value that is not there was used.
    Undefined,
    /// Something that the sandbox does not allow.
    Sandbox,
    /// `raise_exception`: the template refuses the conversation.
    Refused,
    /// A limit of [`Limits`](crate::Limits).
    Limit(Limit),
    /// The flag of [`Limits::cancel`](crate::Limits::cancel) was set.
    Cancelled,
    /// [`Limits::deadline`](crate::Limits::deadline) is past.
    Deadline,
}

/// An error that has no place yet.
#[derive(Clone, Debug)]
pub(crate) struct Fail {
    pub kind: Kind,
    pub message: String,
}

impl Fail {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Box<Fail> {
        Box::new(Fail { kind, message: message.into() })
    }
}

/// An error about an invalid value or argument.
pub(crate) fn wrong<T>(message: impl Into<String>) -> Result<T> {
    Err(Fail::new(Kind::Runtime, message))
}

/// An error of a template: what, and where.
///
/// The first line of its text is complete; the source line with a caret and the calls of macros follow.
///
/// ```
/// let error = inkstone_template::Template::new("Hi\n{{ name | shout }}").unwrap_err();
/// assert_eq!((error.line(), error.column()), (2, 11));
/// assert_eq!(error.summary(), "line 2, column 11: no filter named 'shout'");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    message: String,
    line: usize,
    column: usize,
    /// The source line, or the part of it around the place.
    source_line: String,
    /// Characters of it before the place.
    before: usize,
    calls: Vec<Call>,
}

/// A macro that was running, and where it was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its name; `caller` for the body of a call block.
    pub name: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

/// The most characters of a message that are shown: a template may quote whole texts.
pub(crate) const SHOWN: usize = 1000;
/// Of a long source line so many characters are shown on both sides of the place.
const AROUND: usize = 60;
/// The most calls that are shown.
const CALLS: usize = 8;

impl Error {
    /// `at` is a byte offset of the source.
    pub(crate) fn new(fail: Fail, source: &str, at: usize) -> Error {
        let (line, column) = place(source, at);
        let whole = source.split('\n').nth(line - 1).unwrap_or_default();
        let start = (column - 1).saturating_sub(AROUND);
        let source_line: String = whole.chars().skip(start).take(2 * AROUND).collect();
        let before = (column - 1 - start).min(source_line.chars().count());
        Error {
            kind: fail.kind,
            message: shortened(&fail.message, SHOWN),
            line,
            column,
            source_line,
            before,
            calls: Vec::new(),
        }
    }

    /// Adds the next outer call.
    pub(crate) fn called(mut self, name: &str, source: &str, at: usize) -> Error {
        if self.calls.len() < CALLS {
            let (line, column) = place(source, at);
            self.calls.push(Call { name: shortened(name, 64), line, column });
        }
        self
    }

    /// The kind of the error.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Which limit ended the rendering.
    pub fn limit(&self) -> Option<Limit> {
        if let Kind::Limit(limit) = self.kind { Some(limit) } else { None }
    }

    /// The message, or the argument of `raise_exception`, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// From 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// From 1, in characters.
    pub fn column(&self) -> usize {
        self.column
    }

    /// The calls of macros under way, the innermost first, at most eight.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Place and message in one line.
    pub fn summary(&self) -> String {
        format!("line {}, column {}: {}", self.line, self.column, self.message)
    }

    /// The source line with a caret under the place, and the calls of macros.
    pub fn context(&self) -> String {
        let shown: String = self.source_line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let mut out = format!("  {shown}\n  {}^", " ".repeat(self.before));
        for call in &self.calls {
            out += &format!("\n  in {}, called in line {}, column {}", call.name, call.line, call.column);
        }
        out
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.summary(), self.context())
    }
}

impl std::error::Error for Error {}

/// Line and column of an offset, from 1.
pub(crate) fn place(source: &str, at: usize) -> (usize, usize) {
    let before = source.get(..at.min(source.len())).unwrap_or(source);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}
