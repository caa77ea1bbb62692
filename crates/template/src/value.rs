//! Values of a template, as Python has them.

use crate::dict::Dict;
use crate::error::{Fail, Kind, Result, wrong};
use crate::generator::Generator;
use crate::globals::Function;
use crate::loops::Loop;
use crate::machine::Macro;
use crate::meter::{Charge, Meter};
use crate::methods::Method;
use crate::range::Range;
use crate::seq::Seq;
use crate::text::Text;
use std::cell::Cell;
use std::rc::Rc;

/// The largest nesting depth of values. Deeper values are refused, so that functions may recurse over values.
pub(crate) const DEEPEST: usize = 256;

#[derive(Clone)]
pub(crate) enum Value {
    Undefined(Rc<Undefined>),
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Text),
    List(Seq),
    Tuple(Seq),
    Dict(Rc<Dict>),
    /// `dict.keys()`, `.values()`, `.items()`.
    View(Rc<Dict>, View),
    Range(Rc<Range>),
    /// Gives its values once.
    Generator(Rc<Generator>),
    /// Its place in the table of the rendering: a namespace may hold itself.
    Namespace(u32),
    Macro(Rc<Macro>),
    Loop(Rc<Loop>),
    Cycler(Rc<Cycler>),
    Joiner(Rc<Joiner>),
    Method(Rc<Bound>),
    Function(&'static Function),
}

/// The part of a dict that a view shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    Keys,
    Values,
    Items,
}

/// An undefined value, with the reason.
pub(crate) struct Undefined {
    why: Why,
    name: Text,
    _charge: Charge,
}

#[derive(Clone, Copy)]
enum Why {
    Variable,
    Parameter,
    /// Of a value of this type.
    Attribute(&'static str),
    /// Of a value of this type.
    Element(&'static str, Option<i64>),
    /// An attribute that the sandbox hides.
    Hidden(&'static str),
    Other(&'static str),
}

impl Undefined {
    fn value(meter: &Rc<Meter>, why: Why, name: Text) -> Result<Value> {
        let charge = Charge::of::<Undefined>(meter, 0)?;
        Ok(Value::Undefined(Rc::new(Undefined { why, name, _charge: charge })))
    }

    pub(crate) fn variable(meter: &Rc<Meter>, name: Text) -> Result<Value> {
        Undefined::value(meter, Why::Variable, name)
    }

    pub(crate) fn parameter(meter: &Rc<Meter>, name: Text) -> Result<Value> {
        Undefined::value(meter, Why::Parameter, name)
    }

    pub(crate) fn attribute(meter: &Rc<Meter>, of: &Value, name: Text) -> Result<Value> {
        Undefined::value(meter, Why::Attribute(of.type_name()), name)
    }

    pub(crate) fn element(meter: &Rc<Meter>, of: &Value, key: &Value) -> Result<Value> {
        match key {
            Value::Text(name) => Undefined::attribute(meter, of, name.clone()),
            Value::Int(n) => {
                Undefined::value(meter, Why::Element(of.type_name(), i64::try_from(*n).ok()), Text::default())
            }
            _ => Undefined::value(meter, Why::Element(of.type_name(), None), Text::default()),
        }
    }

    pub(crate) fn hidden(meter: &Rc<Meter>, of: &Value, name: Text) -> Result<Value> {
        Undefined::value(meter, Why::Hidden(of.type_name()), name)
    }

    pub(crate) fn because(meter: &Rc<Meter>, why: &'static str) -> Result<Value> {
        Undefined::value(meter, Why::Other(why), Text::default())
    }

    /// The error of using it.
    pub(crate) fn used<T>(&self) -> Result<T> {
        let name = crate::error::shortened(self.name.as_str(), 80);
        let (kind, message) = match self.why {
            Why::Variable => (Kind::Undefined, format!("'{name}' is undefined")),
            Why::Parameter => (Kind::Undefined, format!("parameter '{name}' was not provided")),
            Why::Attribute(of) => (Kind::Undefined, format!("'{of} object' has no attribute '{name}'")),
            Why::Element(of, Some(i)) => (Kind::Undefined, format!("{of} object has no element {i}")),
            Why::Element(of, None) => (Kind::Undefined, format!("{of} object has no such element")),
            Why::Hidden(of) => (Kind::Sandbox, format!("the sandbox does not allow attribute '{name}' of '{of}'")),
            Why::Other(why) => (Kind::Undefined, why.to_string()),
        };
        Err(Fail::new(kind, message))
    }
}

/// `cycler`: its items in turns.
pub(crate) struct Cycler {
    pub items: Seq,
    pub at: Cell<usize>,
    pub _charge: Charge,
}

/// `joiner`: nothing at the first call, then its text.
pub(crate) struct Joiner {
    pub text: Value,
    pub used: Cell<bool>,
    pub _charge: Charge,
}

/// A method of a value that was not called yet.
pub(crate) struct Bound {
    pub value: Value,
    pub name: &'static str,
    pub method: Method,
    pub _charge: Charge,
}

impl Value {
    /// The name of its type in Python.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::Undefined(_) => "Undefined",
            Value::None => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Text(text) if text.is_safe() => "Markup",
            Value::Text(_) => "str",
            Value::List(_) => "list",
            Value::Tuple(_) => "tuple",
            Value::Dict(_) => "dict",
            Value::View(_, View::Keys) => "dict_keys",
            Value::View(_, View::Values) => "dict_values",
            Value::View(_, View::Items) => "dict_items",
            Value::Range(_) => "range",
            Value::Generator(_) => "generator",
            Value::Namespace(_) => "Namespace",
            Value::Macro(_) => "Macro",
            Value::Loop(_) => "LoopContext",
            Value::Cycler(_) => "Cycler",
            Value::Joiner(_) => "Joiner",
            Value::Method(_) => "method",
            Value::Function(_) => "function",
        }
    }

    /// Levels of values inside it.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Value::List(seq) | Value::Tuple(seq) => seq.depth(),
            Value::Dict(dict) | Value::View(dict, _) => dict.depth(),
            Value::Generator(generator) => generator.depth(),
            Value::Loop(looped) => looped.depth(),
            Value::Cycler(cycler) => cycler.items.depth() + 1,
            Value::Joiner(joiner) => joiner.text.depth() + 1,
            Value::Method(bound) => bound.value.depth() + 1,
            _ => 0,
        }
    }

    pub(crate) fn is_true(&self) -> bool {
        match self {
            Value::Undefined(_) | Value::None => false,
            Value::Bool(truth) => *truth,
            Value::Int(n) => *n != 0,
            Value::Float(n) => *n != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::List(seq) | Value::Tuple(seq) => seq.len() > 0,
            Value::Dict(dict) | Value::View(dict, _) => dict.len() > 0,
            Value::Range(range) => range.len > 0,
            _ => true,
        }
    }

    pub(crate) fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined(_))
    }

    /// The result of `len`, if it is defined.
    pub(crate) fn len(&self) -> Result<usize> {
        Ok(match self {
            Value::Undefined(_) => 0,
            Value::Text(text) => text.chars(),
            Value::List(seq) | Value::Tuple(seq) => seq.len(),
            Value::Dict(dict) | Value::View(dict, _) => dict.len(),
            Value::Range(range) => range.len as usize,
            Value::Loop(looped) => looped.length()?,
            other => return wrong(format!("object of type '{}' has no length", other.type_name())),
        })
    }

    /// A text, as operations on texts want it.
    pub(crate) fn as_text(&self, what: &str) -> Result<&Text> {
        match self {
            Value::Text(text) => Ok(text),
            Value::Undefined(undefined) => undefined.used(),
            other => wrong(format!("{what} must be str, not {}", other.type_name())),
        }
    }

    /// An int, as indices and counts have to be.
    pub(crate) fn as_int(&self, what: &str) -> Result<i128> {
        match self {
            Value::Int(n) => Ok(*n),
            Value::Bool(truth) => Ok(i128::from(*truth)),
            Value::Undefined(undefined) => undefined.used(),
            other => wrong(format!("{what} must be int, not {}", other.type_name())),
        }
    }
}

/// One level above these values, unless that is too deep.
pub(crate) fn level_above<'v>(values: impl IntoIterator<Item = &'v Value>) -> Result<usize> {
    let depth = values.into_iter().map(Value::depth).max().map_or(0, |depth| depth + 1);
    if depth > DEEPEST { wrong(format!("values nested more than {DEEPEST} deep")) } else { Ok(depth) }
}
