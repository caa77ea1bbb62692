//! Equality, order, membership and hashes, as Python has them. Values are at most [`DEEPEST`](crate::value::DEEPEST)
//! deep, so this recurses.

use crate::dict::Dict;
use crate::env::Env;
use crate::error::{Result, wrong};
use crate::iterate::Values;
use crate::meter::Meter;
use crate::text::Text;
use crate::value::{Value, View};
use std::cmp::Ordering;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::rc::Rc;

/// The value of a number: `True` is 1.
#[derive(Clone, Copy)]
enum Number {
    Int(i128),
    Float(f64),
}

fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Int(n) => Some(Number::Int(*n)),
        Value::Bool(truth) => Some(Number::Int(i128::from(*truth))),
        Value::Float(n) => Some(Number::Float(*n)),
        _ => None,
    }
}

/// Exact, unlike a conversion of the int to a float.
fn order_of_numbers(a: Number, b: Number) -> Option<Ordering> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
        (Number::Float(_), Number::Int(_)) => order_of_numbers(b, a).map(Ordering::reverse),
        (Number::Int(a), Number::Float(b)) => {
            if b.is_nan() {
                return None;
            }
            // Casts saturate: beyond the range of ints the float decides.
            let whole = b.trunc() as i128;
            Some(
                a.cmp(&whole)
                    .then_with(|| if b >= 1.7e38 { Ordering::Less } else { 0.0_f64.total_cmp(&(b - b.trunc())) }),
            )
        }
    }
}

/// `==`
pub(crate) fn equal(a: &Value, b: &Value, meter: &Meter) -> Result<bool> {
    if let (Value::Text(a), Value::Text(b)) = (a, b) {
        if a.len() == b.len() {
            meter.bytes(a.len())?;
        }
        return Ok(a.is(b.as_str()));
    }
    if let (Some(a), Some(b)) = (number(a), number(b)) {
        return Ok(order_of_numbers(a, b) == Some(Ordering::Equal));
    }
    Ok(match (a, b) {
        (Value::None, Value::None) | (Value::Undefined(_), Value::Undefined(_)) => true,
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            if a.is(b) {
                return Ok(true);
            }
            for (a, b) in a.iter().zip(b.iter()) {
                meter.values(1)?;
                if !equal(a, b, meter)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Dict(a), Value::Dict(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (key, value) in a.pairs() {
                meter.values(1)?;
                match b.get(key, meter)? {
                    Some(other) if equal(value, other, meter)? => {}
                    _ => return Ok(false),
                }
            }
            true
        }
        (Value::View(a, one @ (View::Keys | View::Items)), Value::View(b, other @ (View::Keys | View::Items))) => {
            a.len() == b.len() && is_part((a, *one), (b, *other), meter)?
        }
        (Value::Range(a), Value::Range(b)) => {
            a.len == b.len && (a.len == 0 || a.start == b.start && (a.len == 1 || a.step == b.step))
        }
        (Value::Namespace(a), Value::Namespace(b)) => a == b,
        _ => same(a, b),
    })
}

/// Whether all members of a view of a dict are members of another.
fn is_part((a, one): (&Dict, View), (b, other): (&Dict, View), meter: &Meter) -> Result<bool> {
    if a.len() > b.len() || one != other {
        return Ok(a.len() == 0);
    }
    for (key, value) in a.pairs() {
        meter.values(1)?;
        match b.get(key, meter)? {
            Some(found) if one == View::Keys || equal(value, found, meter)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// `is`, as far as it is no matter of Python's memory: small values are what they are worth.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::None, Value::None) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Text(a), Value::Text(b)) => {
            if a.len() == b.len() {
                a.note();
            }
            a.as_str() == b.as_str() && a.is_safe() == b.is_safe()
        }
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => a.is(b),
        (Value::Dict(a), Value::Dict(b)) => Rc::ptr_eq(a, b),
        (Value::Generator(a), Value::Generator(b)) => Rc::ptr_eq(a, b),
        (Value::Range(a), Value::Range(b)) => Rc::ptr_eq(a, b),
        (Value::Namespace(a), Value::Namespace(b)) => a == b,
        (Value::Macro(a), Value::Macro(b)) => Rc::ptr_eq(a, b),
        (Value::Loop(a), Value::Loop(b)) => Rc::ptr_eq(a, b),
        (Value::Cycler(a), Value::Cycler(b)) => Rc::ptr_eq(a, b),
        (Value::Joiner(a), Value::Joiner(b)) => Rc::ptr_eq(a, b),
        (Value::Function(a), Value::Function(b)) => std::ptr::eq(*a, *b),
        (Value::Undefined(a), Value::Undefined(b)) => Rc::ptr_eq(a, b),
        _ => false,
    }
}

/// The order of two values; `None` for NaN. `sign` is the operator in the template, for the message.
pub(crate) fn order(a: &Value, b: &Value, sign: &str, meter: &Meter) -> Result<Option<Ordering>> {
    if let (Some(a), Some(b)) = (number(a), number(b)) {
        return Ok(order_of_numbers(a, b));
    }
    match (a, b) {
        (Value::Undefined(undefined), _) | (_, Value::Undefined(undefined)) => undefined.used(),
        (Value::Text(a), Value::Text(b)) => {
            meter.bytes(a.len().min(b.len()))?;
            // In UTF-8, bytes have the same order as characters.
            Ok(Some(a.as_str().cmp(b.as_str())))
        }
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            for (a, b) in a.iter().zip(b.iter()) {
                meter.values(1)?;
                if !equal(a, b, meter)? {
                    return order(a, b, sign, meter);
                }
            }
            Ok(Some(a.len().cmp(&b.len())))
        }
        (Value::View(a, one @ (View::Keys | View::Items)), Value::View(b, other @ (View::Keys | View::Items))) => {
            // As sets: less is a part.
            let (a, b) = ((&**a, *one), (&**b, *other));
            let (less, greater) = (is_part(a, b, meter)?, is_part(b, a, meter)?);
            Ok(match (less, greater) {
                (true, true) => Some(Ordering::Equal),
                (true, false) => Some(Ordering::Less),
                (false, true) => Some(Ordering::Greater),
                (false, false) => None,
            })
        }
        _ => wrong(format!("'{sign}' not supported between instances of '{}' and '{}'", a.type_name(), b.type_name())),
    }
}

/// `<`
pub(crate) fn less(a: &Value, b: &Value, meter: &Meter) -> Result<bool> {
    Ok(order(a, b, "<", meter)? == Some(Ordering::Less))
}

/// `needle in hay`
pub(crate) fn contains(hay: &Value, needle: &Value, env: &Env) -> Result<bool> {
    let meter = &*env.meter;
    match hay {
        Value::Text(text) => {
            let Value::Text(needle) = needle else {
                if let Value::Undefined(undefined) = needle {
                    return undefined.used();
                }
                return wrong(format!("'in <string>' requires string as left operand, not {}", needle.type_name()));
            };
            meter.scan(text.len())?;
            Ok(text.as_str().contains(needle.as_str()))
        }
        Value::Dict(dict) | Value::View(dict, View::Keys) => Ok(dict.get(needle, meter)?.is_some()),
        Value::Range(range) => match number(needle) {
            Some(Number::Int(n)) => Ok(range.len > 0 && range.contains(n)),
            Some(Number::Float(n)) => Ok(range.len > 0 && n.fract() == 0.0 && range.contains(n as i128)),
            None => Ok(false),
        },
        _ => {
            let mut values = match Values::of(hay) {
                Ok(values) => values,
                Err(_) if !hay.is_undefined() => {
                    return wrong(format!("argument of type '{}' is not iterable", hay.type_name()));
                }
                Err(error) => return Err(error),
            };
            while let Some(value) = values.next(env)? {
                if same(&value, needle) || equal(&value, needle, meter)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
    }
}

/// Refuses lists and dicts as keys, and tuples that contain one.
pub(crate) fn check_hashable(value: &Value, meter: &Meter) -> Result<()> {
    match value {
        Value::List(_) | Value::Dict(_) | Value::View(_, View::Keys | View::Items) => {
            wrong(format!("unhashable type: '{}'", value.type_name()))
        }
        Value::Tuple(seq) => {
            meter.values(seq.len())?;
            seq.iter().try_for_each(|value| check_hashable(value, meter))
        }
        _ => Ok(()),
    }
}

/// Equal values have equal hashes.
pub(crate) fn hash(value: &Value, hasher: &RandomState, meter: &Meter) -> Result<u64> {
    meter.values(4)?;
    let mut state = hasher.build_hasher();
    feed(value, &mut state, meter)?;
    Ok(state.finish())
}

/// As [`hash`].
pub(crate) fn hash_text(text: &Text, hasher: &RandomState, meter: &Meter) -> Result<u64> {
    meter.bytes(text.len())?;
    Ok(hasher.hash_one(text.as_str()))
}

/// The identity of a value whose type compares by identity.
fn identity(value: &Value) -> usize {
    match value {
        Value::Namespace(id) => *id as usize,
        Value::Generator(of) => Rc::as_ptr(of) as usize,
        Value::Macro(of) => Rc::as_ptr(of) as usize,
        Value::Loop(of) => Rc::as_ptr(of) as usize,
        Value::Cycler(of) => Rc::as_ptr(of) as usize,
        Value::Joiner(of) => Rc::as_ptr(of) as usize,
        Value::Method(of) => Rc::as_ptr(of) as usize,
        _ => 0,
    }
}

fn feed(value: &Value, state: &mut impl Hasher, meter: &Meter) -> Result<()> {
    match number(value) {
        Some(Number::Int(n)) => n.hash(state),
        Some(Number::Float(n)) if n.fract() == 0.0 && n.abs() < 1e38 => (n as i128).hash(state),
        Some(Number::Float(n)) => n.to_bits().hash(state),
        None => match value {
            Value::Text(text) => {
                meter.bytes(text.len())?;
                text.as_str().hash(state);
            }
            Value::Tuple(seq) => {
                meter.values(seq.len())?;
                seq.len().hash(state);
                for value in seq.iter() {
                    feed(value, state, meter)?;
                }
            }
            other => {
                check_hashable(other, meter)?;
                other.type_name().hash(state);
                identity(other).hash(state);
            }
        },
    }
    Ok(())
}
