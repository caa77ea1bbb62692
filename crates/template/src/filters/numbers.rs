//! Filters of numbers.

use super::lists::{Path, each_at};
use crate::args::Args;
use crate::compare::less;
use crate::env::Env;
use crate::error::{Result, wrong};
use crate::iterate::Values;
use crate::meter::Charge;
use crate::number::{self, NotInt};
use crate::operators::binary;
use crate::parse::ast::Binary;
use crate::value::Value;

pub(super) fn abs(_: &Env, value: &Value, args: Args) -> Result<Value> {
    args.none("abs")?;
    match value {
        Value::Float(n) => Ok(Value::Float(n.abs())),
        Value::Undefined(undefined) => undefined.used(),
        other => match number::int(other).and_then(i128::checked_abs) {
            Some(n) => Ok(Value::Int(n)),
            None => wrong(format!("bad operand type for abs: '{}'", other.type_name())),
        },
    }
}

/// Numbers are read from copies of texts.
fn reads(value: &Value, env: &Env) -> Result<()> {
    let Value::Text(text) = value else { return Ok(()) };
    env.meter.scan(text.len().saturating_mul(16))?;
    Charge::new(&env.meter, text.len().saturating_mul(2)).map(drop)
}

pub(super) fn int(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [default, base] = args.bind("int", ["default", "base"])?;
    let default = || Ok(default.cloned().unwrap_or(Value::Int(0)));
    reads(value, env)?;
    match value {
        Value::Undefined(undefined) => undefined.used(),
        Value::Float(n) if n.is_infinite() => wrong("cannot convert float infinity to integer"),
        Value::Float(n) if n.is_nan() => default(),
        Value::Float(n) => number::truncated(*n).map(Value::Int),
        // An invalid base has the same effect as a text that is not a number.
        Value::Text(text) => match number::parse_int(text.as_str(), base.map_or(Some(10), number::int).unwrap_or(-1)) {
            Ok(n) => Ok(Value::Int(n)),
            Err(NotInt::TooLarge) => wrong("an integer of more than 128 bits"),
            // "42.23" is 42.
            Err(NotInt::Text | NotInt::Base) => match number::parse_float(text.as_str()) {
                Some(n) if n.is_finite() => number::truncated(n).map(Value::Int),
                _ => default(),
            },
        },
        other => number::int(other).map_or_else(default, |n| Ok(Value::Int(n))),
    }
}

/// The result of `float` for a number or a text, if the text is a number.
fn as_float(value: &Value, env: &Env) -> Result<Option<f64>> {
    reads(value, env)?;
    Ok(match value {
        Value::Undefined(undefined) => return undefined.used(),
        Value::Text(text) => number::parse_float(text.as_str()),
        other => number::float(other),
    })
}

pub(super) fn float(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [default] = args.bind("float", ["default"])?;
    let found = as_float(value, env)?;
    Ok(found.map_or_else(|| default.cloned().unwrap_or(Value::Float(0.0)), Value::Float))
}

pub(super) fn round(_: &Env, value: &Value, args: Args) -> Result<Value> {
    let [precision, method] = args.bind("round", ["precision", "method"])?;
    let method = match method {
        None => "common",
        Some(method) => method.as_text("method")?.as_str(),
    };
    if !matches!(method, "common" | "ceil" | "floor") {
        return wrong("round: method is not one of common, ceil, floor");
    }
    if method == "common" {
        let digits = match precision {
            Some(Value::None) => return whole(value),
            precision => precision.map_or(Ok(0), |precision| precision.as_int("precision"))?,
        };
        return match value {
            Value::Float(n) => {
                let rounded = number::rounded(*n, digits);
                if rounded.is_infinite() && n.is_finite() {
                    wrong("rounded value too large to represent")
                } else {
                    Ok(Value::Float(rounded))
                }
            }
            Value::Undefined(undefined) => undefined.used(),
            other => match number::int(other) {
                Some(n) => number::rounded_int(n, digits).map(Value::Int),
                None => wrong(format!("type {} doesn't define a way to round", other.type_name())),
            },
        };
    }
    let precision = precision.cloned().unwrap_or(Value::Int(0));
    let scale = power_of_ten(&precision)?;
    let scaled = match (number::pair(value, &scale), value) {
        (Some(pair), _) => number::arithmetic(Binary::Mul, pair)?,
        (None, Value::Undefined(undefined)) => return undefined.used(),
        (None, other) => return wrong(format!("type {} can't be rounded", other.type_name())),
    };
    let moved = match scaled {
        // A large one has nothing behind the point.
        Value::Float(n) if n.is_finite() && n.abs() >= 1e30 => scaled,
        Value::Float(n) => Value::Int(number::truncated(if method == "ceil" { n.ceil() } else { n.floor() })?),
        other => other,
    };
    match number::pair(&moved, &scale) {
        Some(pair) => number::arithmetic(Binary::Div, pair),
        None => wrong("round: precision must be a number"),
    }
}

fn power_of_ten(precision: &Value) -> Result<Value> {
    match number::pair(&Value::Int(10), precision) {
        Some(pair) => number::arithmetic(Binary::Pow, pair),
        None => precision.as_int("precision").map(Value::Int),
    }
}

/// `round(value, None)`: an int.
fn whole(value: &Value) -> Result<Value> {
    match value {
        Value::Float(n) => number::truncated(number::rounded(*n, 0)).map(Value::Int),
        other => other.as_int("the value of round").map(Value::Int),
    }
}

pub(super) fn sum(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [attribute, start] = args.bind("sum", ["attribute", "start"])?;
    let mut values = match attribute {
        None | Some(Value::None) => Values::of(value)?,
        Some(attribute) => each_at(Values::of(value)?, &Path::of(attribute, env)?, env)?,
    };
    let mut total = start.cloned().unwrap_or(Value::Int(0));
    if matches!(total, Value::Text(_)) {
        return wrong("sum can't sum texts: use join");
    }
    while let Some(value) = values.next(env)? {
        total = binary(Binary::Add, &total, &value, env)?;
    }
    Ok(total)
}

pub(super) fn filesizeformat(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [binary] = args.bind("filesizeformat", ["binary"])?;
    let Some(bytes) = as_float(value, env)? else { return wrong("filesizeformat needs a number") };
    let (base, units) = if crate::args::flag(binary, false) {
        (1024, ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"])
    } else {
        (1000, ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"])
    };
    if bytes == 1.0 {
        return env.text("1 Byte");
    }
    if bytes < f64::from(base) {
        return env.text(&format!("{} Bytes", number::truncated(bytes)?));
    }
    let mut unit = i128::from(base);
    for (i, name) in units.iter().enumerate() {
        unit *= i128::from(base);
        if i == units.len() - 1 || less(&Value::Float(bytes), &Value::Int(unit), &env.meter)? {
            let shown = format!("{:.1} {name}", f64::from(base) * bytes / unit as f64);
            return env.text(&shown.replace("NaN", "nan"));
        }
    }
    env.text("")
}
