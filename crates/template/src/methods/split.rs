//! `split`, `partition`, `join` and their like.

use super::own;
use crate::args::{Args, needed};
use crate::env::Env;
use crate::error::{Result, wrong};
use crate::html;
use crate::iterate::Values;
use crate::python::{is_space, lines, trim_end, trim_start};
use crate::seq::{Gather, Seq};
use crate::text::{Builder, Text};
use crate::value::Value;

/// The separator, or none for white space, and how often it is cut at most.
fn how<'a>(args: &Args<'a>, of: &str) -> Result<(Option<&'a Text>, usize)> {
    let [separator, most] = args.bind(of, ["sep", "maxsplit"])?;
    let separator = match separator {
        None | Some(Value::None) => None,
        Some(separator) => Some(separator.as_text("sep")?),
    };
    if separator.is_some_and(Text::is_empty) {
        return wrong("empty separator");
    }
    let most = most.map_or(Ok(-1), |most| most.as_int("maxsplit"))?;
    Ok((separator, usize::try_from(most).unwrap_or(usize::MAX)))
}

/// Splits a text into a part at one end and the rest, without the separator between them; `None` if there is no
/// separator.
type Cut = for<'t> fn(&'t str, Option<&str>) -> Option<(&'t str, &'t str)>;

fn first_cut<'t>(text: &'t str, separator: Option<&str>) -> Option<(&'t str, &'t str)> {
    let Some(separator) = separator else {
        let end = text.find(is_space)?;
        return Some((&text[..end], trim_start(&text[end..])));
    };
    text.split_once(separator)
}

fn last_cut<'t>(text: &'t str, separator: Option<&str>) -> Option<(&'t str, &'t str)> {
    let Some(separator) = separator else {
        let space = text.rfind(is_space)?;
        let start = space + text[space..].chars().next().map_or(0, char::len_utf8);
        return Some((&text[start..], trim_end(&text[..space])));
    };
    text.rsplit_once(separator).map(|(left, part)| (part, left))
}

/// The parts of a text, in the order in which they are cut off.
fn parts(env: &Env, value: &Value, args: Args, of: &str, trim: fn(&str) -> &str, cut: Cut) -> Result<Gather> {
    let (separator, mut cuts) = how(&args, of)?;
    let (text, separator) = (own(value)?, separator.map(Text::as_str));
    env.meter.scan(text.len())?;
    let mut parts = Gather::new(&env.meter)?;
    let mut put = |part: &str| {
        env.meter.value()?;
        parts.push(Value::Text(text.sub(part)))
    };
    let mut rest = if separator.is_none() { trim(text.as_str()) } else { text.as_str() };
    while cuts > 0
        && let Some((part, left)) = cut(rest, separator)
    {
        put(part)?;
        (rest, cuts) = (left, cuts - 1);
    }
    // Between white space no part is empty.
    if separator.is_some() || !rest.is_empty() {
        put(rest)?;
    }
    Ok(parts)
}

pub(super) fn split(env: &Env, value: &Value, args: Args) -> Result<Value> {
    parts(env, value, args, "split", trim_start, first_cut)?.list()
}

pub(super) fn rsplit(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let mut parts = parts(env, value, args, "rsplit", trim_end, last_cut)?;
    parts.values_mut().reverse();
    parts.list()
}

pub(super) fn splitlines(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [keep] = args.bind("splitlines", ["keepends"])?;
    let (text, keep) = (own(value)?, keep.map_or(Ok(0), |keep| keep.as_int("keepends"))? != 0);
    env.meter.scan(text.len())?;
    let mut parts = Gather::new(&env.meter)?;
    let mut at = 0;
    for (line, end) in lines(text.as_str()) {
        env.meter.value()?;
        let len = line.len() + end;
        parts.push(Value::Text(text.part(at..at + if keep { len } else { line.len() })))?;
        at += len;
    }
    parts.list()
}

pub(super) fn partition(env: &Env, value: &Value, args: Args) -> Result<Value> {
    cut(env, value, args, "partition", false)
}

pub(super) fn rpartition(env: &Env, value: &Value, args: Args) -> Result<Value> {
    cut(env, value, args, "rpartition", true)
}

fn cut(env: &Env, value: &Value, args: Args, of: &str, last: bool) -> Result<Value> {
    let [separator] = args.positional(of)?;
    let (text, separator) = (own(value)?, needed(separator, of, "sep")?.as_text("sep")?);
    if separator.is_empty() {
        return wrong("empty separator");
    }
    env.meter.scan(text.len())?;
    let whole = text.as_str();
    let found = if last { whole.rfind(separator.as_str()) } else { whole.find(separator.as_str()) };
    let parts = match found {
        Some(at) => {
            let end = at + separator.len();
            // The separator that was found is returned itself.
            let safe = text.is_safe() || separator.is_safe();
            [text.part(0..at), separator.clone().safe(safe), text.part(end..text.len())]
        }
        None if last => [text.part(0..0), text.part(0..0), text.clone()],
        None => [text.clone(), text.part(0..0), text.part(0..0)],
    };
    Ok(Value::Tuple(Seq::new(&env.meter, parts.into_iter().map(Value::Text).collect())?))
}

pub(super) fn join(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [values] = args.positional("join")?;
    let (text, values) = (own(value)?, needed(values, "join", "iterable")?);
    let mut values = Values::of(values)?;
    let mut out = Builder::new(&env.meter)?;
    let mut i = 0;
    while let Some(value) = values.next(env)? {
        let Value::Text(part) = &value else {
            return wrong(format!("sequence item {i}: expected str instance, {} found", value.type_name()));
        };
        if i > 0 {
            out.text(text)?;
        }
        if text.is_safe() {
            out.text(&html::escape(part, env)?)?
        } else {
            out.text(part)?
        }
        i += 1;
    }
    Ok(Value::Text(out.finish()?.safe(text.is_safe())))
}

/// Texts with a separator between them.
pub(crate) fn joined(separator: &Text, mut values: Values, env: &Env) -> Result<Text> {
    let mut out = Builder::new(&env.meter)?;
    let mut first = true;
    while let Some(value) = values.next(env)? {
        if !std::mem::take(&mut first) {
            out.text(separator)?;
        }
        crate::print::print(&value, &mut out, env)?;
    }
    out.finish()
}
