//! Attributes and items, as the sandbox gives them.

use crate::compare;
use crate::env::Env;
use crate::error::{Kind, Result};
use crate::meter::Charge;
use crate::methods::{self, Found};
use crate::slice::{characters, place};
use crate::text::Text;
use crate::value::{Bound, Undefined, Value};
use std::rc::Rc;

/// `value.name`: an attribute, else an item.
pub(crate) fn attribute(value: &Value, name: &Text, env: &Env) -> Result<Value> {
    let found = match value {
        // Names hidden by the sandbox are refused first.
        Value::Undefined(_) if methods::find(value, name.as_str()).is_some() => {
            return Undefined::hidden(&env.meter, value, name.clone());
        }
        Value::Undefined(undefined) => return undefined.used(),
        // The most frequent one first: of these `own` has no more.
        Value::Dict(dict) if !methods::has_dict(name.as_str()) => dict.named(name, &env.meter)?.cloned(),
        _ => own(value, name, env)?,
    };
    match found {
        Some(found) => Ok(found),
        None => Undefined::attribute(&env.meter, value, name.clone()),
    }
}

/// `value[key]`: an item, else an attribute.
pub(crate) fn item(value: &Value, key: &Value, env: &Env) -> Result<Value> {
    let index = crate::number::int(key);
    let found = match value {
        Value::Undefined(undefined) => return undefined.used(),
        Value::Dict(dict) => match compare::check_hashable(key, &env.meter) {
            Ok(()) => dict.get(key, &env.meter)?.cloned(),
            Err(fail) if fail.kind != Kind::Runtime => return Err(fail),
            Err(_) => None,
        },
        Value::List(seq) | Value::Tuple(seq) => index.and_then(|i| seq.get(place(i, seq.len())?).cloned()),
        Value::Range(range) => index.and_then(|i| Some(range.get(place(i, range.len as usize)?))),
        Value::Text(text) if index.is_some() => {
            let at = index.and_then(|i| place(i, text.chars()));
            at.map(|at| Value::Text(characters(text, at, 1)))
        }
        _ => None,
    };
    if let Some(found) = found {
        return Ok(found);
    }
    if let Value::Text(name) = key
        && let Some(found) = own(value, name, env)?
    {
        return Ok(found);
    }
    Undefined::element(&env.meter, value, key)
}

/// An attribute of the value's type; one that the sandbox hides is there, but can't be used.
pub(crate) fn own(value: &Value, name: &Text, env: &Env) -> Result<Option<Value>> {
    let word = name.as_str();
    Ok(Some(match value {
        Value::Namespace(id) => match env.attribute(*id, word)? {
            Some(found) => found,
            None if word == "__class__" => Undefined::hidden(&env.meter, value, name.clone())?,
            None => return Ok(None),
        },
        _ => match methods::find(value, word) {
            Some(Found::Method(name, method)) => {
                let charge = Charge::of::<Bound>(&env.meter, 0)?;
                let bound = Bound { value: value.clone(), name, method, _charge: charge };
                crate::value::level_above([&bound.value])?;
                Value::Method(Rc::new(bound))
            }
            Some(Found::Hidden) => Undefined::hidden(&env.meter, value, name.clone())?,
            None => return methods::property(value, word, env),
        },
    }))
}
