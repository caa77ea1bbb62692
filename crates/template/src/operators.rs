//! Operators on values other than numbers.

use crate::env::Env;
use crate::error::{Result, wrong};
use crate::format::percent;
use crate::html;
use crate::number::{arithmetic, int, pair};
use crate::parse::ast::{Binary, Comparison};
use crate::seq::{Gather, Seq};
use crate::text::{Builder, Text};
use crate::value::Value;
use std::cmp::Ordering;

fn sign(operator: Binary) -> &'static str {
    match operator {
        Binary::Add => "+",
        Binary::Sub => "-",
        Binary::Mul => "*",
        Binary::Div => "/",
        Binary::FloorDiv => "//",
        Binary::Mod => "%",
        Binary::Pow => "**",
    }
}

pub(crate) fn binary(operator: Binary, a: &Value, b: &Value, env: &Env) -> Result<Value> {
    if let Some(pair) = pair(a, b) {
        return arithmetic(operator, pair);
    }
    match (operator, a, b) {
        (Binary::Mod, Value::Text(text), _) => Ok(Value::Text(percent::with_value(text, b, env)?)),
        (_, Value::Undefined(undefined), _) | (_, _, Value::Undefined(undefined)) => undefined.used(),
        (Binary::Add, Value::Text(a), Value::Text(b)) => {
            let safe = a.is_safe() || b.is_safe();
            let (a, b) = if safe { (html::escape(a, env)?, html::escape(b, env)?) } else { (a.clone(), b.clone()) };
            Ok(Value::Text(joined_texts([&a, &b].into_iter(), env)?.safe(safe)))
        }
        (Binary::Add, Value::List(a), Value::List(b)) => Ok(Value::List(joined(a, b, env)?)),
        (Binary::Add, Value::Tuple(a), Value::Tuple(b)) => Ok(Value::Tuple(joined(a, b, env)?)),
        (Binary::Mul, Value::Text(text), n) | (Binary::Mul, n, Value::Text(text)) if int(n).is_some() => {
            let mut out = Builder::new(&env.meter)?;
            out.repeat(text, times(n))?;
            Ok(Value::Text(out.finish()?.safe(text.is_safe())))
        }
        (Binary::Mul, Value::List(seq), n) | (Binary::Mul, n, Value::List(seq)) if int(n).is_some() => {
            Ok(Value::List(repeated(seq, times(n), env)?))
        }
        (Binary::Mul, Value::Tuple(seq), n) | (Binary::Mul, n, Value::Tuple(seq)) if int(n).is_some() => {
            Ok(Value::Tuple(repeated(seq, times(n), env)?))
        }
        _ => wrong(format!(
            "unsupported operand types for {}: '{}' and '{}'",
            sign(operator),
            a.type_name(),
            b.type_name()
        )),
    }
}

/// `a + b + c`
pub(crate) fn sum(values: &[Value], env: &Env) -> Result<Value> {
    if let Some(texts) = plain_texts(values) {
        return Ok(Value::Text(joined_texts(texts, env)?));
    }
    let Some((first, others)) = values.split_first() else { return Ok(empty()) };
    others.iter().try_fold(first.clone(), |sum, value| binary(Binary::Add, &sum, value, env))
}

/// Writes `a + b + c`.
pub(crate) fn print_sum(values: &[Value], out: &mut Builder, env: &Env) -> Result<()> {
    match plain_texts(values) {
        Some(mut texts) => texts.try_for_each(|text| out.text(text)),
        None => crate::print::print(&sum(values, env)?, out, env),
    }
}

/// The values, if all are texts that need no escapes.
fn plain_texts(values: &[Value]) -> Option<impl Iterator<Item = &Text> + Clone> {
    fn plain(value: &Value) -> Option<&Text> {
        if let Value::Text(text) = value { Some(text).filter(|text| !text.is_safe()) } else { None }
    }
    values.iter().all(|value| plain(value).is_some()).then(|| values.iter().filter_map(plain))
}

fn joined_texts<'t>(texts: impl Iterator<Item = &'t Text> + Clone, env: &Env) -> Result<Text> {
    let mut out = Builder::with_capacity(&env.meter, texts.clone().map(Text::len).sum())?;
    for text in texts {
        out.text(text)?;
    }
    out.finish()
}

/// How often something is repeated: never, if the number is negative.
fn times(n: &Value) -> usize {
    usize::try_from(int(n).unwrap_or(0).max(0)).unwrap_or(usize::MAX)
}

fn joined(a: &Seq, b: &Seq, env: &Env) -> Result<Seq> {
    env.meter.values(2 * (a.len() + b.len()))?;
    let mut all = Gather::with_capacity(&env.meter, a.len() + b.len())?;
    for value in a.iter().chain(b.iter()) {
        all.push(value.clone())?;
    }
    all.seq()
}

fn repeated(seq: &Seq, times: usize, env: &Env) -> Result<Seq> {
    let n = seq.len().saturating_mul(times);
    env.meter.values(n.saturating_mul(2))?;
    let mut all = Gather::with_capacity(&env.meter, n)?;
    for _ in 0..if seq.len() > 0 { times } else { 0 } {
        for value in seq.iter() {
            all.push(value.clone())?;
        }
    }
    all.seq()
}

/// `-value` and `+value`
pub(crate) fn signed(sign: char, value: &Value) -> Result<Value> {
    match value {
        Value::Undefined(undefined) => undefined.used(),
        Value::Float(n) => Ok(Value::Float(if sign == '-' { -n } else { *n })),
        other => match int(other) {
            Some(n) if sign == '+' => Ok(Value::Int(n)),
            Some(n) => n.checked_neg().map_or_else(|| wrong("an integer of more than 128 bits"), |n| Ok(Value::Int(n))),
            None => wrong(format!("bad operand type for unary {sign}: '{}'", other.type_name())),
        },
    }
}

pub(crate) fn compare(comparison: Comparison, a: &Value, b: &Value, env: &Env) -> Result<bool> {
    use crate::compare::{contains, equal, order};
    let ordered = |sign: &str, is: fn(Ordering) -> bool| Ok(order(a, b, sign, &env.meter)?.is_some_and(is));
    match comparison {
        Comparison::Equal => equal(a, b, &env.meter),
        Comparison::NotEqual => Ok(!equal(a, b, &env.meter)?),
        Comparison::Less => ordered("<", Ordering::is_lt),
        Comparison::LessEqual => ordered("<=", Ordering::is_le),
        Comparison::Greater => ordered(">", Ordering::is_gt),
        Comparison::GreaterEqual => ordered(">=", Ordering::is_ge),
        Comparison::In => contains(b, a, env),
        Comparison::NotIn => Ok(!contains(b, a, env)?),
    }
}

/// `a ~ b ~ c`
pub(crate) fn concat(values: &[Value], env: &Env) -> Result<Value> {
    let texts = values.iter().map(|value| if let Value::Text(text) = value { text.len() } else { 0 }).sum();
    let mut out = Builder::with_capacity(&env.meter, texts)?;
    for value in values {
        crate::print::print(value, &mut out, env)?;
    }
    Ok(Value::Text(out.finish()?))
}

/// An empty text.
pub(crate) fn empty() -> Value {
    Value::Text(Text::default())
}
