//! Upper and lower case, and the classes of characters.

use super::own;
use crate::args::Args;
use crate::env::Env;
use crate::error::Result;
use crate::python::{self, decimal_digit, is_printable, is_space};
use crate::text::{Builder, Text};
use crate::value::Value;

/// Each character as `change` writes it, with the origin that it had.
fn mapped(text: &Text, env: &Env, mut change: impl FnMut(char, &mut dyn FnMut(char))) -> Result<Text> {
    env.meter.scan(text.len())?;
    let mut out = Builder::with_capacity(&env.meter, text.len())?;
    for (c, origin) in text.chars_with_origin() {
        let mut written = Ok(());
        change(c, &mut |c| {
            if written.is_ok() {
                written = out.char(c, origin);
            }
        });
        written?;
    }
    Ok(out.finish()?.safe(text.is_safe()))
}

/// A text whose characters are all ASCII, changed in one go.
fn ascii(text: &Text, env: &Env, change: fn(&str) -> String) -> Result<Option<Text>> {
    let Some(origin) = text.single_origin().filter(|_| text.is_ascii()) else { return Ok(None) };
    env.meter.bytes(text.len())?;
    let mut out = Builder::with_capacity(&env.meter, text.len())?;
    // Piece by piece, so that the additional copy is small. Each byte is a character.
    const PIECE: usize = 4096;
    for start in (0..text.len()).step_by(PIECE) {
        let end = (start + PIECE).min(text.len());
        out.push(&change(&text.as_str()[start..end]), origin)?;
    }
    Ok(Some(out.finish()?.safe(text.is_safe())))
}

pub(crate) fn upper(text: &Text, env: &Env) -> Result<Text> {
    match ascii(text, env, str::to_ascii_uppercase)? {
        Some(done) => Ok(done),
        None => mapped(text, env, |c, put| c.to_uppercase().for_each(put)),
    }
}

pub(crate) fn lower(text: &Text, env: &Env) -> Result<Text> {
    if let Some(done) = ascii(text, env, str::to_ascii_lowercase)? {
        return Ok(done);
    }
    let mut lowered = Lowered::of(text);
    mapped(text, env, |c, put| lowered.put(c, put))
}

/// Writes characters of a text in lower case, in their order: it knows where they are.
struct Lowered<'t> {
    whole: &'t str,
    at: usize,
}

impl<'t> Lowered<'t> {
    fn of(text: &'t Text) -> Lowered<'t> {
        Lowered { whole: text.as_str(), at: 0 }
    }

    /// A character that is written in another way.
    fn pass(&mut self, c: char) {
        self.at += c.len_utf8();
    }

    fn put(&mut self, c: char, put: &mut dyn FnMut(char)) {
        let here = self.at;
        self.pass(c);
        // A sigma at the end of a word has a form of its own.
        if c == 'Σ' && ends_word(self.whole, here) { put('ς') } else { c.to_lowercase().for_each(put) }
    }
}

fn is_cased(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase() || python::is_title(c)
}

/// Whether letters come before the character at an offset and none after it. Marks between letters are passed over.
fn ends_word(text: &str, at: usize) -> bool {
    let is_passed = |c: &char| matches!(c, '\'' | '.' | ':' | '^' | '`' | '\u{AD}' | '\u{300}'..='\u{36F}' | '’');
    let before = text[..at].chars().rev().find(|c| !is_passed(c));
    let after = text[at..].chars().skip(1).find(|c| !is_passed(c));
    before.is_some_and(is_cased) && !after.is_some_and(is_cased)
}

/// The first character in title case, the rest in lower case.
pub(crate) fn capitalize(text: &Text, env: &Env) -> Result<Text> {
    let first = text.as_str().chars().next().map_or(0, char::len_utf8);
    let rest = lower(text, env)?;
    let lowered = text.as_str().chars().next().map_or(0, |c| c.to_lowercase().map(char::len_utf8).sum());
    let mut out = Builder::with_capacity(&env.meter, text.len())?;
    out.text(&mapped(&text.part(0..first), env, |c, put| python::title(c, put))?)?;
    out.text(&rest.part(lowered..rest.len()))?;
    Ok(out.finish()?.safe(text.is_safe()))
}

macro_rules! methods {
    ($($name:ident $made:expr;)*) => {$(
        pub(super) fn $name(env: &Env, value: &Value, args: Args) -> Result<Value> {
            args.none(stringify!($name))?;
            let made: fn(&Text, &Env) -> Result<Text> = $made;
            Ok(Value::Text(made(own(value)?, env)?))
        }
    )*};
}

methods! {
    upper_method upper;
    lower_method lower;
    capitalize_method capitalize;
    casefold |text, env| mapped(text, env, |c, put| python::folded(c, put));
    swapcase |text, env| {
        let mut lowered = Lowered::of(text);
        mapped(text, env, |c, put| match c {
            c if c.is_uppercase() => lowered.put(c, put),
            c => {
                lowered.pass(c);
                if c.is_lowercase() { c.to_uppercase().for_each(put) } else { put(c) }
            }
        })
    };
    title |text, env| {
        let (mut inside, mut lowered) = (false, Lowered::of(text));
        mapped(text, env, |c, put| {
            if inside {
                lowered.put(c, put);
            } else {
                lowered.pass(c);
                python::title(c, put);
            }
            inside = is_cased(c);
        })
    };
}

macro_rules! questions {
    ($($name:ident $answer:expr;)*) => {$(
        pub(super) fn $name(env: &Env, value: &Value, args: Args) -> Result<Value> {
            args.none(stringify!($name))?;
            let text = own(value)?;
            env.meter.scan(text.len().saturating_mul(2))?;
            let answer: fn(&str) -> bool = $answer;
            Ok(Value::Bool(answer(text.as_str())))
        }
    )*};
}

questions! {
    isalnum |text| all(text, python::is_alnum);
    isalpha |text| all(text, python::is_alpha);
    isascii str::is_ascii;
    isdecimal |text| all(text, |c| decimal_digit(c).is_some());
    isdigit |text| all(text, python::is_digit);
    isidentifier |text| {
        let first = text.chars().next();
        first.is_some_and(python::begins_identifier) && text.chars().all(python::continues_identifier)
    };
    islower is_lower;
    isnumeric |text| all(text, python::is_numeric);
    isprintable |text| text.chars().all(is_printable);
    isspace |text| all(text, is_space);
    istitle |text| {
        let (mut inside, mut found) = (false, false);
        for c in text.chars() {
            if ((c.is_uppercase() || python::is_title(c)) && inside) || (c.is_lowercase() && !inside) {
                return false;
            }
            inside = is_cased(c);
            found |= inside;
        }
        found
    };
    isupper is_upper;
}

fn all(text: &str, is: impl Fn(char) -> bool) -> bool {
    !text.is_empty() && text.chars().all(is)
}

pub(crate) fn is_lower(text: &str) -> bool {
    text.chars().any(is_cased) && text.chars().all(|c| !is_cased(c) || c.is_lowercase())
}

pub(crate) fn is_upper(text: &str) -> bool {
    text.chars().any(is_cased) && text.chars().all(|c| !is_cased(c) || c.is_uppercase())
}
