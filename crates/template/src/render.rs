//! Templates with their inputs and outputs.

use crate::compile::compile;
use crate::dict::Pairs;
use crate::env::Env;
use crate::error::{Error, Fail, Kind, Result};
use crate::globals;
use crate::machine::{self, Written};
use crate::meter::{Limits, Meter};
use crate::parse::ast::Literal;
use crate::program::Program;
use crate::seq::Seq;
use crate::text::{Origin, Text};
use crate::value::Value;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The longest source, in bytes.
pub const MAX_SOURCE: usize = 256 << 10;

/// A template: parsed once, rendered often, by many threads at a time.
#[derive(Clone)]
pub struct Template {
    compiled: Arc<(String, Program)>,
}

impl Template {
    /// The template of a source.
    ///
    /// # Errors
    /// The source is too long or is not a template.
    pub fn new(source: &str) -> Result<Template, Error> {
        if source.len() > MAX_SOURCE {
            let message = format!("the source has {} bytes, allowed are {MAX_SOURCE}", source.len());
            return Err(Error::new(Fail { kind: Kind::Syntax, message }, "", 0));
        }
        Ok(Template { compiled: Arc::new(compile(source)?) })
    }

    /// Whether it reads a variable of this name that it does not set itself.
    ///
    /// ```
    /// let template = inkstone_template::Template::new("{% if tools %}{{ tools | tojson }}{% endif %}")?;
    /// assert!(template.reads("tools") && !template.reads("messages"));
    /// # Ok::<(), inkstone_template::Error>(())
    /// ```
    pub fn reads(&self, name: &str) -> bool {
        let (_, program) = &*self.compiled;
        let is_it =
            |&constant: &u32| matches!(&program.constants[constant as usize], Literal::Text(text) if text == name);
        program.externals.iter().any(is_it)
    }

    /// The names of the functions that every template has.
    pub fn globals() -> impl Iterator<Item = &'static str> {
        globals::names()
    }

    /// A rendering within these limits, which takes variables.
    pub fn renderer(&self, limits: &Limits) -> Renderer<'_> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        Renderer { template: self, env: Env::new(Meter::new(limits), now), variables: HashMap::new() }
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").field("source", &self.compiled.0).finish_non_exhaustive()
    }
}

/// A value for a rendering, made by its [`Renderer`], in whose memory it counts.
#[derive(Clone)]
pub struct Given(Value);

impl Given {
    /// Python's `None`.
    pub fn none() -> Given {
        Given(Value::None)
    }
}

impl From<bool> for Given {
    fn from(truth: bool) -> Given {
        Given(Value::Bool(truth))
    }
}

impl From<i64> for Given {
    fn from(n: i64) -> Given {
        Given(Value::Int(n.into()))
    }
}

impl From<u64> for Given {
    fn from(n: u64) -> Given {
        Given(Value::Int(n.into()))
    }
}

impl From<f64> for Given {
    fn from(n: f64) -> Given {
        Given(Value::Float(n))
    }
}

/// A rendering in the making: its variables and limits.
pub struct Renderer<'t> {
    template: &'t Template,
    env: Env,
    variables: HashMap<String, Value>,
}

/// The output of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Output {
    /// The text.
    pub text: String,
    /// Where its bytes come from: ranges that cover the text, in turns.
    pub runs: Vec<(Range<usize>, Origin)>,
    /// The byte ranges of `{% generation %}` blocks: the parts that a model is trained to write.
    pub generated: Vec<Range<usize>>,
    /// Steps that were taken.
    pub steps: u64,
    /// The most bytes that were alive at a time.
    pub peak_bytes: usize,
    /// Bytes that are still charged although all values of the rendering are gone: none, unless values are held
    /// outside.
    #[doc(hidden)]
    pub charged_bytes: usize,
}

impl Renderer<'_> {
    /// A text.
    ///
    /// # Errors
    /// If memory does not suffice.
    pub fn text(&self, text: &str, origin: Origin) -> Result<Given, Error> {
        self.located(Text::new(&self.env.meter, text, origin)).map(|text| Given(Value::Text(text)))
    }

    /// A list.
    ///
    /// # Errors
    /// If memory does not suffice, or values are nested too deep.
    pub fn list(&self, values: Vec<Given>) -> Result<Given, Error> {
        let values = values.into_iter().map(|value| value.0).collect();
        self.located(Seq::new(&self.env.meter, values)).map(|seq| Given(Value::List(seq)))
    }

    /// A dict.
    ///
    /// # Errors
    /// If memory does not suffice, values are nested too deep, or a key is a list or a dict.
    pub fn dict(&self, pairs: impl ExactSizeIterator<Item = (Given, Given)>) -> Result<Given, Error> {
        let made = || {
            let mut dict = Pairs::new(&self.env.meter, pairs.len())?;
            for (key, value) in pairs {
                dict.insert(key.0, value.0)?;
            }
            dict.value()
        };
        self.located(made()).map(Given)
    }

    /// Sets a variable of the template.
    pub fn set(&mut self, name: impl Into<String>, value: Given) {
        self.variables.insert(name.into(), value.0);
    }

    /// Sets the time for `strftime_now`, in seconds since 1970, UTC. The default is the time of the call.
    pub fn now(&mut self, seconds: i64) {
        self.env.now = seconds;
    }

    /// Bytes that its values have now.
    pub fn bytes(&self) -> usize {
        self.env.meter.bytes_held()
    }

    fn located<T>(&self, made: Result<T>) -> Result<T, Error> {
        made.map_err(|fail| Error::new(*fail, &self.template.compiled.0, 0))
    }

    /// Runs the template.
    ///
    /// # Errors
    /// What the template refuses or can't do, and the limits.
    pub fn render(self) -> Result<Output, Error> {
        let (source, program) = &*self.template.compiled;
        let Renderer { env, variables, .. } = self;
        let external = |name: &str| variables.get(name).cloned().or_else(|| globals::find(name).map(Value::Function));
        let placed = |fail: Box<Fail>| Error::new(*fail, source, 0);
        let Written { out, generated } = machine::run(program, source, &env, external)?;
        let (text, runs) = out.into_parts().map_err(placed)?;
        let meter = env.meter.clone();
        drop((variables, env));
        meter.give_back(size_of_val(&*generated));
        Ok(Output {
            text,
            runs,
            generated,
            steps: meter.steps_taken(),
            peak_bytes: meter.peak(),
            charged_bytes: meter.bytes_held(),
        })
    }
}
