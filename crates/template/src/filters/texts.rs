//! Filters of texts.

use crate::args::{Args, flag, needed};
use crate::env::Env;
use crate::error::{Result, wrong};
use crate::format::percent;
use crate::html;
use crate::iterate::Values;
use crate::methods;
use crate::print;
use crate::python::{self, is_space, lines};
use crate::text::{Builder, Origin, Text};
use crate::value::Value;

use super::lists::{Path, each_at};

/// The text of a value, as `soft_str` makes it: a safe text stays safe.
pub(super) fn soft(value: &Value, env: &Env) -> Result<Text> {
    if let Value::Text(text) = value { Ok(text.clone()) } else { print::string(value, env) }
}

pub(super) fn string(env: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("string")?;
    Ok(Value::Text(soft(value, env)?))
}

pub(super) fn upper(env: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("upper")?;
    Ok(Value::Text(methods::upper(&soft(value, env)?, env)?))
}

pub(super) fn lower(env: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("lower")?;
    Ok(Value::Text(methods::lower(&soft(value, env)?, env)?))
}

pub(super) fn capitalize(env: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("capitalize")?;
    Ok(Value::Text(methods::capitalize(&soft(value, env)?, env)?))
}

pub(super) fn title(env: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("title")?;
    let text = soft(value, env)?;
    env.meter.scan(text.len())?;
    let mut out = Builder::with_capacity(&env.meter, text.len())?;
    // A word begins behind white space, a hyphen or an opening bracket.
    let between = |c: char| is_space(c) || matches!(c, '-' | '(' | '{' | '[' | '<');
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|other| between(other) != between(c)).unwrap_or(rest.len());
        let part = text.sub(&rest[..end]);
        env.meter.values(32)?;
        let first = part.part(0..c.len_utf8());
        out.text(&methods::upper(&first, env)?)?;
        out.text(&methods::lower(&part.part(c.len_utf8()..part.len()), env)?)?;
        rest = &rest[end..];
    }
    Ok(Value::Text(out.finish()?))
}

pub(super) fn trim(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [chars] = args.bind("trim", ["chars"])?;
    Ok(Value::Text(methods::stripped(&soft(value, env)?, chars, true, true, env)?))
}

pub(super) fn center(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [width] = args.bind("center", ["width"])?;
    let width = width.map_or(Ok(80), |width| width.as_int("width"))?;
    let space = Text::new(&env.meter, " ", Origin::Template)?;
    let width = width.clamp(0, i128::from(u32::MAX)) as usize;
    Ok(Value::Text(methods::centered(&soft(value, env)?, width, &space, env)?))
}

pub(super) fn replace(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [old, new, count] = args.bind("replace", ["old", "new", "count"])?;
    let old = print::string(needed(old, "replace", "old")?, env)?;
    let new = print::string(needed(new, "replace", "new")?, env)?;
    let count = match count {
        None | Some(Value::None) => -1,
        Some(count) => count.as_int("count")?,
    };
    let text = print::string(value, env)?;
    Ok(Value::Text(methods::replaced(&text, &old, &new, count, env)?))
}

pub(super) fn join(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [separator, attribute] = args.bind("join", ["d", "attribute"])?;
    let separator = separator.map_or(Ok(Text::default()), |separator| print::string(separator, env))?;
    let values = match attribute {
        None | Some(Value::None) => Values::of(value)?,
        Some(attribute) => each_at(Values::of(value)?, &Path::of(attribute, env)?, env)?,
    };
    Ok(Value::Text(methods::joined(&separator, values, env)?))
}

pub(super) fn format(env: &Env, value: &Value, args: Args) -> Result<Value> {
    if !args.named.is_empty() && !args.positional.is_empty() {
        return wrong("format takes positional or keyword arguments, not both at the same time");
    }
    let text = soft(value, env)?;
    Ok(Value::Text(percent::with_args(&text, args, env)?))
}

pub(super) fn indent(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [width, first, blank] = args.bind("indent", ["width", "first", "blank"])?;
    let text = value.as_text("the value of indent")?;
    let space = Text::new(&env.meter, " ", Origin::Template)?;
    let (indent, times) = match width {
        None => (space, 4),
        Some(Value::Text(text)) => (text.clone(), 1),
        Some(width) => (space, width.as_int("width")?.clamp(0, i128::from(u32::MAX)) as usize),
    };
    let (first, blank) = (flag(first, false), flag(blank, false));
    env.meter.scan(text.len())?;
    let mut out = Builder::with_capacity(&env.meter, text.len())?;
    let mut at = 0;
    // The text with one more line end, cut into lines.
    let whole = text.as_str();
    let ends_line = whole.chars().next_back().is_some_and(python::is_line_end) && !whole.is_empty();
    // A line end that is added to a CR makes one with it.
    let last = (whole.is_empty() || ends_line && !whole.ends_with('\r')).then_some(("", 0));
    for (i, (line, end)) in lines(whole).chain(last).enumerate() {
        env.meter.values(1)?;
        if i > 0 {
            out.own("\n")?;
        }
        if if i == 0 { first } else { blank || !line.is_empty() } {
            out.repeat(&indent, times)?;
        }
        out.text(&text.part(at..at + line.len()))?;
        at += line.len() + end;
    }
    Ok(Value::Text(out.finish()?.safe(text.is_safe())))
}

pub(super) fn truncate(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [length, kill, end, leeway] = args.bind("truncate", ["length", "killwords", "end", "leeway"])?;
    let length = length.map_or(Ok(255), |length| length.as_int("length"))?;
    let leeway = match leeway {
        None | Some(Value::None) => 5,
        Some(leeway) => leeway.as_int("leeway")?,
    };
    let end = match end {
        None => Text::new(&env.meter, "...", Origin::Template)?,
        Some(end) => end.as_text("end")?.clone(),
    };
    if length < end.chars() as i128 || leeway < 0 {
        return wrong(format!("truncate: length is {length}, allowed: the length of end or more; leeway: 0 or more"));
    }
    if value.len()? as i128 <= length.saturating_add(leeway) {
        // The value is returned unchanged, independent of its type.
        return Ok(value.clone());
    }
    let text = value.as_text("the value of truncate")?;
    env.meter.scan(text.len())?;
    let kept = crate::slice::characters(text, 0, length as usize - end.chars());
    let space = kept.as_str().rfind(' ').filter(|_| !flag(kill, false));
    let kept = space.map_or(kept.clone(), |space| kept.part(0..space));
    let mut out = Builder::with_capacity(&env.meter, kept.len() + end.len())?;
    out.text(&kept)?;
    out.text(&if text.is_safe() { html::escape(&end, env)? } else { end })?;
    Ok(Value::Text(out.finish()?.safe(text.is_safe())))
}

pub(super) fn wordcount(env: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("wordcount")?;
    let text = soft(value, env)?;
    env.meter.scan(text.len())?;
    let is_word = |c: char| c == '_' || python::is_alnum(c);
    let words = text.as_str().split(|c| !is_word(c)).filter(|word| !word.is_empty()).count();
    Ok(Value::Int(words as i128))
}
