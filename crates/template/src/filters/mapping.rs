//! `map`, `select` and their like: filters and tests of each value, by name.

use super::lists::Path;
use super::{Filter, find};
use crate::args::Args;
use crate::checks::{self, Check};
use crate::env::Env;
use crate::error::{Result, shortened, wrong};
use crate::generator::{Generator, Next};
use crate::iterate::Values;
use crate::seq::Gather;
use crate::text::Text;
use crate::value::Value;

/// Arguments that are kept for each value.
struct Kept {
    positional: Gather,
    named: Vec<(Text, Value)>,
}

impl Kept {
    fn of(args: Args, env: &Env) -> Result<Kept> {
        let mut positional = Gather::with_capacity(&env.meter, args.positional.len())?;
        for value in args.positional {
            positional.push(value.clone())?;
        }
        Ok(Kept { positional, named: args.named.to_vec() })
    }

    fn args(&self) -> Args<'_> {
        Args { positional: self.positional.values(), named: &self.named }
    }
}

/// The values of an iterable, or none if it is empty.
fn values_of(value: &Value) -> Result<Values> {
    if value.is_true() { Values::of(value) } else { Ok(Values::Nothing) }
}

pub(super) fn map(env: &Env, value: &Value, args: Args) -> Result<Value> {
    Generator::value(env, "map", value, args, |env, value, args| {
        let mut values = values_of(value)?;
        if matches!(values, Values::Nothing) {
            return Ok(Box::new(|_| Ok(None)));
        }
        let of_attribute =
            args.positional.is_empty() && args.named.iter().any(|(name, _)| name.as_str() == "attribute");
        if of_attribute {
            let [attribute, default] = args.bind("map", ["attribute", "default"])?;
            let path = attribute.map_or_else(|| Path::itself(env), |attribute| Path::of(attribute, env))?;
            let default = default.filter(|default| !matches!(default, Value::None)).cloned();
            return Ok(Box::new(move |env| {
                let Some(value) = values.next(env)? else { return Ok(None) };
                env.meter.step()?;
                path.get(&value, default.as_ref(), env).map(Some)
            }));
        }
        let Some(name) = args.positional.first() else { return wrong("map needs a filter, or attribute=..") };
        let filter = named_filter(name)?;
        let kept = Kept::of(args.rest(), env)?;
        Ok(Box::new(move |env| {
            let Some(value) = values.next(env)? else { return Ok(None) };
            env.meter.step()?;
            (filter.run)(env, &value, kept.args()).map(Some)
        }))
    })
}

fn named_filter(name: &Value) -> Result<&'static Filter> {
    let name = name.as_text("the name of a filter")?.as_str();
    find(name).map_or_else(|| wrong(format!("no filter named '{}'", shortened(name, 80))), Ok)
}

pub(super) fn select(env: &Env, value: &Value, args: Args) -> Result<Value> {
    Generator::value(env, "select", value, args, |env, value, args| chosen(env, value, args, false, true))
}

pub(super) fn reject(env: &Env, value: &Value, args: Args) -> Result<Value> {
    Generator::value(env, "reject", value, args, |env, value, args| chosen(env, value, args, false, false))
}

pub(super) fn selectattr(env: &Env, value: &Value, args: Args) -> Result<Value> {
    Generator::value(env, "selectattr", value, args, |env, value, args| chosen(env, value, args, true, true))
}

pub(super) fn rejectattr(env: &Env, value: &Value, args: Args) -> Result<Value> {
    Generator::value(env, "rejectattr", value, args, |env, value, args| chosen(env, value, args, true, false))
}

/// The values that a test, or their truth, is `wanted` for.
fn chosen(env: &Env, value: &Value, args: Args, of_attribute: bool, wanted: bool) -> Result<Next> {
    let mut values = values_of(value)?;
    if matches!(values, Values::Nothing) {
        return Ok(Box::new(|_| Ok(None)));
    }
    let (path, args) = match (of_attribute, args.positional.first()) {
        (false, _) => (Path::itself(env)?, args),
        (true, Some(attribute)) => (Path::of(attribute, env)?, args.rest()),
        (true, None) => return wrong("the name of an attribute is missing"),
    };
    let check = args.positional.first().map(named_check).transpose()?;
    let kept = Kept::of(args.rest(), env)?;
    Ok(Box::new(move |env| {
        while let Some(value) = values.next(env)? {
            env.meter.step()?;
            let looked_at = path.get(&value, None, env)?;
            let is = match check {
                Some(check) => (check.run)(env, &looked_at, kept.args())?,
                None => looked_at.is_true(),
            };
            if is == wanted {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }))
}

fn named_check(name: &Value) -> Result<&'static Check> {
    let name = name.as_text("the name of a test")?.as_str();
    checks::find(name).map_or_else(|| wrong(format!("no test named '{}'", shortened(name, 80))), Ok)
}
