//! minijinja, with the settings that transformers gives to jinja2 where it has them.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior};
use serde::Serialize;
use serde_json::Value as Json;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};

use crate::{Engine, Result, TOKENS};

const NAME: &str = "chat";

pub struct Minijinja<'s> {
    environment: Environment<'s>,
    source: &'s str,
}

impl<'s> Minijinja<'s> {
    pub fn new(source: &'s str) -> Result<Self> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Lenient);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_filter("tojson", tojson);
        // In Jinja nothing is not an empty list.
        environment.add_test("iterable", |value: &Value| !value.is_none() && value.try_iter().is_ok());
        environment.add_function("raise_exception", |message: String| -> std::result::Result<String, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, message))
        });
        // The day of `NOW`.
        environment.add_function("strftime_now", |format: String| {
            [("%Y", "2026"), ("%m", "08"), ("%d", "01"), ("%B", "August"), ("%b", "Aug")]
                .iter()
                .fold(format, |text, (letter, value)| text.replace(letter, value))
        });
        environment.set_formatter(|out, state, value| match value.kind() {
            ValueKind::Bool => Ok(out.write_str(if value.is_true() { "True" } else { "False" })?),
            ValueKind::None => Ok(out.write_str("None")?),
            _ => minijinja::escape_formatter(out, state, value),
        });
        environment.add_template(NAME, source)?;
        Ok(Self { environment, source })
    }
}

impl Engine for Minijinja<'_> {
    fn parse(&self) -> Result<()> {
        self.environment.template_from_str(self.source)?;
        Ok(())
    }

    fn render(&self, messages: &[Json]) -> Result<String> {
        let messages: Value = messages.iter().map(given).collect();
        let own = [("messages", messages), ("tools", Value::from(())), ("add_generation_prompt", Value::from(true))];
        let tokens = TOKENS.map(|(name, token)| (name, Value::from(token)));
        let variables = Value::from_pairs(own.into_iter().chain(tokens));
        Ok(self.environment.get_template(NAME)?.render(variables)?)
    }
}

/// JSON as values.
fn given(value: &Json) -> Value {
    match value {
        Json::Null => Value::from(()),
        Json::Bool(truth) => Value::from(*truth),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Value::from(number),
            (None, Some(number)) => Value::from(number),
            (None, None) => Value::from(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(list) => list.iter().map(given).collect(),
        Json::Object(fields) => Value::from_pairs(fields.iter().map(|(key, value)| (key.as_str(), given(value)))),
    }
}

/// JSON in the form of Python: spaces after commas and colons, and only the escapes that JSON requires.
fn tojson(value: &Value, options: Kwargs) -> std::result::Result<String, Error> {
    let failed = |what: &str| Error::new(ErrorKind::InvalidOperation, what.to_string());
    // Templates set it to false, which is the default here.
    if options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false) {
        return Err(failed("tojson: ensure_ascii is not there"));
    }
    options.assert_all_used()?;
    let mut out = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut out, Python)).map_err(|e| failed(&e.to_string()))?;
    String::from_utf8(out).map_err(|e| failed(&e.to_string()))
}

struct Python;

fn comma<W: ?Sized + Write>(writer: &mut W, first: bool) -> io::Result<()> {
    if first { Ok(()) } else { writer.write_all(b", ") }
}

impl Formatter for Python {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        comma(writer, first)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        comma(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
