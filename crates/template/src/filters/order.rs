//! Filters that compare values: `sort`, `unique`, `groupby`, `min`, `max`.

use super::lists::Path;
use crate::args::{Args, flag, needed};
use crate::compare::{check_hashable, equal, less};
use crate::dict::Pairs;
use crate::env::Env;
use crate::error::{Result, wrong};
use crate::generator::{Generator, keeps};
use crate::iterate::Values;
use crate::methods::lower;
use crate::seq::{Gather, Seq};
use crate::value::{Value, View};

/// A text in lower case, if case does not count.
fn folded(value: Value, case: bool, env: &Env) -> Result<Value> {
    match value {
        Value::Text(text) if !case => Ok(Value::Text(lower(&text, env)?)),
        other => Ok(other),
    }
}

/// Sorts by keys, stable; equal keys stay in order also if it is reversed. A merge sort of our own: the standard library's
/// may panic where an order is none, and NaN has none.
fn sorted(values: Gather, keys: Gather, reverse: bool, env: &Env) -> Result<Gather> {
    let n = values.len();
    let keys = keys.values();
    let (mut order, _order) = crate::seq::charged(&env.meter, 0..n, n)?;
    let (mut merged, _merged) = crate::seq::charged(&env.meter, 0..n, n)?;
    let mut width = 1;
    while width < n {
        for start in (0..n).step_by(2 * width) {
            let (middle, end) = ((start + width).min(n), (start + 2 * width).min(n));
            let (mut a, mut b) = (start, middle);
            for place in &mut merged[start..end] {
                env.meter.values(24)?;
                // The right one comes first only if it is less.
                let right = a == middle
                    || b < end && {
                        let (left, right) = (&keys[order[a]], &keys[order[b]]);
                        if reverse { less(left, right, &env.meter)? } else { less(right, left, &env.meter)? }
                    };
                let taken = if right { &mut b } else { &mut a };
                *place = order[*taken];
                *taken += 1;
            }
        }
        std::mem::swap(&mut order, &mut merged);
        width *= 2;
    }
    let mut out = Gather::with_capacity(&env.meter, n)?;
    for i in order {
        out.push(values.values()[i].clone())?;
    }
    Ok(out)
}

pub(super) fn sort(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [reverse, case, attribute] = args.bind("sort", ["reverse", "case_sensitive", "attribute"])?;
    let paths = Path::several(attribute.unwrap_or(&Value::None), env)?;
    let values = Values::of(value)?.gather(env)?;
    let mut keys = Gather::with_capacity(&env.meter, values.len())?;
    for value in values.values() {
        let mut key = Vec::with_capacity(paths.len());
        for path in &paths {
            key.push(folded(path.get(value, None, env)?, flag(case, false), env)?);
        }
        keys.push(Value::List(Seq::new(&env.meter, key)?))?;
    }
    sorted(values, keys, flag(reverse, false), env)?.list()
}

pub(super) fn dictsort(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [case, by, reverse] = args.bind("dictsort", ["case_sensitive", "by", "reverse"])?;
    let place = match by {
        None => 0,
        Some(Value::Text(by)) if by.as_str() == "key" => 0,
        Some(Value::Text(by)) if by.as_str() == "value" => 1,
        Some(_) => return wrong("dictsort: by is not one of 'key', 'value'"),
    };
    let dict = match value {
        Value::Dict(dict) => dict,
        Value::Undefined(undefined) => return undefined.used(),
        other => return wrong(format!("dictsort needs a dict, not {}", other.type_name())),
    };
    let values = Values::Dict(dict.clone(), View::Items, 0).gather(env)?;
    let mut keys = Gather::with_capacity(&env.meter, values.len())?;
    for (key, value) in dict.pairs() {
        keys.push(folded(if place == 0 { key } else { value }.clone(), flag(case, false), env)?)?;
    }
    sorted(values, keys, flag(reverse, false), env)?.list()
}

pub(super) fn unique(env: &Env, value: &Value, args: Args) -> Result<Value> {
    Generator::value(env, "unique", value, args, |env, value, args| {
        let [case, attribute] = args.bind("unique", ["case_sensitive", "attribute"])?;
        let case = flag(case, false);
        let path = path_of(attribute, env)?;
        let mut values = Values::of(value)?;
        let mut seen = Pairs::new(&env.meter, 0)?;
        let depth = value.depth();
        let mut count = 0;
        Ok(Box::new(move |env| {
            while let Some(value) = values.next(env)? {
                env.meter.step()?;
                let key = folded(path.get(&value, None, env)?, case, env)?;
                check_hashable(&key, &env.meter)?;
                keeps(depth, &key)?;
                seen.insert(key, Value::None)?;
                if seen.len() > count {
                    count += 1;
                    return Ok(Some(value));
                }
            }
            Ok(None)
        }))
    })
}

fn path_of(attribute: Option<&Value>, env: &Env) -> Result<Path> {
    match attribute {
        None | Some(Value::None) => Path::itself(env),
        Some(attribute) => Path::of(attribute, env),
    }
}

fn extreme(
    env: &Env,
    value: &Value,
    args: Args,
    of: &str,
    better: fn(&Value, &Value, &Env) -> Result<bool>,
) -> Result<Value> {
    let [case, attribute] = args.bind(of, ["case_sensitive", "attribute"])?;
    let (case, path) = (flag(case, false), path_of(attribute, env)?);
    let mut values = Values::of(value)?;
    let mut best: Option<(Value, Value)> = None;
    while let Some(value) = values.next(env)? {
        let key = folded(path.get(&value, None, env)?, case, env)?;
        let wins = match &best {
            None => true,
            Some((_, old)) => better(&key, old, env)?,
        };
        if wins {
            best = Some((value, key));
        }
    }
    match best {
        Some((value, _)) => Ok(value),
        None => env.undefined("no aggregated item, the sequence is empty"),
    }
}

pub(super) fn min(env: &Env, value: &Value, args: Args) -> Result<Value> {
    extreme(env, value, args, "min", |new, old, env| less(new, old, &env.meter))
}

pub(super) fn max(env: &Env, value: &Value, args: Args) -> Result<Value> {
    extreme(env, value, args, "max", |new, old, env| less(old, new, &env.meter))
}

pub(super) fn groupby(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [attribute, default, case] = args.bind("groupby", ["attribute", "default", "case_sensitive"])?;
    let path = Path::of(needed(attribute, "groupby", "attribute")?, env)?;
    let default = default.filter(|default| !matches!(default, Value::None));
    let case = flag(case, false);
    let values = Values::of(value)?.gather(env)?;
    let mut keys = Gather::with_capacity(&env.meter, values.len())?;
    for value in values.values() {
        keys.push(folded(path.get(value, default, env)?, case, env)?)?;
    }
    let values = sorted(values, keys, false, env)?;
    let mut groups = Gather::new(&env.meter)?;
    let mut group = Gather::new(&env.meter)?;
    let mut last: Option<(Value, Value)> = None;
    for value in values.values() {
        let name = path.get(value, default, env)?;
        let key = folded(name.clone(), case, env)?;
        if let Some((name, old)) = &last
            && !equal(old, &key, &env.meter)?
        {
            let members = std::mem::replace(&mut group, Gather::new(&env.meter)?).list()?;
            groups.push(Value::Tuple(Seq::grouped(&env.meter, vec![name.clone(), members])?))?;
            last = None;
        }
        // The first value's own name, not the folded one.
        last.get_or_insert((name, key));
        group.push(value.clone())?;
    }
    if let Some((name, _)) = last {
        groups.push(Value::Tuple(Seq::grouped(&env.meter, vec![name, group.list()?])?))?;
    }
    groups.list()
}
