//! Where a template runs: an interpreter with limits, on a thread with a stack for them.

use super::meter::{Full, MAX_MEMORY, Meter};
use super::{Conversation, clock, json, metered};
use crate::{Error, Tokenizer};
use minijinja::machinery::{CompiledTemplate, TemplateConfig, eval, make_string_output};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Value};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior};
use serde_json::Value as Json;
use std::error::Error as _;
use std::fmt;
use std::sync::Arc;
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
        let own = conversation.variables.iter().map(|(name, value)| (name.as_str(), marked(value, mark)));
        let variables = Value::from_pairs(own.chain([
            ("messages", messages.collect()),
            ("tools", all(&conversation.tools)),
            ("documents", all(&conversation.documents)),
            ("add_generation_prompt", Value::from(conversation.answer)),
            ("bos_token", special(tokenizer.bos())),
            ("eos_token", special(tokenizer.eos())),
            ("unk_token", special(tokenizer.unknown())),
            ("pad_token", special(tokenizer.padding())),
        ]));
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
    Machine { source }.on_a_thread(|source| compiled(source).map(drop).map_err(named))
}

/// An interpreter of one template.
pub(super) struct Machine<'s> {
    pub(super) source: &'s str,
}

impl Machine<'_> {
    pub(super) fn render(&self, inputs: &Inputs) -> Result<String, Error> {
        self.on_a_thread(|source| {
            let template = compiled(source).map_err(named)?;
            let environment = environment(inputs.now);
            let mut text = String::new();
            let mut out = make_string_output(&mut text);
            let (program, blocks) = (&template.instructions, &template.blocks);
            let variables = inputs.variables.clone();
            eval(&environment, program, variables, blocks, &mut out, AutoEscape::None).map(drop).map_err(named)?;
            drop(out);
            if text.len() > MAX_OUTPUT {
                return Err(Error::TemplateOutput { max: MAX_OUTPUT });
            }
            Ok(text)
        })
    }

    /// `work` gets the source as it is compiled.
    fn on_a_thread<T: Send>(&self, work: impl FnOnce(&str) -> Result<T, Error> + Send) -> Result<T, Error> {
        if self.source.len() > MAX_SOURCE {
            return Err(Error::TemplateSource { bytes: self.source.len(), max: MAX_SOURCE });
        }
        let run = || work(&metered::unfolded(self.source, &syntax().map_err(named)?)?);
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("template".to_string()).stack_size(STACK);
            let running = thread.spawn_scoped(scope, run).map_err(|source| Error::TemplateThread { source })?;
            let bug = || Error::Template { line: None, message: "the interpreter has a bug and panicked".to_string() };
            running.join().unwrap_or_else(|_| Err(bug()))
        })
    }
}

/// As in transformers, blocks leave no line behind.
fn syntax() -> Result<SyntaxConfig, minijinja::Error> {
    SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()
}

/// The template as a program that counts what it makes.
fn compiled(source: &str) -> Result<CompiledTemplate<'_>, minijinja::Error> {
    let config = TemplateConfig { syntax_config: syntax()?, default_auto_escape: Arc::new(|_| AutoEscape::None) };
    let mut template = CompiledTemplate::new(NAME, source, &config)?;
    template.instructions = metered::counted(&template.instructions)?;
    for block in template.blocks.values_mut() {
        *block = metered::counted(block)?;
    }
    Ok(template)
}

/// As transformers sets it up for templates: missing names are empty.
fn environment<'e>(now: SystemTime) -> Environment<'e> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_fuel(Some(MAX_STEPS));
    environment.set_recursion_limit(MAX_CALLS);
    environment.remove_global("debug");
    let meter = Meter::new();
    let of_json = meter.clone();
    let tojson =
        move |value: &Value, indent: Option<usize>, options: Kwargs| json::tojson(&of_json, value, indent, options);
    environment.add_filter("tojson", tojson);
    // In Jinja nothing is not an empty list.
    environment.add_test("iterable", |value: &Value| !value.is_none() && value.try_iter().is_ok());
    environment.add_function("raise_exception", |message: String| -> Result<String, minijinja::Error> {
        Err(minijinja::Error::new(ErrorKind::InvalidOperation, "raised").with_source(Raised(message)))
    });
    let dates = meter.clone();
    environment.add_function("strftime_now", move |format: String| {
        let unknown = |letter| {
            let what = format!("strftime_now: %{letter} in {format:?} is not known");
            minijinja::Error::new(ErrorKind::InvalidOperation, what)
        };
        dates.made(clock::format(now, &format).map_err(unknown)?.into())
    });
    metered::install(&mut environment, &meter);
    environment.set_formatter(move |out, state, value| {
        meter.count(value)?;
        match value.kind() {
            minijinja::value::ValueKind::Bool => Ok(out.write_str(if value.is_true() { "True" } else { "False" })?),
            minijinja::value::ValueKind::None => Ok(out.write_str("None")?),
            _ => minijinja::escape_formatter(out, state, value),
        }
    });
    environment
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
            return Error::TemplateRefuses { line, message: shortened(message) };
        }
        if inner.is::<Full>() {
            return Error::TemplateMemory { line, max: MAX_MEMORY };
        }
        cause = inner.source();
    }
    let message = match (error.kind(), error.detail()) {
        (ErrorKind::OutOfFuel, _) => format!("out of steps, allowed: {MAX_STEPS}"),
        (kind, Some(detail)) => format!("{kind}: {detail}"),
        (kind, None) => kind.to_string(),
    };
    Error::Template { line, message: shortened(&message) }
}

/// The interpreter's messages, and a template's, may quote whole texts.
fn shortened(message: &str) -> String {
    const MOST: usize = 1000;
    if message.len() <= MOST { message.to_string() } else { message.chars().take(MOST).chain(['…']).collect() }
}
