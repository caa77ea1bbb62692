//! The language of format specifications, `[[fill]align][sign][z][#][0][width][grouping][.precision][type]`.

use crate::env::Env;
use crate::error::{Result, wrong};
use crate::meter::Charge;
use crate::number;
use crate::print::string;
use crate::text::{Builder, Origin, Text};
use crate::value::Value;

#[derive(Clone, Copy, Default)]
struct Spec {
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    no_negative_zero: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
    kind: Option<char>,
}

/// Larger widths and precisions are refused. Their memory would also be refused.
const WIDEST: usize = i32::MAX as usize;

fn is_align(c: char) -> bool {
    matches!(c, '<' | '>' | '=' | '^')
}

fn parse(spec: &str) -> Result<Spec> {
    let mut parsed = Spec::default();
    let mut chars = spec.chars().peekable();
    let mut ahead = spec.chars();
    let (first, second) = (ahead.next(), ahead.next());
    if second.is_some_and(is_align) {
        (parsed.fill, parsed.align) = (first, second);
        chars.nth(1);
    } else if first.is_some_and(is_align) {
        parsed.align = chars.next();
    }
    parsed.sign = chars.next_if(|c| matches!(c, '+' | '-' | ' '));
    parsed.no_negative_zero = chars.next_if_eq(&'z').is_some();
    parsed.alternate = chars.next_if_eq(&'#').is_some();
    parsed.zero = chars.next_if_eq(&'0').is_some();
    let number = |chars: &mut std::iter::Peekable<std::str::Chars>| {
        let mut digits = None;
        while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
            chars.next();
            let n = digits.unwrap_or(0_usize).saturating_mul(10).saturating_add(digit as usize);
            digits = Some(n);
        }
        match digits {
            Some(n) if n > WIDEST => wrong("too many decimal digits in format string"),
            digits => Ok(digits),
        }
    };
    parsed.width = number(&mut chars)?.unwrap_or(0);
    parsed.grouping = chars.next_if(|c| matches!(c, ',' | '_'));
    if chars.next_if_eq(&'.').is_some() {
        match number(&mut chars)? {
            Some(precision) => parsed.precision = Some(precision),
            None => return wrong("format specifier missing precision"),
        }
    }
    parsed.kind = chars.next();
    if chars.next().is_some() {
        wrong(format!("invalid format specifier '{}'", crate::error::shortened(spec, 40)))
    } else {
        Ok(parsed)
    }
}

/// The result of `format(value, spec)`.
pub(super) fn formatted(value: &Value, spec: &Text, env: &Env) -> Result<Text> {
    if spec.is_empty() {
        return string(value, env);
    }
    env.meter.bytes(spec.len())?;
    let refused = || wrong(format!("unsupported format string passed to {}.__format__", value.type_name()));
    match value {
        Value::Text(text) => of_text(text, parse(spec.as_str())?, env),
        Value::Int(_) | Value::Bool(_) => {
            let spec = parse(spec.as_str())?;
            let n = number::int(value).unwrap_or(0);
            match spec.kind {
                None | Some('b' | 'c' | 'd' | 'o' | 'x' | 'X' | 'n') => of_int(n, spec, env),
                Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%') => of_float(n as f64, spec, env),
                Some(kind) => wrong(format!("unknown format code '{kind}' for object of type 'int'")),
            }
        }
        Value::Float(n) => {
            let spec = parse(spec.as_str())?;
            match spec.kind {
                None | Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'n' | '%') => of_float(*n, spec, env),
                Some(kind) => wrong(format!("unknown format code '{kind}' for object of type 'float'")),
            }
        }
        _ => refused(),
    }
}

fn of_text(text: &Text, spec: Spec, env: &Env) -> Result<Text> {
    match spec.kind {
        None | Some('s') => {}
        Some(kind) => return wrong(format!("unknown format code '{kind}' for object of type 'str'")),
    }
    if spec.sign.is_some()
        || spec.alternate
        || spec.no_negative_zero
        || spec.grouping.is_some()
        || spec.align == Some('=')
    {
        return wrong("a sign, '=', '#', 'z', ',' or '_' is not allowed in the format of a text");
    }
    env.meter.bytes(text.len())?;
    let text = match spec.precision {
        Some(most) if most < text.chars() => crate::slice::characters(text, 0, most),
        _ => text.clone().safe(false),
    };
    let align = spec.align.unwrap_or('<');
    padded(Text::default(), text, Spec { align: Some(align), ..spec }, env)
}

/// Sign or prefix, the rest, and what fills the width.
fn padded(head: Text, body: Text, spec: Spec, env: &Env) -> Result<Text> {
    let pad = spec.width.saturating_sub(head.chars() + body.chars());
    let fill = spec.fill.unwrap_or(if spec.zero { '0' } else { ' ' });
    let fill = Text::new(&env.meter, fill.encode_utf8(&mut [0; 4]), Origin::Template)?;
    let align = spec.align.unwrap_or(if spec.zero { '=' } else { '>' });
    let (left, middle, right) = match align {
        '<' => (0, 0, pad),
        '^' => (pad / 2, 0, pad - pad / 2),
        '=' => (0, pad, 0),
        _ => (pad, 0, 0),
    };
    let mut out = Builder::with_capacity(&env.meter, head.len() + body.len() + pad.saturating_mul(fill.len()))?;
    out.repeat(&fill, left)?;
    out.text(&head)?;
    out.repeat(&fill, middle)?;
    out.text(&body)?;
    out.repeat(&fill, right)?;
    out.finish()
}

/// Digits with separators, three or four together, and zeros to a width where zeros fill it.
fn grouped(digits: &str, each: usize, spec: Spec, head: usize, tail: usize) -> String {
    let Some(separator) = spec.grouping else { return digits.to_string() };
    let mut digits = digits.to_string();
    let zeros =
        spec.fill.is_none() && spec.zero && spec.align.is_none() || spec.fill == Some('0') && spec.align == Some('=');
    if zeros {
        let room = spec.width.saturating_sub(head + tail);
        // A separator comes before a digit only, so the width may be passed by one.
        let mut len = digits.len();
        while len + (len.max(1) - 1) / each < room {
            len += 1;
        }
        digits.insert_str(0, &"0".repeat(len - digits.len()));
    }
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(each) {
            out.push(separator);
        }
        out.push(c);
    }
    out
}

fn own(text: &str, env: &Env) -> Result<Text> {
    Text::new(&env.meter, text, Origin::Template)
}

fn sign_of(negative: bool, spec: Spec) -> &'static str {
    match (negative, spec.sign) {
        (true, _) => "-",
        (false, Some('+')) => "+",
        (false, Some(' ')) => " ",
        _ => "",
    }
}

fn of_int(n: i128, spec: Spec, env: &Env) -> Result<Text> {
    if spec.precision.is_some() {
        return wrong("precision not allowed in integer format specifier");
    }
    if spec.no_negative_zero {
        return wrong("negative zero coercion (z) not allowed in format specifier with integer format code");
    }
    if spec.kind == Some('c') {
        let c = u32::try_from(n).ok().and_then(char::from_u32);
        let Some(c) = c else { return wrong(format!("%c arg is {n}, allowed: a character's number")) };
        if spec.sign.is_some() || spec.grouping.is_some() || spec.alternate {
            return wrong("a sign, ',', '_' or '#' is not allowed with format code 'c'");
        }
        return padded(Text::default(), own(c.encode_utf8(&mut [0; 4]), env)?, spec, env);
    }
    let size = n.unsigned_abs();
    let (digits, prefix, each) = match spec.kind {
        Some('b') => (format!("{size:b}"), "0b", 4),
        Some('o') => (format!("{size:o}"), "0o", 4),
        Some('x') => (format!("{size:x}"), "0x", 4),
        Some('X') => (format!("{size:X}"), "0X", 4),
        Some('n') if spec.grouping.is_some() => return wrong("cannot specify ',' or '_' with 'n'"),
        _ => (size.to_string(), "", 3),
    };
    if each == 4 && spec.grouping == Some(',') {
        return wrong("cannot specify ',' with this format code");
    }
    let head = format!("{}{}", sign_of(n < 0, spec), if spec.alternate { prefix } else { "" });
    let _charge = room(if spec.grouping.is_some() { spec.width } else { 0 }, env)?;
    let digits = grouped(&digits, each, spec, head.len(), 0);
    padded(own(&head, env)?, own(&digits, env)?, spec, env)
}

fn of_float(n: f64, spec: Spec, env: &Env) -> Result<Text> {
    let kind = spec.kind.unwrap_or('r');
    let (scaled, tail) = if kind == '%' { (n * 100.0, "%") } else { (n, "") };
    if kind == 'n' && spec.grouping.is_some() {
        return wrong("cannot specify ',' or '_' with 'n'");
    }
    let width = if spec.grouping.is_some() { spec.width } else { 0 };
    let _charge = room(width.saturating_add(spec.precision.unwrap_or(0)), env)?;
    let digits = match (kind, spec.precision) {
        // As `str`, with at least one digit behind the point.
        ('r', None) => with_point(number::float_text(scaled.abs()), spec.alternate),
        ('r', Some(precision)) => general(scaled.abs(), precision, spec.alternate, true),
        (kind, precision) => of_kind(scaled.abs(), kind, precision.unwrap_or(6), spec.alternate),
    };
    let is_zero = !digits.split(['e', 'E']).next().unwrap_or_default().contains(|c: char| ('1'..='9').contains(&c));
    let negative = n.is_sign_negative() && !n.is_nan() && !(spec.no_negative_zero && is_zero && n.is_finite());
    let head = sign_of(negative, spec);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (whole, rest) = digits.split_at(end);
    let body = if n.is_finite() {
        format!("{}{rest}{tail}", grouped(whole, 3, spec, head.len(), rest.len() + tail.len()))
    } else {
        format!("{digits}{tail}")
    };
    padded(own(head, env)?, own(&body, env)?, spec, env)
}

/// Room for digits that are written, grouped and cut before they are a text.
pub(super) fn room(digits: usize, env: &Env) -> Result<Charge> {
    let bytes = digits.saturating_mul(4);
    env.meter.bytes(bytes)?;
    Charge::new(&env.meter, bytes)
}

/// A float has no digits but zeros behind so many, and the standard library writes no more than 65,535.
const PRECISE: usize = 1100;

/// With so many digits behind the point.
fn fixed(n: f64, precision: usize) -> String {
    let precise = precision.min(PRECISE);
    format!("{n:.precise$}") + &"0".repeat(precision - precise)
}

/// The same with an exponent: `1.50e3`.
fn exponential(n: f64, precision: usize) -> String {
    let precise = precision.min(PRECISE);
    let mut text = format!("{n:.precise$e}");
    let end = text.find('e').unwrap_or(text.len());
    text.insert_str(end, &"0".repeat(precision - precise));
    text
}

/// A float that is not negative, in a way that `%` and `format` share.
pub(super) fn of_kind(n: f64, kind: char, precision: usize, alternate: bool) -> String {
    let text = if n.is_nan() {
        "nan".to_string()
    } else if n.is_infinite() {
        "inf".to_string()
    } else {
        let point = if alternate && precision == 0 { "." } else { "" };
        match kind.to_ascii_lowercase() {
            'f' | '%' => fixed(n, precision) + point,
            'e' => scientific(&exponential(n, precision), point),
            _ => general(n, precision, alternate, false),
        }
    };
    if kind.is_ascii_uppercase() { text.to_ascii_uppercase() } else { text }
}

/// `1e5` as `1e+05`.
fn scientific(text: &str, point: &str) -> String {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{digits}{point}e{sign}{exponent:0>2}")
}

/// The alternate form has a point, also where nothing is behind it.
fn with_point(text: String, alternate: bool) -> String {
    if !alternate || text.contains('.') {
        return text;
    }
    let end = text.find('e').unwrap_or(text.len());
    format!("{}.{}", &text[..end], &text[end..])
}

/// So many digits in all, with an exponent where there are many zeros.
fn general(n: f64, precision: usize, alternate: bool, as_str: bool) -> String {
    let precision = precision.max(1);
    if n.is_nan() || n.is_infinite() {
        return if n.is_nan() { "nan" } else { "inf" }.to_string();
    }
    let text = exponential(n, precision - 1);
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    // As `str` an exponent comes sooner: a digit behind the point has to have room.
    let most = precision as i64 - i64::from(as_str);
    let cut = |digits: &str| {
        if alternate || !digits.contains('.') {
            digits.to_string()
        } else {
            digits.trim_end_matches('0').trim_end_matches('.').to_string()
        }
    };
    if exponent < -4 || exponent >= most {
        return with_point(scientific(&format!("{}e{exponent}", cut(digits)), ""), alternate);
    }
    let behind = (precision as i64 - 1 - exponent).max(0) as usize;
    let text = with_point(cut(&fixed(n, behind)), alternate);
    if as_str && !text.contains('.') { text + ".0" } else { text }
}
