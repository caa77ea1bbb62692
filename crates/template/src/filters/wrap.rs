//! `wordwrap`, as Python's `textwrap` does it.

use super::texts::soft;
use crate::args::{Args, flag};
use crate::env::Env;
use crate::error::{Result, wrong};
use crate::html;
use crate::python::{decimal_digit, is_alnum, is_space, lines};
use crate::text::{Builder, Origin, Text};
use crate::value::Value;
use std::ops::Range;

/// How lines are filled.
struct Wrap {
    width: usize,
    breaks_words: bool,
    breaks_hyphens: bool,
}

pub(super) fn wordwrap(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [width, words, wrap, hyphens] =
        args.bind("wordwrap", ["width", "break_long_words", "wrapstring", "break_on_hyphens"])?;
    if value.as_text("the value of wordwrap")?.is_empty() {
        // Without a line nobody looks at the width.
        return Ok(crate::operators::empty());
    }
    let width = width.map_or(Ok(79), |width| width.as_int("width"))?;
    if width < 1 {
        return wrong(format!("wordwrap: width is {width}, allowed: 1 or more"));
    }
    let between = match wrap {
        None | Some(Value::None) => Text::new(&env.meter, "\n", Origin::Template)?,
        Some(text) => text.as_text("wrapstring")?.clone(),
    };
    let how = Wrap {
        width: width.min(i128::from(u32::MAX)) as usize,
        breaks_words: flag(words, true),
        breaks_hyphens: flag(hyphens, true),
    };
    let text = soft(value, env)?;
    env.meter.scan(text.len().saturating_mul(4))?;
    let mut out = Builder::with_capacity(&env.meter, text.len())?;
    let mut at = 0;
    for (i, (line, end)) in lines(text.as_str()).enumerate() {
        env.meter.values(1)?;
        if i > 0 {
            out.text(&between)?;
        }
        fill(&text.part(at..at + line.len()), &how, &between, &mut out, env)?;
        at += line.len() + end;
    }
    Ok(Value::Text(out.finish()?.safe(between.is_safe())))
}

/// Writes a line of the text as lines of the width.
fn fill(line: &Text, how: &Wrap, between: &Text, out: &mut Builder, env: &Env) -> Result<()> {
    let whole = line.as_str();
    let mut chunks = Chunks { line: whole, at: 0, hyphens: how.breaks_hyphens };
    let is_blank = |chunk: &Chunk| whole[chunk.range.clone()].chars().all(is_space);
    let mut next = chunks.next();
    let mut first = true;
    while next.is_some() {
        // White space at the start of a line goes, but at the start of the first.
        if !first && next.as_ref().is_some_and(is_blank) {
            next = chunks.next();
        }
        let mut used = 0;
        // Chunks are adjacent, so a line is a range of chunks, whose last chunk may be dropped.
        let start = next.as_ref().map_or(0, |chunk| chunk.range.start);
        let mut last: Option<Chunk> = None;
        while let Some(chunk) = next.take() {
            env.meter.values(4)?;
            if used + chunk.chars <= how.width {
                used += chunk.chars;
                last = Some(chunk);
                next = chunks.next();
                continue;
            }
            if chunk.chars > how.width {
                let rest = broken(whole, chunk, how, used, &mut last);
                next = rest.or_else(|| chunks.next());
            } else {
                next = Some(chunk);
            }
            break;
        }
        let end = last.map_or(start, |last| if is_blank(&last) { last.range.start } else { last.range.end });
        if start < end {
            if !first {
                out.text(between)?;
            }
            first = false;
            let part = line.part(start..end).safe(false);
            out.text(&if between.is_safe() { html::escape(&part, env)? } else { part })?;
        }
    }
    Ok(())
}

/// A part of a line that stays together, and how many characters it has.
struct Chunk {
    range: Range<usize>,
    chars: usize,
}

/// Puts what has room of a word that is wider than a line; gives the rest.
fn broken(line: &str, word: Chunk, how: &Wrap, used: usize, last: &mut Option<Chunk>) -> Option<Chunk> {
    if !how.breaks_words {
        if last.is_some() {
            return Some(word);
        }
        *last = Some(word);
        return None;
    }
    let Range { start, end } = word.range;
    let text = &line[start..end];
    let mut cut = text.char_indices().nth(how.width - used).map_or(text.len(), |(at, _)| at);
    if how.breaks_hyphens {
        // Behind the last hyphen, if something else is before it.
        let hyphen = text[..cut].rfind('-').filter(|at| text[..*at].chars().any(|c| c != '-'));
        cut = hyphen.map_or(cut, |at| at + 1);
    }
    let chars = text[..cut].chars().count();
    // Also if it is empty: white space before it is not the last part then, and stays.
    *last = Some(Chunk { range: start..start + cut, chars });
    (cut < text.len()).then(|| Chunk { range: start + cut..end, chars: word.chars - chars })
}

/// White space of a line, as `textwrap` has it.
fn is_white(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\x0b' | '\x0c' | '\r' | ' ')
}

fn is_word(c: char) -> bool {
    c == '_' || is_alnum(c)
}

fn is_letter(c: char) -> bool {
    is_word(c) && decimal_digit(c).is_none()
}

fn is_word_or_sign(c: char) -> bool {
    is_word(c) || matches!(c, '!' | '"' | '\'' | '&' | '.' | ',' | '?')
}

/// Words with the hyphens behind them, dashes, and white space.
struct Chunks<'t> {
    line: &'t str,
    at: usize,
    hyphens: bool,
}

impl Chunks<'_> {
    fn next(&mut self) -> Option<Chunk> {
        let rest = &self.line[self.at..];
        let first = rest.chars().next()?;
        let len = if is_white(first) { rest.find(|c| !is_white(c)).unwrap_or(rest.len()) } else { self.word(rest) };
        let chunk = Chunk { range: self.at..self.at + len, chars: rest[..len].chars().count() };
        self.at += len;
        Some(chunk)
    }

    /// The length of a word up to where it may be broken.
    fn word(&self, rest: &str) -> usize {
        let dashes = |at: usize| self.line[at..].bytes().take_while(|b| *b == b'-').count();
        let dash = |at: usize| {
            // Two or more hyphens between words. The character before them is tested first, so that only the first of
            // many dashes counts them.
            if !self.line[..at].chars().next_back().is_some_and(is_word_or_sign) {
                return None;
            }
            let n = dashes(at);
            (n >= 2 && self.line[at + n..].chars().next().is_some_and(is_word)).then_some(n)
        };
        if let Some(n) = Some(self.at).filter(|_| self.hyphens && rest.starts_with('-')).and_then(dash) {
            return n;
        }
        for (i, c) in rest.char_indices() {
            if is_white(c) {
                return i;
            }
            if !self.hyphens || i == 0 || c != '-' {
                continue;
            }
            let at = self.at + i;
            if dash(at).is_some() {
                return i;
            }
            let mut before = self.line[..at].chars().rev();
            let before = [before.next(), before.next(), before.next()];
            let is = |c: Option<char>, what: fn(char) -> bool| c.is_some_and(what);
            let after_word = is(before[0], is_letter) && is(before[1], is_letter)
                || is(before[0], is_word_or_sign) && before[1] == Some('-') && is(before[2], is_letter);
            let mut after = self.line[at + 1..].chars();
            let after = [after.next(), after.next(), after.next()];
            let before_word = is(after[0], is_letter)
                && (is(after[1], is_letter) || after[1] == Some('-') && is(after[2], is_letter));
            if after_word && before_word {
                return i + 1;
            }
        }
        rest.len()
    }
}
