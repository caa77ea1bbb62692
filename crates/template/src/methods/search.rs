//! `find`, `count`, `replace` and their like.

use super::{optional_int, own, taken};
use crate::args::{Args, needed};
use crate::env::Env;
use crate::error::{Result, wrong};
use crate::text::{Builder, Text};
use crate::value::Value;
use std::ops::Range;

/// The bytes of a text between two indices of characters; `None` if the first is behind the end.
fn between(text: &Text, start: Option<&Value>, end: Option<&Value>) -> Result<Option<Range<usize>>> {
    let (start, end) = (optional_int(start, "start")?, optional_int(end, "end")?);
    if start.is_none() && end.is_none() {
        return Ok(Some(0..text.len()));
    }
    let len = text.chars() as i128;
    let at = |index: i128| if index < 0 { (index + len).max(0) } else { index };
    let (start, end) = (at(start.unwrap_or(0)), at(end.unwrap_or(len)).min(len));
    if start > len || start > end {
        return Ok(None);
    }
    let part = crate::slice::characters(text, start as usize, (end - start) as usize);
    let before = crate::slice::characters(text, 0, start as usize).len();
    Ok(Some(before..before + part.len()))
}

/// The text to search for, and the range to search in.
fn sought<'a>(
    env: &Env,
    value: &'a Value,
    args: &Args<'a>,
    of: &str,
) -> Result<(&'a Text, &'a Text, Option<Range<usize>>)> {
    let [needle, start, end] = args.positional(of)?;
    let (text, needle) = (own(value)?, needed(needle, of, "sub")?.as_text("sub")?);
    env.meter.scan(text.len())?;
    Ok((text, needle, between(text, start, end)?))
}

/// The index of the character at a byte.
fn index_of(text: &Text, at: usize) -> Value {
    let chars = if text.is_ascii() { at } else { text.as_str()[..at].chars().count() };
    Value::Int(chars as i128)
}

fn first(env: &Env, value: &Value, args: &Args, of: &str, last: bool) -> Result<Option<Value>> {
    let (text, needle, range) = sought(env, value, args, of)?;
    let Some(range) = range else { return Ok(None) };
    let hay = &text.as_str()[range.clone()];
    let found = if last { hay.rfind(needle.as_str()) } else { hay.find(needle.as_str()) };
    Ok(found.map(|at| index_of(text, range.start + at)))
}

pub(super) fn find(env: &Env, value: &Value, args: Args) -> Result<Value> {
    Ok(first(env, value, &args, "find", false)?.unwrap_or(Value::Int(-1)))
}

pub(super) fn rfind(env: &Env, value: &Value, args: Args) -> Result<Value> {
    Ok(first(env, value, &args, "rfind", true)?.unwrap_or(Value::Int(-1)))
}

pub(super) fn index(env: &Env, value: &Value, args: Args) -> Result<Value> {
    first(env, value, &args, "index", false)?.map_or_else(|| wrong("substring not found"), Ok)
}

pub(super) fn rindex(env: &Env, value: &Value, args: Args) -> Result<Value> {
    first(env, value, &args, "rindex", true)?.map_or_else(|| wrong("substring not found"), Ok)
}

pub(super) fn count(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let (text, needle, range) = sought(env, value, &args, "count")?;
    let found = range.map_or(0, |range| text.as_str()[range].matches(needle.as_str()).count());
    Ok(Value::Int(found as i128))
}

pub(super) fn startswith(env: &Env, value: &Value, args: Args) -> Result<Value> {
    has_end(env, value, args, "startswith", |hay, end| hay.starts_with(end))
}

pub(super) fn endswith(env: &Env, value: &Value, args: Args) -> Result<Value> {
    has_end(env, value, args, "endswith", |hay, end| hay.ends_with(end))
}

fn has_end(env: &Env, value: &Value, args: Args, of: &str, has: fn(&str, &str) -> bool) -> Result<Value> {
    let [end, from, to] = args.positional(of)?;
    let (text, end) = (own(value)?, needed(end, of, "prefix")?);
    if from.is_some() || to.is_some() {
        env.meter.bytes(text.len())?;
    }
    let hay = between(text, from, to)?.map(|range| &text.as_str()[range]);
    let check = |end: &Value| match end {
        Value::Text(end) => {
            env.meter.bytes(end.len())?;
            Ok(hay.is_some_and(|hay| has(hay, end.as_str())))
        }
        Value::Undefined(undefined) => undefined.used(),
        other => wrong(format!("{of} first arg must be str or a tuple of str, not {}", other.type_name())),
    };
    if let Value::Tuple(ends) = end {
        for end in ends.iter() {
            env.meter.values(1)?;
            if check(end)? {
                return Ok(Value::Bool(true));
            }
        }
        return Ok(Value::Bool(false));
    }
    check(end).map(Value::Bool)
}

pub(super) fn replace(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [old, new, count] = args.positional("replace")?;
    let old = needed(old, "replace", "old")?.as_text("old")?;
    let new = needed(new, "replace", "new")?.as_text("new")?;
    let count = count.map_or(Ok(-1), |count| count.as_int("count"))?;
    let text = own(value)?;
    let new = taken(text, new, env)?;
    Ok(Value::Text(replaced(text, old, &new, count, env)?.safe(text.is_safe())))
}

/// A text in which the first `count` times of `old`, all if that is negative, are `new`.
pub(crate) fn replaced(text: &Text, old: &Text, new: &Text, count: i128, env: &Env) -> Result<Text> {
    env.meter.scan(text.len())?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let whole = text.as_str();
    // Nothing is found before each character and at the end.
    let mut found = whole.match_indices(old.as_str()).take(count).peekable();
    if found.peek().is_none() {
        return Ok(text.clone());
    }
    let mut out = Builder::with_capacity(&env.meter, text.len())?;
    let mut done = 0;
    for (at, _) in found {
        env.meter.values(1)?;
        out.text(&text.part(done..at))?;
        out.text(new)?;
        done = at + old.len();
    }
    out.text(&text.part(done..text.len()))?;
    out.finish()
}
