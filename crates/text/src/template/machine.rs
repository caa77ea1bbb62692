//! Where a template runs: an interpreter with limits, on a thread with a stack for them.

use super::{Conversation, clock, json};
use crate::{Error, Tokenizer};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, ErrorKind, UndefinedBehavior};
use serde_json::Value as Json;
use std::error::Error as _;
use std::fmt;
use std::io;
use std::time::SystemTime;

/// The longest source, in bytes.
pub const MAX_SOURCE: usize = 256 << 10;

/// The longest prompt that a template may write, in bytes.
pub const MAX_OUTPUT: usize = 4 << 20;

/// Instructions that a template may take.
pub const MAX_STEPS: u64 = 1_000_000;

/// Calls and blocks inside each other while it runs.
const MAX_CALLS: usize = 200;

/// The parser calls itself, and so does what drops its tree: the worst known source of [`MAX_SOURCE`] bytes takes about a
/// quarter in an optimised build. Untouched, it is no memory.
const STACK: usize = 512 << 20;

/// What the template is called in the interpreter.
const NAME: &str = "chat";

/// What the template sees: texts with their marks, and the special tokens.
pub(super) struct Inputs {
    variables: Value,
    now: SystemTime,
}

impl Inputs {
    /// `mark` makes what the template sees of a text.
    pub(super) fn new(conversation: &Conversation, tokenizer: &Tokenizer, mark: impl Fn(&str) -> String) -> Inputs {
        let mark: &dyn Fn(&str) -> String = &mark;
        let messages = conversation.messages.iter().map(|message| {
            Value::from_pairs(message.fields().iter().map(|(key, value)| {
                let value = if key == "role" { Value::from(message.role()) } else { marked(value, mark) };
                (mark(key), value)
            }))
        });
        let all = |list: &[Json]| match list {
            [] => Value::from(()),
            list => list.iter().map(|value| marked(value, mark)).collect(),
        };
        let special = |id: Option<u32>| {
            let token = id.and_then(|id| tokenizer.token(id));
            Value::from(token.map_or("", |token| token.text))
        };
        let variables = Value::from_pairs([
            ("messages", messages.collect()),
            ("tools", all(&conversation.tools)),
            ("documents", all(&conversation.documents)),
            ("add_generation_prompt", Value::from(conversation.answer)),
            ("bos_token", special(tokenizer.bos())),
            ("eos_token", special(tokenizer.eos())),
            ("unk_token", special(tokenizer.unknown())),
            ("pad_token", special(tokenizer.padding())),
        ]);
        Inputs { variables, now: conversation.now.unwrap_or_else(SystemTime::now) }
    }
}

/// Of values whose depth was checked.
fn marked(value: &Json, mark: &dyn Fn(&str) -> String) -> Value {
    match value {
        Json::Null => Value::from(()),
        Json::Bool(truth) => Value::from(*truth),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Value::from(number),
            (None, Some(number)) => Value::from(number),
            (None, None) => Value::from(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(mark(text)),
        Json::Array(list) => list.iter().map(|value| marked(value, mark)).collect(),
        Json::Object(fields) => Value::from_pairs(fields.iter().map(|(key, value)| (mark(key), marked(value, mark)))),
    }
}

/// Whether a source can be compiled.
pub(super) fn check(source: &str) -> Result<(), Error> {
    Machine { source }.on_a_thread(|environment| environment.get_template(NAME).map(drop).map_err(named))
}

/// An interpreter of one template.
pub(super) struct Machine<'s> {
    pub(super) source: &'s str,
}

impl Machine<'_> {
    pub(super) fn render(&self, inputs: &Inputs) -> Result<String, Error> {
        self.on_a_thread(|environment| {
            let now = inputs.now;
            environment.add_function("strftime_now", move |format: String| {
                clock::format(now, &format).map_err(|letter| {
                    let what = format!("strftime_now: %{letter} in {format:?} is not known");
                    minijinja::Error::new(ErrorKind::InvalidOperation, what)
                })
            });
            let template = environment.get_template(NAME).map_err(named)?;
            let mut out = Output::default();
            let result = template.render_captured_to(inputs.variables.clone(), &mut out).map(drop);
            if out.full {
                return Err(Error::TemplateOutput { max: MAX_OUTPUT });
            }
            result.map_err(named)?;
            // The interpreter writes whole texts.
            Ok(String::from_utf8_lossy(&out.bytes).into_owned())
        })
    }

    fn on_a_thread<T: Send>(
        &self,
        work: impl FnOnce(&mut Environment<'_>) -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        if self.source.len() > MAX_SOURCE {
            return Err(Error::TemplateSource { bytes: self.source.len(), max: MAX_SOURCE });
        }
        let run = || {
            let mut environment = environment()?;
            environment.add_template(NAME, self.source).map_err(named)?;
            work(&mut environment)
        };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("template".to_string()).stack_size(STACK);
            let running = thread.spawn_scoped(scope, run).map_err(|source| Error::TemplateThread { source })?;
            let bug = || Error::Template { line: None, message: "the interpreter has a bug and panicked".to_string() };
            running.join().unwrap_or_else(|_| Err(bug()))
        })
    }
}

/// As transformers sets it up for templates: blocks leave no line behind, missing names are empty.
fn environment<'e>() -> Result<Environment<'e>, Error> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(named)?);
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_fuel(Some(MAX_STEPS));
    environment.set_recursion_limit(MAX_CALLS);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.remove_global("debug");
    environment.add_filter("tojson", json::tojson);
    // In Jinja nothing is not an empty list.
    environment.add_test("iterable", |value: &Value| !value.is_none() && value.try_iter().is_ok());
    environment.add_function("raise_exception", |message: String| -> Result<String, minijinja::Error> {
        Err(minijinja::Error::new(ErrorKind::InvalidOperation, "raised").with_source(Raised(message)))
    });
    environment.set_formatter(|out, state, value| match value.kind() {
        minijinja::value::ValueKind::Bool => Ok(out.write_str(if value.is_true() { "True" } else { "False" })?),
        minijinja::value::ValueKind::None => Ok(out.write_str("None")?),
        _ => minijinja::escape_formatter(out, state, value),
    });
    Ok(environment)
}

/// What `raise_exception` was told.
#[derive(Debug)]
struct Raised(String);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

/// The interpreter's error as ours.
fn named(error: minijinja::Error) -> Error {
    let line = error.line();
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(Raised(message)) = inner.downcast_ref() {
            return Error::TemplateRefuses { line, message: message.clone() };
        }
        cause = inner.source();
    }
    let message = match (error.kind(), error.detail()) {
        (ErrorKind::OutOfFuel, _) => format!("out of steps, allowed: {MAX_STEPS}"),
        (kind, Some(detail)) => format!("{kind}: {detail}"),
        (kind, None) => kind.to_string(),
    };
    Error::Template { line, message }
}

/// What a template writes, up to a limit.
#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    full: bool,
}

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > MAX_OUTPUT - self.bytes.len() {
            self.full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
