//! Numbers: arithmetic as Python has it, and how they are read and printed.

use crate::error::{Result, wrong};
use crate::parse::ast::Binary;
use crate::python::{decimal_digit, is_space};
use crate::value::Value;

/// Two numbers of the same kind.
pub(crate) enum Pair {
    Ints(i128, i128),
    Floats(f64, f64),
}

/// Both as numbers, if they are.
pub(crate) fn pair(a: &Value, b: &Value) -> Option<Pair> {
    Some(match (int(a), int(b)) {
        (Some(a), Some(b)) => Pair::Ints(a, b),
        _ => Pair::Floats(float(a)?, float(b)?),
    })
}

/// An int or a bool.
pub(crate) fn int(value: &Value) -> Option<i128> {
    match value {
        Value::Int(n) => Some(*n),
        Value::Bool(truth) => Some(i128::from(*truth)),
        _ => None,
    }
}

/// Any number.
pub(crate) fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(n) => Some(*n),
        other => int(other).map(|n| n as f64),
    }
}

fn whole(result: Option<i128>) -> Result<Value> {
    result.map_or_else(|| wrong("an integer of more than 128 bits"), |n| Ok(Value::Int(n)))
}

pub(crate) fn arithmetic(operator: Binary, pair: Pair) -> Result<Value> {
    match pair {
        Pair::Ints(a, b) => ints(operator, a, b),
        Pair::Floats(a, b) => floats(operator, a, b).map(Value::Float),
    }
}

fn ints(operator: Binary, a: i128, b: i128) -> Result<Value> {
    match operator {
        Binary::Add => whole(a.checked_add(b)),
        Binary::Sub => whole(a.checked_sub(b)),
        Binary::Mul => whole(a.checked_mul(b)),
        Binary::Div if b == 0 => wrong("division by zero"),
        Binary::Div => Ok(Value::Float(quotient(a, b))),
        Binary::FloorDiv | Binary::Mod if b == 0 => wrong("integer division or modulo by zero"),
        // The floor, not what is nearer to zero: the remainder has the sign of the divisor.
        Binary::FloorDiv => whole(a.checked_div(b).map(|q| if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q })),
        Binary::Mod => {
            whole(a.checked_rem(b).or(Some(0)).map(|r| if r != 0 && (r < 0) != (b < 0) { r + b } else { r }))
        }
        Binary::Pow => match u32::try_from(b) {
            Ok(b) => whole(a.checked_pow(b)),
            // These have powers of any size.
            Err(_) if b > 0 => whole(match a {
                0 | 1 => Some(a),
                -1 => Some(if b % 2 == 0 { 1 } else { -1 }),
                _ => None,
            }),
            Err(_) => floats(operator, a as f64, b as f64).map(Value::Float),
        },
    }
}

/// The float nearest to the quotient of two ints, also if the ints are not exact as floats.
fn quotient(a: i128, b: i128) -> f64 {
    const EXACT: u128 = 1 << f64::MANTISSA_DIGITS;
    let (n, by) = (a.unsigned_abs(), b.unsigned_abs());
    if n <= EXACT && by <= EXACT {
        return a as f64 / b as f64;
    }
    // Bits behind the point until there are more than a float has, and one that says whether something is left.
    let (mut whole, mut rest, mut exponent) = (n / by, n % by, 0);
    while rest != 0 && whole < EXACT << 2 {
        // A divisor has at most 127 bits, except the least int with 128 bits, whose remainder has one bit less.
        rest <<= 1;
        whole = whole << 1 | u128::from(rest >= by);
        rest -= if rest >= by { by } else { 0 };
        exponent -= 1;
    }
    let size = (whole | u128::from(rest != 0)) as f64 * 2f64.powi(exponent);
    if (a < 0) != (b < 0) { -size } else { size }
}

fn floats(operator: Binary, a: f64, b: f64) -> Result<f64> {
    Ok(match operator {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div | Binary::FloorDiv | Binary::Mod if b == 0.0 => return wrong("float division by zero"),
        Binary::Div => a / b,
        Binary::FloorDiv => div_mod(a, b).0,
        Binary::Mod => div_mod(a, b).1,
        Binary::Pow if a == 0.0 && b < 0.0 => return wrong("0.0 cannot be raised to a negative power"),
        Binary::Pow if a < 0.0 && a.is_finite() && b.is_finite() && b.fract() != 0.0 => {
            return wrong("a power that is a complex number");
        }
        Binary::Pow => {
            let power = a.powf(b);
            if power.is_infinite() && a.is_finite() && b.is_finite() {
                return wrong("a float that is too large");
            }
            power
        }
    })
}

/// Quotient and remainder of floats, as CPython has them.
fn div_mod(a: f64, b: f64) -> (f64, f64) {
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest == 0.0 {
        rest = 0.0_f64.copysign(b);
    } else if (b < 0.0) != (rest < 0.0) {
        rest += b;
        quotient -= 1.0;
    }
    let floor = if quotient == 0.0 {
        0.0_f64.copysign(a / b)
    } else if quotient - quotient.floor() > 0.5 {
        quotient.floor() + 1.0
    } else {
        quotient.floor()
    };
    (floor, rest)
}

/// `repr` of a float: the shortest digits that give it back.
pub(crate) fn float_text(n: f64) -> String {
    if n.is_nan() {
        return "nan".to_string();
    }
    if n.is_infinite() {
        return if n > 0.0 { "inf" } else { "-inf" }.to_string();
    }
    let scientific = shortest(n);
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if n != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.unsigned_abs());
    }
    let text = plain(digits, exponent);
    if text.contains('.') { text } else { text + ".0" }
}

/// The shortest digits that give a float back, with an exponent. Of two that are as near, the even ones.
fn shortest(n: f64) -> String {
    /// With fewer digits there is one only.
    const MANY: usize = 16;
    let text = format!("{n:e}");
    let digits = text.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
    if digits < MANY {
        return text;
    }
    let even = format!("{n:.*e}", digits - 1);
    if even.parse() == Ok(n) { even } else { text }
}

/// Digits with an exponent, -4 to 15, as digits with a point.
fn plain(digits: &str, exponent: i32) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let digits = digits.replace('.', "");
    match usize::try_from(exponent) {
        Err(_) => format!("{sign}0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1)),
        Ok(whole) if digits.len() > whole + 1 => format!("{sign}{}.{}", &digits[..=whole], &digits[whole + 1..]),
        Ok(whole) => format!("{sign}{digits:0<width$}", width = whole + 1),
    }
}

/// A text that may be a number: without white space around it, its digits in ASCII.
fn cleaned(text: &str) -> String {
    if text.is_ascii() {
        // The separators of ASCII are not white space here.
        return text.trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']).to_string();
    }
    let digit = |c: char| decimal_digit(c).and_then(|digit| char::from_digit(digit, 10)).unwrap_or(c);
    text.trim_matches(is_space).chars().map(digit).collect()
}

/// Without the underscores between digits; `None` if one is elsewhere.
fn without_underscores(text: &str, radix: u32) -> Option<String> {
    let is_digit = |at: Option<usize>| {
        at.and_then(|at| text.as_bytes().get(at)).is_some_and(|&byte| char::from(byte).is_digit(radix))
    };
    let mut marks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'_');
    marks.all(|(at, _)| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1))).then(|| text.replace('_', ""))
}

/// `float` of a text.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let text = without_underscores(&cleaned(text), 10)?;
    let bare = text.trim_start_matches(['+', '-']);
    let named = ["inf", "infinity", "nan"].iter().any(|name| bare.eq_ignore_ascii_case(name));
    let numeric =
        !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    if named || numeric { text.parse().ok() } else { None }
}

/// The reason why a text is not an int.
pub(crate) enum NotInt {
    /// It is none.
    Text,
    /// It has more than 128 bits.
    TooLarge,
    /// There is no such base.
    Base,
}

/// `int` of a text.
pub(crate) fn parse_int(text: &str, base: i128) -> Result<i128, NotInt> {
    if base != 0 && !(2..=36).contains(&base) {
        return Err(NotInt::Base);
    }
    let text = cleaned(text);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(&text)),
    };
    let marked = digits.get(..2).map(str::to_ascii_lowercase);
    let radix_of_mark = match marked.as_deref() {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => 0,
    };
    let is_marked = radix_of_mark != 0 && (base == 0 || base == radix_of_mark);
    let (radix, digits) = if is_marked {
        let digits = digits.get(2..).unwrap_or_default();
        (radix_of_mark as u32, digits.strip_prefix('_').unwrap_or(digits))
    } else {
        (if base == 0 { 10 } else { base as u32 }, digits)
    };
    let digits = without_underscores(digits, radix).ok_or(NotInt::Text)?;
    // Where Python reads a literal, only zeros begin with a zero.
    if base == 0 && !is_marked && digits.starts_with('0') && digits.bytes().any(|digit| digit != b'0') {
        return Err(NotInt::Text);
    }
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(NotInt::Text);
    }
    let n = i128::from_str_radix(&digits, radix).map_err(|_| NotInt::TooLarge)?;
    Ok(if negative { -n } else { n })
}

/// A float as an int, without what is behind the point.
pub(crate) fn truncated(n: f64) -> Result<i128> {
    match n {
        n if n.is_nan() => wrong("cannot convert float NaN to integer"),
        n if n.is_infinite() => wrong("cannot convert float infinity to integer"),
        n if n.abs() >= 1.7e38 => wrong("an integer of more than 128 bits"),
        n => Ok(n as i128),
    }
}

/// `round` of a float to so many digits behind the point, ties to even.
pub(crate) fn rounded(n: f64, digits: i128) -> f64 {
    match digits {
        _ if !n.is_finite() => n,
        400.. => n,
        0.. => format!("{n:.*}", digits as usize).parse().unwrap_or(n),
        ..=-310 => 0.0_f64.copysign(n),
        _ => {
            // Digits before the point: of the decimal digits, as many are kept.
            let scientific = format!("{n:e}");
            let exponent: i128 = scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
            let kept = exponent + digits;
            if kept < -1 {
                return 0.0_f64.copysign(n);
            }
            if kept < 0 {
                // Half of the unit or more is one unit; a half is even at zero.
                let unit = 10f64.powi(-digits as i32);
                return if n.abs() > unit / 2.0 { unit.copysign(n) } else { 0.0_f64.copysign(n) };
            }
            format!("{n:.*e}", kept as usize).parse().unwrap_or(n)
        }
    }
}

/// `round` of an int to tens, hundreds and so on, ties to even.
pub(crate) fn rounded_int(n: i128, digits: i128) -> Result<i128> {
    let Ok(tens) = u32::try_from(digits.saturating_neg()) else { return Ok(n) };
    let Some(unit) = 10_i128.checked_pow(tens) else { return Ok(0) };
    let (down, rest) = (n.div_euclid(unit), n.rem_euclid(unit));
    let up = rest > unit / 2 || rest == unit - rest && down % 2 != 0;
    let result = down.checked_add(i128::from(up)).and_then(|q| q.checked_mul(unit));
    result.map_or_else(|| wrong("an integer of more than 128 bits"), Ok)
}
