//! Source to tokens, with Jinja's rules for white space: `trim_blocks`, `lstrip_blocks`, `-` and `+`.

use super::literal;
use crate::error::{Error, Fail, Kind};
use crate::python::{is_space, trim_end, trim_start};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tok<'s> {
    /// Text of the template, by its end; its start is the token's place.
    Data(u32),
    BlockBegin,
    BlockEnd,
    PrintBegin,
    PrintEnd,
    Name(&'s str),
    Text(String),
    Int(i128),
    Float(f64),
    /// An operator, a bracket, a comma.
    Sign(&'static str),
    End,
}

impl Tok<'_> {
    /// For messages.
    pub(crate) fn shown(&self) -> String {
        match self {
            Tok::Data(_) => "text".into(),
            Tok::BlockBegin => "'{%'".into(),
            Tok::BlockEnd => "'%}'".into(),
            Tok::PrintBegin => "'{{'".into(),
            Tok::PrintEnd => "'}}'".into(),
            Tok::Name(name) => format!("'{}'", crate::error::shortened(name, 40)),
            Tok::Text(_) => "a text".into(),
            Tok::Int(n) => n.to_string(),
            Tok::Float(n) => n.to_string(),
            Tok::Sign(sign) => format!("'{sign}'"),
            Tok::End => "the end of the template".into(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Token<'s> {
    pub tok: Tok<'s>,
    /// Byte offset.
    pub at: u32,
}

/// Longer ones first.
const SIGNS: [&str; 26] = [
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".",
    ":", "|", ",", ";",
];

pub(crate) struct Lexer<'s> {
    source: &'s str,
    at: usize,
    tokens: Vec<Token<'s>>,
    /// The last tag ended with a line end that it took with it, or nothing came yet.
    line_starts: bool,
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(source: &'s str) -> Lexer<'s> {
        Lexer { source, at: 0, tokens: Vec::new(), line_starts: true }
    }

    pub(crate) fn tokens(mut self) -> Result<Vec<Token<'s>>, Error> {
        while self.at < self.source.len() {
            self.text_and_tag()?;
        }
        self.push(Tok::End, self.at);
        Ok(self.tokens)
    }

    fn push(&mut self, tok: Tok<'s>, at: usize) {
        self.tokens.push(Token { tok, at: at as u32 });
    }

    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    fn fail<T>(&self, message: impl Into<String>, at: usize) -> Result<T, Error> {
        Err(Error::new(Fail { kind: Kind::Syntax, message: message.into() }, self.source, at))
    }

    /// Text up to the next tag, and the tag.
    fn text_and_tag(&mut self) -> Result<(), Error> {
        let start = self.at;
        let opens = self
            .rest()
            .match_indices('{')
            .find(|(i, _)| matches!(self.rest().as_bytes().get(i + 1), Some(b'%' | b'{' | b'#')));
        let Some((before, _)) = opens else {
            self.data(start, self.source.len());
            self.at = self.source.len();
            return Ok(());
        };
        let tag = start + before;
        let kind = self.source.as_bytes()[tag + 1];
        let sign = self.source[tag + 2..].chars().next().filter(|c| matches!(c, '-' | '+'));
        self.at = tag + 2 + sign.map_or(0, char::len_utf8);
        self.data(start, start + self.stripped(&self.source[start..tag], sign, kind == b'{'));
        match kind {
            b'#' => self.comment(tag),
            b'{' => {
                self.push(Tok::PrintBegin, tag);
                self.inside(tag, "}}")
            }
            _ => match self.raw_begin() {
                Some(end) => self.raw(tag, end),
                None => {
                    self.push(Tok::BlockBegin, tag);
                    self.inside(tag, "%}")
                }
            },
        }
    }

    fn data(&mut self, start: usize, end: usize) {
        if start < end {
            self.push(Tok::Data(end as u32), start);
        }
    }

    /// How much is left of the text before a tag.
    fn stripped(&self, text: &str, sign: Option<char>, print: bool) -> usize {
        match sign {
            Some('-') => trim_end(text).len(),
            None if !print => {
                let line = text.rfind('\n').map_or(0, |end| end + 1);
                let blank = line < text.len() && text[line..].chars().all(is_space);
                if blank && (line > 0 || self.line_starts) { line } else { text.len() }
            }
            _ => text.len(),
        }
    }

    /// Goes behind a tag's end: `-` takes white space, a block or a comment one line end unless `+` forbids it.
    fn end_tag(&mut self, end: usize, sign: Option<u8>, trims: bool) {
        self.at = match sign {
            Some(b'-') => self.source.len() - trim_start(&self.source[end..]).len(),
            None if trims && self.source[end..].starts_with('\n') => end + 1,
            _ => end,
        };
        self.line_starts = self.source[..self.at].ends_with('\n') && self.at > end;
    }

    fn comment(&mut self, tag: usize) -> Result<(), Error> {
        if self.rest().is_empty() {
            return Ok(());
        }
        let Some(found) = self.rest().find("#}") else { return self.fail("missing end of comment: '#}'", tag) };
        let close = self.at + found;
        let sign = self.source[self.at..close].bytes().last().filter(|b| matches!(b, b'-' | b'+'));
        self.end_tag(close + 2, sign, true);
        Ok(())
    }

    /// Behind `{% raw %}`, if that is what begins here.
    fn raw_begin(&self) -> Option<usize> {
        let inner = trim_start(trim_start(self.rest()).strip_prefix("raw")?);
        let rest = match inner.strip_prefix("-%}") {
            Some(rest) => trim_start(rest),
            None => inner.strip_prefix("%}")?,
        };
        Some(self.source.len() - rest.len())
    }

    fn raw(&mut self, tag: usize, start: usize) -> Result<(), Error> {
        for (open, _) in self.source[start..].match_indices("{%") {
            let open = start + open;
            let inner = &self.source[open + 2..];
            let sign = inner.chars().next().filter(|c| matches!(c, '-' | '+'));
            let inner = trim_start(&inner[sign.map_or(0, char::len_utf8)..]);
            let Some(inner) = inner.strip_prefix("endraw").map(trim_start) else { continue };
            let close_sign = inner.bytes().next().filter(|b| matches!(b, b'-' | b'+'));
            let Some(rest) = inner[usize::from(close_sign.is_some())..].strip_prefix("%}") else { continue };
            // A line before which nothing stands begins here only where the tag took its line end.
            self.line_starts = self.source[..start].ends_with('\n');
            self.data(start, start + self.stripped(&self.source[start..open], sign, false));
            self.end_tag(self.source.len() - rest.len(), close_sign, true);
            return Ok(());
        }
        self.at = start;
        if self.rest().is_empty() { Ok(()) } else { self.fail("missing end of raw: '{% endraw %}'", tag) }
    }

    /// The tokens of a tag, up to its end.
    fn inside(&mut self, tag: usize, close: &'static str) -> Result<(), Error> {
        let mut brackets: Vec<char> = Vec::new();
        loop {
            let rest = trim_start(self.rest());
            self.at = self.source.len() - rest.len();
            let at = self.at;
            let Some(first) = rest.chars().next() else {
                return self.fail(format!("missing end of this tag: '{close}'"), tag);
            };
            let sign = Some(rest.as_bytes()[0]).filter(|b| *b == b'-' || (*b == b'+' && close == "%}"));
            if brackets.is_empty() && rest[usize::from(sign.is_some())..].starts_with(close) {
                self.push(if close == "}}" { Tok::PrintEnd } else { Tok::BlockEnd }, at);
                self.end_tag(at + 2 + usize::from(sign.is_some()), sign, close == "%}");
                return Ok(());
            }
            let (tok, len) = match first {
                '0'..='9' => match literal::number(rest, self.source[..at].ends_with('.')) {
                    Ok(found) => found,
                    Err(message) => return self.fail(message, at),
                },
                '"' | '\'' => match literal::text(rest) {
                    Ok(found) => found,
                    Err(message) => return self.fail(message, at),
                },
                c if c == '_' || c.is_alphabetic() => {
                    let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
                    (Tok::Name(&rest[..end]), end)
                }
                c => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                    Some(sign) => (Tok::Sign(sign), sign.len()),
                    None => return self.fail(format!("unexpected character {c:?}"), at),
                },
            };
            match first {
                '(' => brackets.push(')'),
                '[' => brackets.push(']'),
                '{' => brackets.push('}'),
                ')' | ']' | '}' => match brackets.pop() {
                    Some(expected) if expected == first => {}
                    Some(expected) => return self.fail(format!("unexpected '{first}', expected '{expected}'"), at),
                    None => return self.fail(format!("unexpected '{first}'"), at),
                },
                _ => {}
            }
            self.push(tok, at);
            self.at += len;
        }
    }
}
