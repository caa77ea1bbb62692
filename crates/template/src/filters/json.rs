//! `tojson`: JSON as Python's `json.dumps` writes it.

use crate::args::{Args, flag};
use crate::env::Env;
use crate::error::{Result, wrong};
use crate::loops::unpack;
use crate::number::float_text;
use crate::text::{Builder, Origin, Text};
use crate::value::Value;

pub(super) fn tojson(env: &Env, value: &Value, args: Args) -> Result<Value> {
    let [ascii, indent, separators, sort] =
        args.bind("tojson", ["ensure_ascii", "indent", "separators", "sort_keys"])?;
    let indent = match indent {
        None | Some(Value::None) => None,
        Some(Value::Text(text)) => Some(text.clone()),
        Some(width) => {
            let width = width.as_int("indent")?.clamp(0, i128::from(u32::MAX)) as usize;
            let mut spaces = Builder::new(&env.meter)?;
            spaces.repeat(&Text::new(&env.meter, " ", Origin::Template)?, width)?;
            Some(spaces.finish()?)
        }
    };
    let (comma, colon) = match separators {
        None | Some(Value::None) => {
            let own = |text| Text::new(&env.meter, text, Origin::Template);
            (own(if indent.is_some() { "," } else { ", " })?, own(": ")?)
        }
        Some(pair) => {
            let pair = unpack(pair, 2, env)?;
            let part = |i| pair.get(i).unwrap_or(&Value::None).as_text("a separator").cloned();
            (part(0)?, part(1)?)
        }
    };
    let out = Builder::new(&env.meter)?;
    let mut writer = Writer { env, out, indent, comma, colon, ascii: flag(ascii, false), sort: flag(sort, false) };
    writer.value(value, 0)?;
    Ok(Value::Text(writer.out.finish()?))
}

struct Writer<'e> {
    env: &'e Env,
    out: Builder,
    indent: Option<Text>,
    comma: Text,
    colon: Text,
    ascii: bool,
    sort: bool,
}

impl Writer<'_> {
    /// Values are at most [`DEEPEST`](crate::value::DEEPEST) deep, so this recurses.
    fn value(&mut self, value: &Value, depth: usize) -> Result<()> {
        self.env.meter.values(1)?;
        match value {
            Value::Text(text) => self.text(text),
            Value::List(seq) | Value::Tuple(seq) => {
                self.out.own("[")?;
                for (i, value) in seq.iter().enumerate() {
                    self.between(i, depth + 1)?;
                    self.value(value, depth + 1)?;
                }
                self.close(seq.len(), depth, "]")
            }
            Value::Dict(dict) => {
                self.out.own("{")?;
                if self.sort {
                    let sorted = self.sorted(value)?;
                    for i in 0..dict.len() {
                        let pair = sorted.get(i).map(|pair| unpack(pair, 2, self.env)).transpose()?;
                        if let Some(pair) = pair
                            && let (Some(key), Some(value)) = (pair.get(0), pair.get(1))
                        {
                            self.pair(i, key, value, depth)?;
                        }
                    }
                } else {
                    for (i, (key, value)) in dict.pairs().iter().enumerate() {
                        self.pair(i, key, value, depth)?;
                    }
                }
                self.close(dict.len(), depth, "}")
            }
            other => match scalar(other) {
                Some(text) => self.out.own(&text),
                None => wrong(format!("object of type {} is not JSON serializable", other.type_name())),
            },
        }
    }

    fn sorted(&self, dict: &Value) -> Result<crate::seq::Seq> {
        let named = [(Text::new(&self.env.meter, "case_sensitive", Origin::Template)?, Value::Bool(true))];
        let sorted = super::order::dictsort(self.env, dict, Args { positional: &[], named: &named })?;
        match sorted {
            Value::List(seq) => Ok(seq),
            _ => wrong("keys that have no order"),
        }
    }

    fn pair(&mut self, i: usize, key: &Value, value: &Value, depth: usize) -> Result<()> {
        self.between(i, depth + 1)?;
        match key {
            Value::Text(text) => self.text(text)?,
            other => match scalar(other) {
                Some(text) => {
                    self.out.own("\"")?;
                    self.out.own(&text)?;
                    self.out.own("\"")?;
                }
                None => {
                    return wrong(format!("keys must be str, int, float, bool or None, not {}", other.type_name()));
                }
            },
        }
        let colon = self.colon.clone();
        self.out.text(&colon)?;
        self.value(value, depth + 1)
    }

    /// Writes the separator before the value with this index.
    fn between(&mut self, i: usize, depth: usize) -> Result<()> {
        if i > 0 {
            let comma = self.comma.clone();
            self.out.text(&comma)?;
        }
        self.line(depth)
    }

    fn close(&mut self, len: usize, depth: usize, bracket: &str) -> Result<()> {
        if len > 0 {
            self.line(depth)?;
        }
        self.out.own(bracket)
    }

    fn line(&mut self, depth: usize) -> Result<()> {
        let Some(indent) = self.indent.clone() else { return Ok(()) };
        self.out.own("\n")?;
        self.out.repeat(&indent, depth)
    }

    fn text(&mut self, text: &Text) -> Result<()> {
        self.env.meter.scan(text.len())?;
        let whole = text.as_str();
        self.out.own("\"")?;
        for (run, origin) in text.runs() {
            // A run of characters without escapes is written at once.
            let run = &whole[run];
            let mut plain = 0;
            for (at, c) in run.char_indices() {
                let escaped = c < ' ' || matches!(c, '"' | '\\') || self.ascii && c > '~';
                if !escaped {
                    continue;
                }
                self.out.push(&run[plain..at], origin)?;
                plain = at + c.len_utf8();
                match c {
                    '"' => self.out.own("\\\"")?,
                    '\\' => self.out.own("\\\\")?,
                    '\n' => self.out.own("\\n")?,
                    '\r' => self.out.own("\\r")?,
                    '\t' => self.out.own("\\t")?,
                    '\x08' => self.out.own("\\b")?,
                    '\x0c' => self.out.own("\\f")?,
                    c => {
                        self.env.meter.values(8)?;
                        for unit in c.encode_utf16(&mut [0; 2]) {
                            self.out.own(&format!("\\u{unit:04x}"))?;
                        }
                    }
                }
            }
            self.out.push(&run[plain..], origin)?;
        }
        self.out.own("\"")
    }
}

/// A value without parts, as JSON.
fn scalar(value: &Value) -> Option<String> {
    Some(match value {
        Value::None => "null".to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Float(n) if n.is_nan() => "NaN".to_string(),
        Value::Float(n) if n.is_infinite() => if *n > 0.0 { "Infinity" } else { "-Infinity" }.to_string(),
        Value::Float(n) => float_text(*n),
        _ => return None,
    })
}
