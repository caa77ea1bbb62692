//! `str` and `repr`. Values are at most [`DEEPEST`](crate::value::DEEPEST) deep, so this recurses.

use crate::dict::Dict;
use crate::env::Env;
use crate::error::{Result, wrong};
use crate::number::float_text;
use crate::python::is_printable;
use crate::text::{Builder, Origin, Text};
use crate::value::{DEEPEST, Value, View};
use std::fmt::Write;
use std::rc::Rc;

/// `str`: the value as a text.
pub(crate) fn string(value: &Value, env: &Env) -> Result<Text> {
    if let Value::Text(text) = value {
        return Ok(text.clone().safe(false));
    }
    let mut out = Builder::new(&env.meter)?;
    print(value, &mut out, env)?;
    out.finish()
}

/// Writes what `str` gives.
pub(crate) fn print(value: &Value, out: &mut Builder, env: &Env) -> Result<()> {
    match value {
        Value::Text(text) => out.text(text),
        Value::Undefined(_) => Ok(()),
        other => repr(other, out, env),
    }
}

/// Writes what `repr` gives.
pub(crate) fn repr(value: &Value, out: &mut Builder, env: &Env) -> Result<()> {
    Printer { out, env, path: Vec::new(), namespaces: 0 }.value(value)
}

struct Printer<'a> {
    out: &'a mut Builder,
    env: &'a Env,
    /// The containers around, by their addresses.
    path: Vec<usize>,
    /// Namespaces among them: only through these a value can be inside itself.
    namespaces: usize,
}

impl Printer<'_> {
    fn value(&mut self, value: &Value) -> Result<()> {
        self.env.meter.values(1)?;
        match value {
            Value::Undefined(_) => self.out.own("Undefined"),
            Value::None => self.out.own("None"),
            Value::Bool(true) => self.out.own("True"),
            Value::Bool(false) => self.out.own("False"),
            Value::Int(n) => int(*n, self.out),
            Value::Float(n) => self.out.own(&float_text(*n)),
            Value::Text(text) if text.is_safe() => {
                self.out.own("Markup(")?;
                quoted(text, self.out, self.env)?;
                self.out.own(")")
            }
            Value::Text(text) => quoted(text, self.out, self.env),
            Value::List(seq) => self.inside(seq.address(), "[", "]", |p| p.all(seq.iter())),
            Value::Tuple(seq) => {
                self.inside(seq.address(), "(", if seq.len() == 1 { ",)" } else { ")" }, |p| p.all(seq.iter()))
            }
            Value::Dict(dict) => self.dict(Rc::as_ptr(dict) as usize, dict),
            Value::View(dict, view) => self.view(dict, *view),
            Value::Range(range) => {
                let step = if range.step == 1 { String::new() } else { format!(", {}", range.step) };
                self.out.own(&format!("range({}, {}{step})", range.start, range.stop))
            }
            Value::Generator(generator) => self.out.own(&format!("<generator object {}>", generator.name)),
            Value::Namespace(id) => {
                self.out.own("<Namespace ")?;
                self.namespaces += 1;
                // Odd, as no address of a container is.
                self.dict(2 * *id as usize + 1, &*self.env.attributes(*id)?)?;
                self.namespaces -= 1;
                self.out.own(">")
            }
            Value::Macro(called) => match called.name() {
                Some(name) => self.out.own(&format!("<Macro '{name}'>")),
                None => self.out.own("<Macro anonymous>"),
            },
            Value::Loop(looped) => self.out.own(&looped.shown(self.env)?),
            Value::Cycler(_) => self.out.own("<Cycler object>"),
            Value::Joiner(_) => self.out.own("<Joiner object>"),
            Value::Method(bound) => {
                self.out.own(&format!("<method {} of {} object>", bound.name, bound.value.type_name()))
            }
            Value::Function(function) => self.out.own(&format!("<function {}>", function.name)),
        }
    }

    /// Prints the content of a container between brackets. A container inside itself is printed as dots.
    fn inside(&mut self, at: usize, open: &str, close: &str, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.out.own(open)?;
        if self.namespaces > 0 && self.path.contains(&at) {
            self.out.own("...")?;
            return self.out.own(&close[close.len() - 1..]);
        }
        if self.path.len() > DEEPEST {
            // Through namespaces values may be deeper than they say.
            return wrong(format!("values nested more than {DEEPEST} deep"));
        }
        self.path.push(at);
        f(self)?;
        self.path.pop();
        self.out.own(close)
    }

    fn all<'v>(&mut self, values: impl Iterator<Item = &'v Value>) -> Result<()> {
        for (i, value) in values.enumerate() {
            if i > 0 {
                self.out.own(", ")?;
            }
            self.value(value)?;
        }
        Ok(())
    }

    fn dict(&mut self, at: usize, dict: &Dict) -> Result<()> {
        self.inside(at, "{", "}", |p| {
            for (i, (key, value)) in dict.pairs().iter().enumerate() {
                if i > 0 {
                    p.out.own(", ")?;
                }
                p.value(key)?;
                p.out.own(": ")?;
                p.value(value)?;
            }
            Ok(())
        })
    }

    fn view(&mut self, dict: &Dict, view: View) -> Result<()> {
        self.out.own(match view {
            View::Keys => "dict_keys([",
            View::Values => "dict_values([",
            View::Items => "dict_items([",
        })?;
        match view {
            View::Keys => self.all(dict.pairs().iter().map(|(key, _)| key))?,
            View::Values => self.all(dict.pairs().iter().map(|(_, value)| value))?,
            View::Items => {
                for (i, (key, value)) in dict.pairs().iter().enumerate() {
                    self.out.own(if i > 0 { ", (" } else { "(" })?;
                    self.all([key, value].into_iter())?;
                    self.out.own(")")?;
                }
            }
        }
        self.out.own("])")
    }
}

fn int(n: i128, out: &mut Builder) -> Result<()> {
    // The longest has 40 characters; writing into memory does not fail.
    let mut text = String::with_capacity(40);
    write!(text, "{n}").unwrap_or_default();
    out.own(&text)
}

/// A text in quotes, as Python would read it.
pub(crate) fn quoted(text: &Text, out: &mut Builder, env: &Env) -> Result<()> {
    env.meter.scan(text.len())?;
    let whole = text.as_str();
    let quote = if whole.contains('\'') && !whole.contains('"') { '"' } else { '\'' };
    out.char(quote, Origin::Template)?;
    for (run, origin) in text.runs() {
        // A run of characters without escapes is written at once.
        let run = &whole[run];
        let mut plain = 0;
        for (at, c) in run.char_indices() {
            if !c.is_ascii() {
                // To find out whether it is printed as it is takes a while.
                env.meter.values(8)?;
            }
            if c != quote && c != '\\' && is_printable(c) {
                continue;
            }
            out.push(&run[plain..at], origin)?;
            plain = at + c.len_utf8();
            let escape = match c {
                '\n' => "\\n".to_string(),
                '\r' => "\\r".to_string(),
                '\t' => "\\t".to_string(),
                '\\' => "\\\\".to_string(),
                c if c == quote => format!("\\{quote}"),
                c if (c as u32) < 0x100 => format!("\\x{:02x}", c as u32),
                c if (c as u32) < 0x10000 => format!("\\u{:04x}", c as u32),
                c => format!("\\U{:08x}", c as u32),
            };
            out.own(&escape)?;
        }
        out.push(&run[plain..], origin)?;
    }
    out.char(quote, Origin::Template)
}
