//! Methods of Python's types that change nothing, and what else values have.

mod case;
mod containers;
mod pad;
mod search;
mod split;
mod strip;

pub(crate) use case::{capitalize, is_lower, is_upper, lower, upper};
pub(crate) use pad::centered;
pub(crate) use search::replaced;
pub(crate) use split::joined;
pub(crate) use strip::stripped;

use crate::args::Args;
use crate::env::Env;
use crate::error::{Result, wrong};
use crate::text::Text;
use crate::value::Value;

/// A method: the value, the arguments.
pub(crate) type Method = fn(&Env, &Value, Args) -> Result<Value>;

pub(crate) enum Found {
    Method(&'static str, Method),
    /// Python has it, the sandbox does not let it be used.
    Hidden,
}

type Table = &'static [(&'static str, Method)];

/// A line a method.
const TEXT: Table = &[
    ("capitalize", case::capitalize_method),
    ("casefold", case::casefold),
    ("center", pad::center),
    ("count", search::count),
    ("endswith", search::endswith),
    ("expandtabs", pad::expandtabs),
    ("find", search::find),
    ("format", crate::format::format),
    ("index", search::index),
    ("isalnum", case::isalnum),
    ("isalpha", case::isalpha),
    ("isascii", case::isascii),
    ("isdecimal", case::isdecimal),
    ("isdigit", case::isdigit),
    ("isidentifier", case::isidentifier),
    ("islower", case::islower),
    ("isnumeric", case::isnumeric),
    ("isprintable", case::isprintable),
    ("isspace", case::isspace),
    ("istitle", case::istitle),
    ("isupper", case::isupper),
    ("join", split::join),
    ("ljust", pad::ljust),
    ("lower", case::lower_method),
    ("lstrip", strip::lstrip),
    ("partition", split::partition),
    ("removeprefix", strip::removeprefix),
    ("removesuffix", strip::removesuffix),
    ("replace", search::replace),
    ("rfind", search::rfind),
    ("rindex", search::rindex),
    ("rjust", pad::rjust),
    ("rpartition", split::rpartition),
    ("rsplit", split::rsplit),
    ("rstrip", strip::rstrip),
    ("split", split::split),
    ("splitlines", split::splitlines),
    ("startswith", search::startswith),
    ("strip", strip::strip),
    ("swapcase", case::swapcase),
    ("title", case::title),
    ("upper", case::upper_method),
    ("zfill", pad::zfill),
];
const DICT: Table = &[
    ("copy", containers::itself),
    ("fromkeys", containers::fromkeys),
    ("get", containers::get),
    ("items", containers::items),
    ("keys", containers::keys),
    ("values", containers::values),
];
const LIST: Table = &[("copy", containers::itself), ("count", containers::count), ("index", containers::index)];
const TUPLE: Table = &[("count", containers::count), ("index", containers::index)];
const RANGE: Table = &[("count", containers::count), ("index", containers::index_in_range)];
const LOOP: Table = &[("changed", containers::changed), ("cycle", containers::cycle)];
const DICT_FUNCTION: Table = &[("fromkeys", containers::fromkeys)];
const CYCLER: Table = &[("next", containers::next), ("reset", containers::reset)];

/// Methods that change a value or would leave the sandbox.
const HIDDEN_OF_TEXT: &[&str] = &["encode", "format_map", "maketrans", "translate"];
const HIDDEN_OF_DICT: &[&str] = &["clear", "pop", "popitem", "setdefault", "update"];
const HIDDEN_OF_LIST: &[&str] = &["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"];
/// The attributes of every object of Python.
const HIDDEN: &[&str] = &[
    "__class__",
    "__delattr__",
    "__dict__",
    "__dir__",
    "__doc__",
    "__eq__",
    "__format__",
    "__ge__",
    "__getattribute__",
    "__getitem__",
    "__getstate__",
    "__gt__",
    "__hash__",
    "__init__",
    "__init_subclass__",
    "__iter__",
    "__le__",
    "__len__",
    "__lt__",
    "__module__",
    "__ne__",
    "__new__",
    "__reduce__",
    "__reduce_ex__",
    "__repr__",
    "__setattr__",
    "__sizeof__",
    "__str__",
    "__subclasshook__",
];

/// Whether dicts have a method of this name, also one that is hidden.
pub(crate) fn has_dict(name: &str) -> bool {
    DICT.iter().any(|(known, _)| *known == name) || is_hidden(name, HIDDEN_OF_DICT)
}

fn is_hidden(name: &str, hidden: &[&str]) -> bool {
    hidden.contains(&name) || name.starts_with("__") && HIDDEN.contains(&name)
}

/// The method of a value with this name.
pub(crate) fn find(value: &Value, name: &str) -> Option<Found> {
    let (table, hidden): (Table, &[&str]) = match value {
        Value::Text(_) => (TEXT, HIDDEN_OF_TEXT),
        Value::Dict(_) => (DICT, HIDDEN_OF_DICT),
        Value::List(_) => (LIST, HIDDEN_OF_LIST),
        Value::Tuple(_) => (TUPLE, &[]),
        Value::Range(_) => (RANGE, &[]),
        Value::Loop(_) => (LOOP, &[]),
        Value::Cycler(_) => (CYCLER, &[]),
        Value::Function(function) if function.name == "dict" => (DICT_FUNCTION, &[]),
        _ => (&[], &[]),
    };
    // Most names are as long as few of them: one after the other is faster than by their order.
    if let Some(&(name, method)) = table.iter().find(|(known, _)| *known == name) {
        return Some(Found::Method(name, method));
    }
    is_hidden(name, hidden).then_some(Found::Hidden)
}

/// An attribute of a value that is not a method.
pub(crate) fn property(value: &Value, name: &str, env: &Env) -> Result<Option<Value>> {
    Ok(match (value, name) {
        (Value::Loop(looped), _) => looped.attribute(name, env)?,
        (Value::Macro(called), _) => called.attribute(name, env)?,
        (Value::Tuple(seq), "grouper") if seq.is_grouped() => seq.get(0).cloned(),
        (Value::Tuple(seq), "list") if seq.is_grouped() => seq.get(1).cloned(),
        (Value::Cycler(cycler), "current") => cycler.items.get(cycler.at.get()).cloned(),
        (Value::Cycler(cycler), "items") => Some(Value::Tuple(cycler.items.clone())),
        (Value::Cycler(cycler), "pos") => Some(Value::Int(cycler.at.get() as i128)),
        (Value::Joiner(joiner), "sep") => Some(joiner.text.clone()),
        (Value::Joiner(joiner), "used") => Some(Value::Bool(joiner.used.get())),
        (Value::Range(range), "start") => Some(Value::Int(range.start)),
        (Value::Range(range), "step") => Some(Value::Int(range.step)),
        (Value::Range(range), "stop") => Some(Value::Int(range.stop)),
        (Value::Int(_) | Value::Bool(_), "real" | "numerator") => crate::number::int(value).map(Value::Int),
        (Value::Int(_) | Value::Bool(_), "imag") => Some(Value::Int(0)),
        (Value::Int(_) | Value::Bool(_), "denominator") => Some(Value::Int(1)),
        (Value::Float(n), "real") => Some(Value::Float(*n)),
        (Value::Float(_), "imag") => Some(Value::Float(0.0)),
        _ => None,
    })
}

/// The text that a method belongs to.
fn own(value: &Value) -> Result<&Text> {
    value.as_text("the value")
}

/// A text that an operation of a safe text takes in.
fn taken(own: &Text, other: &Text, env: &Env) -> Result<Text> {
    if own.is_safe() { crate::html::escape(other, env) } else { Ok(other.clone()) }
}

/// An argument that is an int, or not there.
fn optional_int(value: Option<&Value>, what: &str) -> Result<Option<i128>> {
    match value {
        None | Some(Value::None) => Ok(None),
        Some(value) => value.as_int(what).map(Some),
    }
}

/// A width or a count: memory limits come long before its end.
fn width(value: &Value, what: &str) -> Result<usize> {
    let n = value.as_int(what)?;
    if n > i128::from(u32::MAX) {
        wrong(format!("{what} is {n}, allowed: at most {}", u32::MAX))
    } else {
        Ok(n.max(0) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_in_order() {
        for table in [TEXT, DICT, LIST, TUPLE, RANGE, LOOP, CYCLER] {
            assert!(table.is_sorted_by(|a, b| a.0 < b.0));
        }
    }
}
