//! `tojson`, as Python's `json.dumps` writes it for templates: spaces after commas and colons, nothing escaped but what
//! JSON wants, keys in the order of the value.

use super::meter::Meter;
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, ErrorKind};
use std::fmt::Write;

/// Deeper values are refused: the writer calls itself.
const DEEPEST: usize = 256;

/// The filter. `ensure_ascii` is false if it is not given, as in the templates of models.
pub(super) fn tojson(meter: &Meter, value: &Value, indent: Option<usize>, options: Kwargs) -> Result<String, Error> {
    let indent = indent.or(options.get::<Option<usize>>("indent")?);
    let sorted = options.get::<Option<bool>>("sort_keys")?.unwrap_or(false);
    let ascii = options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false);
    let separators = options.get::<Option<Vec<String>>>("separators")?;
    options.assert_all_used()?;
    if indent.is_some_and(|n| n > 16) {
        return Err(Error::new(ErrorKind::InvalidOperation, "tojson: indent above 16"));
    }
    let (comma, colon) = match separators.as_deref() {
        Some([comma, colon]) => (comma.clone(), colon.clone()),
        Some(_) => return Err(Error::new(ErrorKind::InvalidOperation, "tojson: separators are two texts")),
        None => (if indent.is_some() { "," } else { ", " }.to_string(), ": ".to_string()),
    };
    let mut writer = Writer { meter, out: String::new(), indent, sorted, ascii, comma, colon };
    writer.value(value, 0)?;
    Ok(writer.out)
}

struct Writer<'m> {
    meter: &'m Meter,
    out: String,
    indent: Option<usize>,
    sorted: bool,
    ascii: bool,
    comma: String,
    colon: String,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > DEEPEST {
            return Err(Error::new(ErrorKind::InvalidOperation, "tojson: the value is nested too deep"));
        }
        match value.kind() {
            ValueKind::None => self.out.push_str("null"),
            ValueKind::Bool => self.out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number if value.is_integer() => self.out.push_str(&value.to_string()),
            ValueKind::Number => {
                let number = f64::try_from(value.clone())?;
                self.out.push_str(&float(number));
            }
            ValueKind::String => self.text(value.as_str().unwrap_or_default()),
            ValueKind::Map => {
                let mut keys: Vec<Value> = value.try_iter()?.collect();
                if self.sorted {
                    keys.sort_by_key(ToString::to_string);
                }
                self.list('{', '}', keys.into_iter(), depth, |writer, key| {
                    writer.text(key.as_str().unwrap_or(&key.to_string()));
                    writer.out.push_str(&writer.colon.clone());
                    writer.value(&value.get_item(&key)?, depth + 1)
                })?;
            }
            ValueKind::Seq | ValueKind::Iterable => {
                let items: Vec<Value> = value.try_iter()?.collect();
                self.list('[', ']', items.into_iter(), depth, |writer, item| writer.value(&item, depth + 1))?;
            }
            kind => {
                return Err(Error::new(ErrorKind::InvalidOperation, format!("tojson: {kind} is no JSON value")));
            }
        }
        Ok(())
    }

    fn list(
        &mut self,
        open: char,
        close: char,
        items: impl ExactSizeIterator<Item = Value>,
        depth: usize,
        mut item: impl FnMut(&mut Writer, Value) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let empty = items.len() == 0;
        self.out.push(open);
        for (i, value) in items.enumerate() {
            self.meter.room(self.out.len())?;
            if i > 0 {
                self.out.push_str(&self.comma.clone());
            }
            self.line(depth + 1);
            item(self, value)?;
        }
        if !empty {
            self.line(depth);
        }
        self.out.push(close);
        Ok(())
    }

    fn line(&mut self, depth: usize) {
        if let Some(indent) = self.indent {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(' ', indent * depth));
        }
    }

    fn text(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            // Writing to a string does not fail.
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                c if c < ' ' => write!(self.out, "\\u{:04x}", c as u32).unwrap_or_default(),
                c if self.ascii && !c.is_ascii() => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        write!(self.out, "\\u{unit:04x}").unwrap_or_default();
                    }
                }
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}

/// As Python prints it: the shortest digits that give the number back.
fn float(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_string();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_string();
    }
    let text = format!("{number:?}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
            format!("{digits}e{sign}{exponent:0>2}")
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wanted: Python's `repr`.
    #[test]
    fn floats_are_those_of_python() {
        let cases = [
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e16, "1e+16"),
            (1e15, "1000000000000000.0"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (-1.5e-7, "-1.5e-07"),
            (1e100, "1e+100"),
        ];
        for (number, wanted) in cases {
            assert_eq!(float(number), wanted);
        }
    }
}
