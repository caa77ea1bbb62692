//! Methods of dicts, lists, tuples, of `loop` and cyclers.

use crate::args::{Args, needed};
use crate::compare::{check_hashable, equal, same};
use crate::dict::Pairs;
use crate::env::Env;
use crate::error::{Result, wrong};
use crate::iterate::Values;
use crate::value::{Value, View};

/// A copy of a value that nobody changes.
pub(super) fn itself(_: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("copy")?;
    Ok(value.clone())
}

pub(super) fn get(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [key, default] = args.positional("get")?;
    let Value::Dict(dict) = value else { return Ok(Value::None) };
    let found = dict.get(needed(key, "get", "key")?, &env.meter)?;
    Ok(found.or(default).cloned().unwrap_or(Value::None))
}

/// `dict.fromkeys(..)`
pub(super) fn fromkeys(env: &Env, _: &Value, args: Args) -> Result<Value> {
    let [keys, value] = args.positional("fromkeys")?;
    let mut keys = Values::of(needed(keys, "fromkeys", "iterable")?)?;
    let mut pairs = Pairs::new(&env.meter, keys.left().unwrap_or(0))?;
    while let Some(key) = keys.next(env)? {
        check_hashable(&key, &env.meter)?;
        pairs.insert(key, value.cloned().unwrap_or(Value::None))?;
    }
    pairs.value()
}

fn view(value: &Value, args: Args, of: &str, view: View) -> Result<Value> {
    args.none(of)?;
    let Value::Dict(dict) = value else { return Ok(Value::None) };
    Ok(Value::View(dict.clone(), view))
}

pub(super) fn keys(_: &Env, value: &Value, args: Args) -> Result<Value> {
    view(value, args, "keys", View::Keys)
}

pub(super) fn values(_: &Env, value: &Value, args: Args) -> Result<Value> {
    view(value, args, "values", View::Values)
}

pub(super) fn items(_: &Env, value: &Value, args: Args) -> Result<Value> {
    view(value, args, "items", View::Items)
}

pub(super) fn count(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [wanted] = args.positional("count")?;
    let wanted = needed(wanted, "count", "value")?;
    let mut values = Values::of(value)?;
    let mut found = 0;
    while let Some(value) = values.next(env)? {
        found += i128::from(same(&value, wanted) || equal(&value, wanted, &env.meter)?);
    }
    Ok(Value::Int(found))
}

pub(super) fn index(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [wanted, start, stop] = args.positional("index")?;
    let wanted = needed(wanted, "index", "value")?;
    for bound in [start, stop].into_iter().flatten() {
        bound.as_int("a bound of index")?;
    }
    let (first, len, _) = crate::slice::range(value.len()?, [start, stop, None])?;
    let mut values = Values::of(value)?;
    let mut at = 0;
    while let Some(value) = values.next(env)? {
        if (first..first + len).contains(&at) && (same(&value, wanted) || equal(&value, wanted, &env.meter)?) {
            return Ok(Value::Int(at as i128));
        }
        at += 1;
    }
    wrong("the value is not in it")
}

/// As of a list, but without bounds.
pub(super) fn index_in_range(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [wanted] = args.positional("index")?;
    needed(wanted, "index", "value")?;
    index(env, value, args)
}

pub(super) fn cycle(_: &Env, value: &Value, args: Args) -> Result<Value> {
    let Value::Loop(looped) = value else { return Ok(Value::None) };
    looped.cycle(args.positional)
}

pub(super) fn changed(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let Value::Loop(looped) = value else { return Ok(Value::None) };
    Ok(Value::Bool(looped.changed(args.positional, env)?))
}

pub(super) fn next(_: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("next")?;
    let Value::Cycler(cycler) = value else { return Ok(Value::None) };
    let at = cycler.at.get();
    cycler.at.set((at + 1) % cycler.items.len().max(1));
    Ok(cycler.items.get(at).cloned().unwrap_or(Value::None))
}

pub(super) fn reset(_: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("reset")?;
    if let Value::Cycler(cycler) = value {
        cycler.at.set(0);
    }
    Ok(Value::None)
}
