//! `'{}'.format(..)`

use super::field::formatted;
use crate::access;
use crate::args::Args;
use crate::env::Env;
use crate::error::{Result, wrong};
use crate::html;
use crate::print::{repr, string};
use crate::text::{Builder, Origin, Text};
use crate::value::Value;

/// A format, and fields in the specifications of its fields.
const DEEPEST: usize = 3;

pub(crate) fn format(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let text = value.as_text("the value of format")?;
    env.meter.scan(text.len())?;
    let mut formatter = Formatter { env, args, next: Some(0), safe: text.is_safe() };
    Ok(Value::Text(formatter.text(text, DEEPEST)?.safe(text.is_safe())))
}

struct Formatter<'a> {
    env: &'a Env,
    args: Args<'a>,
    /// The number of the next field without one; `None` once fields have numbers.
    next: Option<usize>,
    safe: bool,
}

impl Formatter<'_> {
    /// Fields may be in the specifications of fields, `depth` deep in all.
    fn text(&mut self, text: &Text, depth: usize) -> Result<Text> {
        if depth == 0 {
            return wrong("max string recursion exceeded");
        }
        let mut out = Builder::with_capacity(&self.env.meter, text.len())?;
        let whole = text.as_str();
        let mut at = 0;
        while let Some(found) = whole[at..].find(['{', '}']).map(|found| at + found) {
            out.text(&text.part(at..found))?;
            let bracket = &whole[found..=found];
            if whole[found + 1..].starts_with(bracket) {
                out.text(&text.part(found..found + 1))?;
                at = found + 2;
                continue;
            }
            if bracket == "}" {
                return wrong("single '}' encountered in format string");
            }
            let end = field_end(&whole[found + 1..]).map(|end| found + 1 + end);
            let Some(end) = end else {
                return wrong(if found + 1 == whole.len() {
                    "single '{' encountered in format string"
                } else {
                    "expected '}' before end of string"
                });
            };
            out.text(&self.field(&text.part(found + 1..end), depth)?)?;
            at = end + 1;
        }
        out.text(&text.part(at..text.len()))?;
        out.finish()
    }

    /// `name!conversion:specification`
    fn field(&mut self, field: &Text, depth: usize) -> Result<Text> {
        self.env.meter.step()?;
        let whole = field.as_str();
        // Signs in brackets are part of the name.
        let mut in_brackets = false;
        let name_end = whole.find(|c| {
            in_brackets = if in_brackets { c != ']' } else { c == '[' };
            !in_brackets && matches!(c, '!' | ':')
        });
        let name_end = name_end.unwrap_or(whole.len());
        let mut rest = &whole[name_end..];
        let mut conversion = None;
        if let Some(behind) = rest.strip_prefix('!') {
            conversion = behind.chars().next();
            rest = &behind[conversion.map_or(0, char::len_utf8)..];
            if conversion.is_none() || !rest.is_empty() && !rest.starts_with(':') {
                return wrong("expected ':' after conversion specifier");
            }
        }
        let spec = rest.strip_prefix(':').map_or(Text::default(), |spec| field.sub(spec));
        let mut value = self.value(&field.part(0..name_end))?;
        match conversion {
            None => {}
            Some('s') => value = Value::Text(string(&value, self.env)?),
            Some('r' | 'a') => {
                let mut out = Builder::new(&self.env.meter)?;
                repr(&value, &mut out, self.env)?;
                let text = out.finish()?;
                value = Value::Text(if conversion == Some('a') { ascii(&text, self.env)? } else { text });
            }
            Some(other) => return wrong(format!("unknown conversion specifier {other}")),
        }
        let spec = self.text(&spec, depth - 1)?;
        if !self.safe {
            return formatted(&value, &spec, self.env);
        }
        match &value {
            Value::Text(text) if text.is_safe() => {
                if spec.is_empty() {
                    Ok(text.clone())
                } else {
                    wrong("unsupported format specification for Markup")
                }
            }
            value => html::escape(&formatted(value, &spec, self.env)?, self.env),
        }
    }

    fn value(&mut self, name: &Text) -> Result<Value> {
        let whole = name.as_str();
        let end = whole.find(['.', '[']).unwrap_or(whole.len());
        let first = &whole[..end];
        let numeric = !first.is_empty() && first.bytes().all(|b| b.is_ascii_digit());
        let found = if whole.is_empty() || numeric {
            let number = match (self.next, numeric) {
                (Some(next), false) => {
                    self.next = Some(next + 1);
                    next
                }
                (None | Some(0), true) => {
                    self.next = None;
                    first.parse().unwrap_or(usize::MAX)
                }
                _ => return wrong("cannot mix fields with and without numbers"),
            };
            match self.args.positional.get(number) {
                Some(value) => value.clone(),
                None => return wrong(format!("replacement index {number} out of range for positional args tuple")),
            }
        } else {
            self.env.meter.values(self.args.named.len())?;
            match self.args.named.iter().find(|(known, _)| known.as_str() == first) {
                Some((_, value)) => value.clone(),
                None => return wrong(format!("no value for field '{}'", crate::error::shortened(first, 80))),
            }
        };
        self.parts(found, &whole[end..], name)
    }

    /// Attributes and items of a value.
    fn parts(&mut self, mut value: Value, mut rest: &str, name: &Text) -> Result<Value> {
        while !rest.is_empty() {
            self.env.meter.step()?;
            if let Some(behind) = rest.strip_prefix('.') {
                let end = behind.find(['.', '[']).unwrap_or(behind.len());
                if end == 0 {
                    return wrong("empty attribute in format string");
                }
                value = access::attribute(&value, &name.sub(&behind[..end]), self.env)?;
                rest = &behind[end..];
            } else {
                let Some((key, behind)) = rest[1..].split_once(']') else {
                    return wrong("missing ']' in format string");
                };
                if key.is_empty() {
                    return wrong("empty attribute in format string");
                }
                if !behind.is_empty() && !behind.starts_with(['.', '[']) {
                    return wrong("only '.' or '[' may follow ']' in format field specifier");
                }
                let key = match key.parse::<i64>() {
                    _ if !key.bytes().all(|b| b.is_ascii_digit()) => Value::Text(name.sub(key)),
                    Ok(index) => Value::Int(index.into()),
                    Err(_) => return wrong("too many decimal digits in format string"),
                };
                value = access::item(&value, &key, self.env)?;
                rest = behind;
            }
        }
        Ok(value)
    }
}

/// Where the field that begins here ends: brackets inside it are closed first.
fn field_end(text: &str) -> Option<usize> {
    let mut open = 1;
    text.bytes().position(|b| {
        open += i32::from(b == b'{') - i32::from(b == b'}');
        open == 0
    })
}

/// `ascii`: escapes characters that are not ASCII.
pub(super) fn ascii(text: &Text, env: &Env) -> Result<Text> {
    let mut out = Builder::with_capacity(&env.meter, text.len())?;
    for (c, origin) in text.chars_with_origin() {
        match c as u32 {
            0..=0x7F => out.char(c, origin)?,
            code @ 0x80..=0xFF => out.push(&format!("\\x{code:02x}"), Origin::Template)?,
            code @ 0x100..=0xFFFF => out.push(&format!("\\u{code:04x}"), Origin::Template)?,
            code => out.push(&format!("\\U{code:08x}"), Origin::Template)?,
        }
    }
    out.finish()
}
