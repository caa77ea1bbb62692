//! `strip` and its like.

use super::own;
use crate::args::{Args, needed};
use crate::env::Env;
use crate::error::Result;
use crate::python::is_space;
use crate::text::Text;
use crate::value::Value;

/// A text without these characters, or white space, at its ends.
pub(crate) fn stripped(text: &Text, chars: Option<&Value>, start: bool, end: bool, env: &Env) -> Result<Text> {
    let set = match chars {
        None | Some(Value::None) => None,
        Some(chars) => Some(chars.as_text("chars")?),
    };
    let whole = text.as_str();
    // Of many characters a sorted list is made: each character at the ends is looked for among them.
    const MANY: usize = 32;
    let mut sorted = Vec::new();
    let _charge;
    if let Some(set) = set.filter(|set| set.len() > MANY) {
        env.meter.bytes(set.len().saturating_mul(8))?;
        (sorted, _charge) = crate::seq::charged(&env.meter, set.as_str().chars(), set.chars())?;
        sorted.sort_unstable();
    }
    let goes = |c: char| match set {
        None => is_space(c),
        Some(_) if !sorted.is_empty() => sorted.binary_search(&c).is_ok(),
        Some(set) => set.as_str().contains(c),
    };
    let mut left = whole;
    if start {
        left = left.trim_start_matches(goes);
    }
    if end {
        left = left.trim_end_matches(goes);
    }
    let gone = whole.len() - left.len();
    env.meter.scan(gone.saturating_mul(set.map_or(1, |set| set.len().clamp(1, MANY))))?;
    Ok(text.sub(left))
}

fn of(env: &Env, value: &Value, args: Args, name: &str, start: bool, end: bool) -> Result<Value> {
    let [chars] = args.positional(name)?;
    Ok(Value::Text(stripped(own(value)?, chars, start, end, env)?))
}

pub(super) fn strip(env: &Env, value: &Value, args: Args) -> Result<Value> {
    of(env, value, args, "strip", true, true)
}

pub(super) fn lstrip(env: &Env, value: &Value, args: Args) -> Result<Value> {
    of(env, value, args, "lstrip", true, false)
}

pub(super) fn rstrip(env: &Env, value: &Value, args: Args) -> Result<Value> {
    of(env, value, args, "rstrip", false, true)
}

pub(super) fn removeprefix(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [prefix] = args.positional("removeprefix")?;
    let (text, prefix) = (own(value)?, needed(prefix, "removeprefix", "prefix")?.as_text("prefix")?);
    env.meter.bytes(prefix.len())?;
    Ok(Value::Text(text.as_str().strip_prefix(prefix.as_str()).map_or(text.clone(), |rest| text.sub(rest))))
}

pub(super) fn removesuffix(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [suffix] = args.positional("removesuffix")?;
    let (text, suffix) = (own(value)?, needed(suffix, "removesuffix", "suffix")?.as_text("suffix")?);
    env.meter.bytes(suffix.len())?;
    Ok(Value::Text(text.as_str().strip_suffix(suffix.as_str()).map_or(text.clone(), |rest| text.sub(rest))))
}
