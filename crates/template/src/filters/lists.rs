//! Filters of lists and of any value.

use crate::access;
use crate::args::{Args, flag, needed};
use crate::compare;
use crate::env::Env;
use crate::error::{Result, wrong};
use crate::generator::{Generator, Next, keeps};
use crate::iterate::Values;
use crate::seq::Gather;
use crate::text::Text;
use crate::value::{Undefined, Value, View};

/// An attribute of attributes: `'function.name'`, `'parts.0'`.
pub(super) struct Path(Gather);

impl Path {
    pub(super) fn of(attribute: &Value, env: &Env) -> Result<Path> {
        match attribute {
            Value::Text(text) => Path::parse(text, env),
            other => Path::single(other, env),
        }
    }

    fn single(part: &Value, env: &Env) -> Result<Path> {
        let mut parts = Gather::with_capacity(&env.meter, 1)?;
        parts.push(part.clone())?;
        Ok(Path(parts))
    }

    fn parse(text: &Text, env: &Env) -> Result<Path> {
        env.meter.bytes(text.len())?;
        let n = text.as_str().matches('.').count() + 1;
        if n > crate::value::DEEPEST {
            return wrong("an attribute of too many parts");
        }
        let part = |part: &str| match part.parse() {
            Ok(index) if part.bytes().all(|b| b.is_ascii_digit()) => Value::Int(index),
            _ => Value::Text(text.sub(part)),
        };
        let mut parts = Gather::with_capacity(&env.meter, n)?;
        text.as_str().split('.').try_for_each(|name| parts.push(part(name)))?;
        Ok(Path(parts))
    }

    /// Paths with commas between them.
    pub(super) fn several(attribute: &Value, env: &Env) -> Result<Vec<Path>> {
        match attribute {
            Value::None => Ok(vec![Path::itself(env)?]),
            Value::Text(text) if text.as_str().matches(',').count() > crate::value::DEEPEST => {
                wrong("too many attributes")
            }
            Value::Text(text) => text.as_str().split(',').map(|part| Path::parse(&text.sub(part), env)).collect(),
            other => Ok(vec![Path::single(other, env)?]),
        }
    }

    /// Nothing at all: the value itself.
    pub(super) fn itself(env: &Env) -> Result<Path> {
        Ok(Path(Gather::new(&env.meter)?))
    }

    pub(super) fn get(&self, value: &Value, default: Option<&Value>, env: &Env) -> Result<Value> {
        let mut value = value.clone();
        for part in self.0.values() {
            env.meter.values(4)?;
            value = access::item(&value, part, env)?;
            if let Some(default) = default
                && value.is_undefined()
            {
                value = default.clone();
            }
        }
        Ok(value)
    }
}

/// An attribute of each value, all at once.
pub(super) fn each_at(mut values: Values, path: &Path, env: &Env) -> Result<Values> {
    let mut found = Gather::new(&env.meter)?;
    while let Some(value) = values.next(env)? {
        found.push(path.get(&value, None, env)?)?;
    }
    Ok(Values::Seq(found.seq()?, 0))
}

pub(super) fn default(_: &Env, value: &Value, args: Args) -> Result<Value> {
    let [default, boolean] = args.bind("default", ["default_value", "boolean"])?;
    let missing = value.is_undefined() || flag(boolean, false) && !value.is_true();
    Ok(if missing { default.cloned().unwrap_or_else(crate::operators::empty) } else { value.clone() })
}

pub(super) fn length(_: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("length")?;
    Ok(Value::Int(value.len()? as i128))
}

pub(super) fn list(env: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("list")?;
    if let Value::List(seq) = value {
        return Ok(Value::List(seq.clone()));
    }
    Values::of(value)?.gather(env)?.list()
}

pub(super) fn first(env: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("first")?;
    match Values::of(value)?.next(env)? {
        Some(value) => Ok(value),
        None => env.undefined("no first item, the sequence is empty"),
    }
}

pub(super) fn last(env: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("last")?;
    match Values::reversed(value)?.next(env)? {
        Some(value) => Ok(value),
        None => env.undefined("no last item, the sequence is empty"),
    }
}

pub(super) fn reverse(env: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("reverse")?;
    match value {
        Value::Text(_) => crate::slice::slice(value, [None, None, Some(&Value::Int(-1))], env),
        Value::Generator(_) => {
            let mut all = Values::of(value)?.gather(env)?;
            all.values_mut().reverse();
            all.list()
        }
        _ => Generator::over(env, "reversed", value, Values::reversed(value)?),
    }
}

pub(super) fn items(env: &Env, value: &Value, args: Args) -> Result<Value> {
    Generator::value(env, "items", value, args, |_, value, args| {
        args.none("items")?;
        match value {
            Value::Undefined(_) => Ok(over(Values::Nothing)),
            Value::Dict(dict) => Ok(over(Values::Dict(dict.clone(), View::Items, 0))),
            _ => wrong("items: only of a mapping"),
        }
    })
}

fn over(mut values: Values) -> Next {
    Box::new(move |env| values.next(env))
}

pub(super) fn attr(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [name] = args.bind("attr", ["name"])?;
    let name = needed(name, "attr", "name")?.as_text("name")?;
    if let Value::Undefined(undefined) = value {
        return undefined.used();
    }
    match access::own(value, name, env)? {
        Some(found) => Ok(found),
        // Items do not count as attributes here.
        None => Undefined::attribute(&env.meter, value, name.clone()),
    }
}

pub(super) fn batch(env: &Env, value: &Value, args: Args) -> Result<Value> {
    Generator::value(env, "batch", value, args, |_, value, args| {
        let [size, fill] = args.bind("batch", ["linecount", "fill_with"])?;
        let size = needed(size, "batch", "linecount")?.clone();
        let fill = fill.filter(|fill| !matches!(fill, Value::None)).cloned();
        let mut values = Values::of(value)?;
        let depth = value.depth();
        let mut ahead: Option<Value> = None;
        let mut is_first = true;
        Ok(Box::new(move |env| {
            let mut batch = Gather::new(&env.meter)?;
            if let Some(value) = ahead.take() {
                batch.push(value)?;
            } else if is_size(0, &size, env)? && std::mem::take(&mut is_first) {
                // Each batch is full at once: an empty one comes first.
                ahead = values.next(env)?;
                ahead.iter().try_for_each(|value| keeps(depth, value))?;
                return if ahead.is_some() { batch.list().map(Some) } else { Ok(None) };
            }
            while let Some(value) = values.next(env)? {
                if is_size(batch.len(), &size, env)? {
                    keeps(depth, &value)?;
                    ahead = Some(value);
                    break;
                }
                batch.push(value)?;
            }
            if batch.len() == 0 {
                return Ok(None);
            }
            if let Some(fill) = fill.as_ref().filter(|_| ahead.is_none()) {
                let short = compare::less(&Value::Int(batch.len() as i128), &size, &env.meter)?;
                let size = if short { size.as_int("linecount")? } else { 0 };
                while (batch.len() as i128) < size {
                    env.meter.values(1)?;
                    batch.push(fill.clone())?;
                }
            }
            batch.list().map(Some)
        }))
    })
}

/// Whether a batch is full; of a size that is no number, none is.
fn is_size(len: usize, size: &Value, env: &Env) -> Result<bool> {
    compare::equal(&Value::Int(len as i128), size, &env.meter)
}

pub(super) fn slice(env: &Env, value: &Value, args: Args) -> Result<Value> {
    Generator::value(env, "slice", value, args, |env, value, args| {
        let [slices, fill] = args.bind("slice", ["slices", "fill_with"])?;
        let slices = needed(slices, "slice", "slices")?.as_int("slices")?;
        let fill = fill.filter(|fill| !matches!(fill, Value::None)).cloned();
        let all = Values::of(value)?.gather(env)?.seq()?;
        all.iter().try_for_each(|item| keeps(value.depth(), item))?;
        if slices == 0 {
            return wrong("integer division or modulo by zero");
        }
        let (each, more) = (all.len() as i128 / slices, all.len() as i128 % slices);
        let (mut i, mut at) = (0, 0);
        Ok(Box::new(move |env| {
            if i >= slices {
                return Ok(None);
            }
            env.meter.step()?;
            let len = (each + i128::from(i < more)) as usize;
            let mut part = Gather::with_capacity(&env.meter, len + 1)?;
            for value in all.view(at, len, 1).iter() {
                env.meter.values(2)?;
                part.push(value.clone())?;
            }
            if let Some(fill) = fill.as_ref().filter(|_| i >= more) {
                part.push(fill.clone())?;
            }
            at += len;
            i += 1;
            part.list().map(Some)
        }))
    })
}
