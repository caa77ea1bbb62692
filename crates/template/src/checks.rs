//! Tests, which stand behind `is`: one function and one line of a table each.

use crate::args::{Args, needed};
use crate::compare::{check_hashable, contains, same};
use crate::env::Env;
use crate::error::Result;
use crate::filters;
use crate::methods::{is_lower, is_upper};
use crate::operators::{binary, compare};
use crate::parse::ast::{Binary, Comparison};
use crate::print::string;
use crate::value::Value;

/// A test: the value, the arguments.
pub(crate) type Run = fn(&Env, &Value, Args) -> Result<bool>;

/// A test by name.
#[derive(Debug)]
pub(crate) struct Check {
    pub name: &'static str,
    pub run: Run,
}

/// A test without arguments.
macro_rules! plain {
    ($value:ident $is:expr) => {
        |_, $value, args| args.none("the test").map(|()| $is)
    };
}

/// A comparison with the argument.
macro_rules! compared {
    ($comparison:ident) => {
        |env, value, args| {
            let [other] = args.positional("the test")?;
            compare(Comparison::$comparison, value, needed(other, "the test", "b")?, env)
        }
    };
}

const fn row(name: &'static str, run: Run) -> Check {
    Check { name, run }
}

/// A line a test, in the order of their names.
static TABLE: &[Check] = &[
    row("!=", compared!(NotEqual)),
    row("<", compared!(Less)),
    row("<=", compared!(LessEqual)),
    row("==", compared!(Equal)),
    row(">", compared!(Greater)),
    row(">=", compared!(GreaterEqual)),
    row("boolean", plain!(value matches!(value, Value::Bool(_)))),
    row("callable", plain!(value is_callable(value))),
    row("defined", plain!(value !value.is_undefined())),
    row("divisibleby", divisibleby),
    row("eq", compared!(Equal)),
    row("equalto", compared!(Equal)),
    row("escaped", plain!(value matches!(value, Value::Text(text) if text.is_safe()))),
    row("even", |env, value, args| parity(env, value, args, 0)),
    row("false", plain!(value matches!(value, Value::Bool(false)))),
    row("filter", |env, value, args| exists(env, value, args, |name| filters::find(name).is_some())),
    row("float", plain!(value matches!(value, Value::Float(_)))),
    row("ge", compared!(GreaterEqual)),
    row("greaterthan", compared!(Greater)),
    row("gt", compared!(Greater)),
    row("in", is_in),
    row("integer", plain!(value matches!(value, Value::Int(_)))),
    row("iterable", plain!(value is_iterable(value))),
    row("le", compared!(LessEqual)),
    row("lessthan", compared!(Less)),
    row("lower", |env, value, args| case(env, value, args, is_lower)),
    row("lt", compared!(Less)),
    row("mapping", plain!(value matches!(value, Value::Dict(_)))),
    row("ne", compared!(NotEqual)),
    row("none", plain!(value matches!(value, Value::None))),
    row("number", plain!(value matches!(value, Value::Int(_) | Value::Bool(_) | Value::Float(_)))),
    row("odd", |env, value, args| parity(env, value, args, 1)),
    row("sameas", sameas),
    row("sequence", plain!(value is_sequence(value))),
    row("string", plain!(value matches!(value, Value::Text(_)))),
    row("test", |env, value, args| exists(env, value, args, |name| find(name).is_some())),
    row("true", plain!(value matches!(value, Value::Bool(true)))),
    row("undefined", plain!(value value.is_undefined())),
    row("upper", |env, value, args| case(env, value, args, is_upper)),
];

/// The test of this name.
pub(crate) fn find(name: &str) -> Option<&'static Check> {
    TABLE.binary_search_by(|row| row.name.cmp(name)).ok().map(|found| &TABLE[found])
}

fn is_callable(value: &Value) -> bool {
    matches!(
        value,
        Value::Macro(_)
            | Value::Loop(_)
            | Value::Joiner(_)
            | Value::Method(_)
            | Value::Function(_)
            | Value::Undefined(_)
    )
}

fn is_iterable(value: &Value) -> bool {
    matches!(value, Value::Loop(_)) || crate::iterate::Values::of(value).is_ok()
}

fn is_sequence(value: &Value) -> bool {
    matches!(
        value,
        Value::Text(_) | Value::List(_) | Value::Tuple(_) | Value::Dict(_) | Value::Range(_) | Value::Undefined(_)
    )
}

/// The remainder of a division, against another value.
fn remainder(env: &Env, value: &Value, by: &Value, wanted: i128) -> Result<bool> {
    let rest = binary(Binary::Mod, value, by, env)?;
    crate::compare::equal(&rest, &Value::Int(wanted), &env.meter)
}

fn parity(env: &Env, value: &Value, args: Args, wanted: i128) -> Result<bool> {
    args.none("the test")?;
    remainder(env, value, &Value::Int(2), wanted)
}

fn divisibleby(env: &Env, value: &Value, args: Args) -> Result<bool> {
    let [by] = args.bind("divisibleby", ["num"])?;
    remainder(env, value, needed(by, "divisibleby", "num")?, 0)
}

fn exists(env: &Env, value: &Value, args: Args, exists: fn(&str) -> bool) -> Result<bool> {
    args.none("the test")?;
    check_hashable(value, &env.meter)?;
    Ok(matches!(value, Value::Text(name) if exists(name.as_str())))
}

fn is_in(env: &Env, value: &Value, args: Args) -> Result<bool> {
    let [seq] = args.bind("in", ["seq"])?;
    contains(needed(seq, "in", "seq")?, value, env)
}

fn sameas(_: &Env, value: &Value, args: Args) -> Result<bool> {
    let [other] = args.bind("sameas", ["other"])?;
    Ok(same(value, needed(other, "sameas", "other")?))
}

fn case(env: &Env, value: &Value, args: Args, is: fn(&str) -> bool) -> Result<bool> {
    args.none("the test")?;
    let text = string(value, env)?;
    env.meter.scan(text.len())?;
    Ok(is(text.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        assert!(TABLE.is_sorted_by(|a, b| a.name < b.name));
    }
}
