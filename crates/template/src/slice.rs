//! Parts of texts and lists by index, as Python counts them.

use crate::env::Env;
use crate::error::{Result, wrong};
use crate::text::{Builder, Text};
use crate::value::Value;

/// Start, stop and step of a slice, clamped to the length of its value. The stop of a backward slice may be -1.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    pub start: i64,
    pub stop: i64,
    pub step: i64,
}

impl Bounds {
    /// Of a slice of `len` values.
    fn of(len: usize, parts: [Option<&Value>; 3]) -> Result<Bounds> {
        let part = |value: Option<&Value>| match value {
            None | Some(Value::None) => Ok(None),
            Some(value) => match crate::number::int(value) {
                Some(n) => Ok(Some(n.clamp(i128::from(i64::MIN) / 2, i128::from(i64::MAX) / 2) as i64)),
                None if value.is_undefined() => value.as_int("a slice index").map(|_| None),
                None => wrong(format!("slice indices must be integers or None, not {}", value.type_name())),
            },
        };
        let [start, stop, step] = [part(parts[0])?, part(parts[1])?, part(parts[2])?];
        let (len, step) = (len as i64, step.unwrap_or(1));
        if step == 0 {
            return wrong("slice step cannot be zero");
        }
        let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
        let bound = |at: Option<i64>, default: i64| match at {
            None => default,
            Some(at) => (if at < 0 { at + len } else { at }).clamp(low, high),
        };
        let (first, last) = if step > 0 { (low, high) } else { (high, low) };
        Ok(Bounds { start: bound(start, first), stop: bound(stop, last), step })
    }
}

/// Which values a slice takes of `len`: start, number, step.
pub(crate) fn range(len: usize, parts: [Option<&Value>; 3]) -> Result<(usize, usize, i64)> {
    let Bounds { start, stop, step } = Bounds::of(len, parts)?;
    let between = if step > 0 { stop - start } else { start - stop };
    let taken = if between <= 0 { 0 } else { (between - 1) / step.abs() + 1 };
    Ok(if taken == 0 { (0, 0, 1) } else { (start as usize, taken as usize, step) })
}

/// `value[a:b:c]`
pub(crate) fn slice(value: &Value, parts: [Option<&Value>; 3], env: &Env) -> Result<Value> {
    match value {
        Value::Undefined(undefined) => undefined.used(),
        Value::Text(text) => {
            let (start, len, step) = range(text.chars(), parts)?;
            if step == 1 {
                return Ok(Value::Text(characters(text, start, len)));
            }
            stepped(text, start, len, step, env).map(Value::Text)
        }
        Value::List(seq) => {
            let (start, len, step) = range(seq.len(), parts)?;
            Ok(Value::List(seq.view(start, len, step)))
        }
        Value::Tuple(seq) => {
            let (start, len, step) = range(seq.len(), parts)?;
            Ok(Value::Tuple(seq.view(start, len, step)))
        }
        Value::Range(of) => of.slice(Bounds::of(of.len as usize, parts)?, env),
        other => wrong(format!("'{}' object can't be sliced", other.type_name())),
    }
}

/// So many characters of a text.
pub(crate) fn characters(text: &Text, start: usize, len: usize) -> Text {
    if text.is_ascii() {
        return text.part(start..start + len);
    }
    let mut offsets = text.as_str().char_indices().map(|(at, _)| at);
    let from = offsets.nth(start).unwrap_or(text.len());
    let to = if len == 0 { from } else { offsets.nth(len - 1).unwrap_or(text.len()) };
    text.part(from..to)
}

fn stepped(text: &Text, start: usize, len: usize, step: i64, env: &Env) -> Result<Text> {
    env.meter.bytes(text.len())?;
    let mut out = Builder::with_capacity(&env.meter, len)?;
    let (mut next, mut left) = (start as i64, len);
    // Backwards over the characters where the step is negative.
    let count = if step < 0 { text.chars() as i64 - 1 } else { 0 };
    let forward = &mut text.chars_with_origin().enumerate().map(|(i, c)| (i as i64, c));
    let (mut backward, _charge);
    let chars: &mut dyn Iterator<Item = (i64, (char, crate::text::Origin))> = if step > 0 {
        forward
    } else {
        let (all, charge) = crate::seq::charged(&env.meter, text.chars_with_origin(), text.chars())?;
        _charge = charge;
        backward = all.into_iter().rev().enumerate().map(move |(i, c)| (count - i as i64, c));
        &mut backward
    };
    for (i, (c, origin)) in chars {
        if left == 0 {
            break;
        }
        if i == next {
            out.char(c, origin)?;
            next += step;
            left -= 1;
        }
    }
    Ok(out.finish()?.safe(text.is_safe()))
}

/// An index from the start or, negative, from the end.
pub(crate) fn place(index: i128, len: usize) -> Option<usize> {
    let at = if index < 0 { index + len as i128 } else { index };
    usize::try_from(at).ok().filter(|at| *at < len)
}
