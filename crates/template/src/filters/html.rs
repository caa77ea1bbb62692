//! Filters for HTML and URLs.

use crate::args::{Args, flag};
use crate::env::Env;
use crate::error::{Result, wrong};
use crate::html;
use crate::iterate::Values;
use crate::loops::unpack;
use crate::print::string;
use crate::text::Builder;
use crate::value::{Value, View};

use super::texts::soft;

pub(super) fn escape(env: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("escape")?;
    Ok(Value::Text(html::escape(&soft(value, env)?, env)?))
}

pub(super) fn forceescape(env: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("forceescape")?;
    Ok(Value::Text(html::escape_all(&soft(value, env)?, env)?))
}

pub(super) fn safe(env: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("safe")?;
    Ok(Value::Text(soft(value, env)?.safe(true)))
}

pub(super) fn striptags(env: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("striptags")?;
    Ok(Value::Text(html::stripped_of_tags(&soft(value, env)?, env)?))
}

pub(super) fn urlencode(env: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("urlencode")?;
    let mut out = Builder::new(&env.meter)?;
    let pairs = match value {
        Value::Text(text) => {
            html::quoted_for_url(text, false, &mut out, env)?;
            return Ok(Value::Text(out.finish()?));
        }
        Value::Dict(dict) => Ok(Values::Dict(dict.clone(), View::Items, 0)),
        other => Values::of(other),
    };
    let Ok(mut pairs) = pairs else {
        html::quoted_for_url(&string(value, env)?, false, &mut out, env)?;
        return Ok(Value::Text(out.finish()?));
    };
    let mut first = true;
    while let Some(pair) = pairs.next(env)? {
        let pair = unpack(&pair, 2, env)?;
        if !std::mem::take(&mut first) {
            out.own("&")?;
        }
        for (i, part) in pair.iter().enumerate() {
            if i > 0 {
                out.own("=")?;
            }
            html::quoted_for_url(&string(part, env)?, true, &mut out, env)?;
        }
    }
    Ok(Value::Text(out.finish()?))
}

pub(super) fn xmlattr(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [space] = args.bind("xmlattr", ["autospace"])?;
    let Value::Dict(dict) = value else {
        return wrong(format!("xmlattr needs a dict, not {}", value.type_name()));
    };
    let mut out = Builder::new(&env.meter)?;
    let mut first = !flag(space, true);
    for (key, value) in dict.pairs() {
        env.meter.values(1)?;
        if matches!(value, Value::None | Value::Undefined(_)) {
            continue;
        }
        let key = key.as_text("an attribute's name")?;
        if key.as_str().contains([' ', '\t', '\n', '\r', '\x0b', '\x0c', '/', '>', '=']) {
            return wrong("invalid character in an attribute's name");
        }
        if !std::mem::take(&mut first) {
            out.own(" ")?;
        }
        out.text(&html::escape(key, env)?)?;
        out.own("=\"")?;
        out.text(&html::escape(&soft(value, env)?, env)?)?;
        out.own("\"")?;
    }
    Ok(Value::Text(out.finish()?))
}
