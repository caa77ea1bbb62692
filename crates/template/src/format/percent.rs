//! `'%s' % value`

use super::braces::ascii;
use super::field::{of_kind, room};
use crate::args::Args;
use crate::env::Env;
use crate::error::{Result, wrong};
use crate::html;
use crate::number;
use crate::print::{repr, string};
use crate::seq::Seq;
use crate::text::{Builder, Origin, Text};
use crate::value::Value;

/// `text % value`: a tuple has the values, a mapping may, anything else is the only value.
pub(crate) fn with_value(text: &Text, value: &Value, env: &Env) -> Result<Text> {
    match value {
        Value::Tuple(seq) => filled(text, seq.clone(), None, env),
        other => {
            let mapping = matches!(other, Value::Dict(_) | Value::List(_) | Value::Range(_) | Value::Undefined(_));
            filled(text, Seq::new(&env.meter, vec![other.clone()])?, mapping.then_some(other), env)
        }
    }
}

/// The arguments of the filter `format`.
pub(crate) fn with_args(text: &Text, args: Args, env: &Env) -> Result<Text> {
    if args.named.is_empty() {
        return filled(text, Seq::new(&env.meter, args.positional.to_vec())?, None, env);
    }
    let mut pairs = crate::dict::Pairs::new(&env.meter, args.named.len())?;
    for (name, value) in args.named {
        pairs.insert(Value::Text(name.clone()), value.clone())?;
    }
    let dict = pairs.value()?;
    filled(text, Seq::new(&env.meter, vec![dict.clone()])?, Some(&dict), env)
}

#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
}

/// Widths and precisions beyond this are refused.
const WIDEST: i128 = i32::MAX as i128;

fn filled(text: &Text, values: Seq, mapping: Option<&Value>, env: &Env) -> Result<Text> {
    env.meter.scan(text.len())?;
    let mut out = Builder::with_capacity(&env.meter, text.len())?;
    let whole = text.as_str();
    let mut used = 0;
    let mut named = false;
    let mut at = 0;
    while let Some(found) = whole[at..].find('%').map(|found| at + found) {
        env.meter.step()?;
        out.text(&text.part(at..found))?;
        let mut rest = &whole[found + 1..];
        if rest.starts_with('%') {
            out.text(&text.part(found..found + 1))?;
            at = found + 2;
            continue;
        }
        let mut key = None;
        if rest.starts_with('(') {
            let (name, behind) = key_of(rest)?;
            let Some(mapping) = mapping else { return wrong("format requires a mapping") };
            let name = Value::Text(text.sub(name));
            let value = match mapping {
                Value::Dict(dict) => dict.get(&name, &env.meter)?.cloned(),
                Value::Undefined(undefined) => return undefined.used(),
                _ => return wrong("format requires a mapping"),
            };
            let Some(value) = value else { return wrong("the mapping has no value for a key of the format") };
            (key, rest, named) = (Some(value), behind, true);
        }
        let mut next = || {
            let value = values.get(used).filter(|_| key.is_none());
            used += 1;
            match (&key, value) {
                (Some(value), _) | (None, Some(value)) => Ok(value.clone()),
                (None, None) => wrong("not enough arguments for format string"),
            }
        };
        let (spec, behind) = spec_of(rest, &mut next)?;
        let Some(kind) = behind.chars().next() else { return wrong("incomplete format") };
        let mut value = next()?;
        if text.is_safe() {
            value = through_markup(value, kind)?;
        }
        put(&value, kind, &spec, text.is_safe(), &mut out, env)?;
        at = whole.len() - behind.len() + kind.len_utf8();
    }
    out.text(&text.part(at..text.len()))?;
    if used < values.len() && mapping.is_none() && !named {
        return wrong("not all arguments converted during string formatting");
    }
    Ok(out.finish()?.safe(text.is_safe()))
}

/// A safe text wraps its arguments. The wrapper converts texts to numbers, and is not an int itself.
fn through_markup(value: Value, kind: char) -> Result<Value> {
    match (kind, &value) {
        ('c' | 'x' | 'X' | 'o', _) => wrong(format!("%{kind} is not available in a safe text")),
        ('d' | 'i' | 'u', Value::Text(text)) => match number::parse_int(text.as_str(), 10) {
            Ok(n) => Ok(Value::Int(n)),
            Err(_) => wrong("the text is not an int"),
        },
        ('e' | 'E' | 'f' | 'F' | 'g' | 'G', Value::Text(text)) => match number::parse_float(text.as_str()) {
            Some(n) => Ok(Value::Float(n)),
            None => wrong("the text is not a float"),
        },
        _ => Ok(value),
    }
}

/// The text between parentheses, which may be nested.
fn key_of(rest: &str) -> Result<(&str, &str)> {
    let mut open = 0;
    let end = rest.bytes().position(|b| {
        open += i32::from(b == b'(') - i32::from(b == b')');
        open == 0
    });
    match end {
        Some(end) => Ok((&rest[1..end], &rest[end + 1..])),
        None => wrong("incomplete format key"),
    }
}

fn spec_of<'t>(mut rest: &'t str, next: &mut dyn FnMut() -> Result<Value>) -> Result<(Spec, &'t str)> {
    let mut spec = Spec::default();
    while let Some(flag) = rest.chars().next() {
        match flag {
            '-' => spec.left = true,
            '+' => spec.plus = true,
            ' ' => spec.space = true,
            '#' => spec.alternate = true,
            '0' => spec.zero = true,
            _ => break,
        }
        rest = &rest[1..];
    }
    let mut number = |rest: &mut &'t str| -> Result<Option<i128>> {
        if let Some(behind) = rest.strip_prefix('*') {
            *rest = behind;
            return match next()? {
                Value::Int(n) if n.unsigned_abs() <= WIDEST.unsigned_abs() => Ok(Some(n)),
                Value::Bool(truth) => Ok(Some(i128::from(truth))),
                _ => wrong("* wants int"),
            };
        }
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, behind) = rest.split_at(end);
        *rest = behind;
        match digits.parse::<i128>() {
            _ if digits.is_empty() => Ok(None),
            Ok(n) if n <= WIDEST => Ok(Some(n)),
            _ => wrong("width or precision too big"),
        }
    };
    if let Some(width) = number(&mut rest)? {
        spec.left |= width < 0;
        spec.width = width.unsigned_abs() as usize;
    }
    if let Some(behind) = rest.strip_prefix('.') {
        rest = behind;
        spec.precision = Some(number(&mut rest)?.unwrap_or(0).max(0) as usize);
    }
    // Sizes of C's types say nothing.
    Ok((spec, rest.strip_prefix(['h', 'l', 'L']).unwrap_or(rest)))
}

fn put(value: &Value, kind: char, spec: &Spec, safe: bool, out: &mut Builder, env: &Env) -> Result<()> {
    let body = match kind {
        's' | 'r' | 'a' => {
            let text = if kind == 's' {
                if let Value::Text(text) = value { text.clone() } else { string(value, env)? }
            } else {
                let mut quoted = Builder::new(&env.meter)?;
                repr(value, &mut quoted, env)?;
                let quoted = quoted.finish()?;
                if kind == 'a' { ascii(&quoted, env)? } else { quoted }
            };
            let text = if safe { html::escape(&text, env)? } else { text };
            match spec.precision {
                Some(most) if most < text.chars() => crate::slice::characters(&text, 0, most),
                _ => text,
            }
        }
        'c' => match value {
            Value::Text(text) if text.chars() == 1 => text.clone(),
            other => match number::int(other).map(|n| u32::try_from(n).ok().and_then(char::from_u32)) {
                Some(Some(c)) => Text::new(&env.meter, c.encode_utf8(&mut [0; 4]), Origin::Template)?,
                Some(None) => return wrong("%c arg not in range(0x110000)"),
                None => return wrong("%c requires int or char"),
            },
        },
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' => return int(value, kind, spec, out, env),
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' => return float(value, kind, spec, out, env),
        other => return wrong(format!("unsupported format character '{other}' (0x{:x})", other as u32)),
    };
    padded("", &body, Spec { zero: false, left: spec.left, width: spec.width, ..Spec::default() }, out, env)
}

fn padded(head: &str, body: &Text, spec: Spec, out: &mut Builder, env: &Env) -> Result<()> {
    let pad = spec.width.saturating_sub(head.len() + body.chars());
    let fill = Text::new(&env.meter, if spec.zero && !spec.left { "0" } else { " " }, Origin::Template)?;
    if !spec.left && !spec.zero {
        out.repeat(&fill, pad)?;
    }
    out.own(head)?;
    if !spec.left && spec.zero {
        out.repeat(&fill, pad)?;
    }
    out.text(body)?;
    if spec.left { out.repeat(&fill, pad) } else { Ok(()) }
}

fn sign(negative: bool, spec: &Spec) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, ..) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        _ => "",
    }
}

fn int(value: &Value, kind: char, spec: &Spec, out: &mut Builder, env: &Env) -> Result<()> {
    let n = match value {
        Value::Undefined(undefined) => return undefined.used(),
        Value::Float(n) if matches!(kind, 'd' | 'i' | 'u') => number::truncated(*n)?,
        other => match number::int(other) {
            Some(n) => n,
            None if matches!(kind, 'd' | 'i' | 'u') => {
                return wrong(format!("%{kind} format: a real number is required, not {}", other.type_name()));
            }
            None => return wrong(format!("%{kind} format: an integer is required, not {}", other.type_name())),
        },
    };
    let size = n.unsigned_abs();
    let (digits, prefix) = match kind {
        'x' => (format!("{size:x}"), "0x"),
        'X' => (format!("{size:X}"), "0X"),
        'o' => (format!("{size:o}"), "0o"),
        _ => (size.to_string(), ""),
    };
    let mut body = Builder::new(&env.meter)?;
    let zero = Text::new(&env.meter, "0", Origin::Template)?;
    body.repeat(&zero, spec.precision.unwrap_or(0).saturating_sub(digits.len()))?;
    body.own(&digits)?;
    let head = format!("{}{}", sign(n < 0, spec), if spec.alternate { prefix } else { "" });
    padded(
        &head,
        &body.finish()?,
        Spec { zero: spec.zero, left: spec.left, width: spec.width, ..Spec::default() },
        out,
        env,
    )
}

fn float(value: &Value, kind: char, spec: &Spec, out: &mut Builder, env: &Env) -> Result<()> {
    let n = match value {
        Value::Undefined(undefined) => return undefined.used(),
        other => match number::float(other) {
            Some(n) => n,
            None => return wrong(format!("must be real number, not {}", other.type_name())),
        },
    };
    let precision = spec.precision.unwrap_or(6);
    let _charge = room(precision, env)?;
    let digits = of_kind(n.abs(), kind, precision, spec.alternate);
    let body = Text::new(&env.meter, &digits, Origin::Template)?;
    let head = sign(n.is_sign_negative() && !n.is_nan(), spec);
    padded(head, &body, Spec { zero: spec.zero, left: spec.left, width: spec.width, ..Spec::default() }, out, env)
}
