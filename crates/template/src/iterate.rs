//! The values of a value, one after the other.

use crate::dict::Dict;
use crate::env::Env;
use crate::error::{Result, wrong};
use crate::generator::Generator;
use crate::range::Range;
use crate::seq::{Gather, Seq};
use crate::text::Text;
use crate::value::{Value, View};
use std::rc::Rc;

/// The values of a `for` loop.
pub(crate) enum Values {
    Nothing,
    Seq(Seq, usize),
    /// From its last to its first.
    Reversed(Box<Values>, usize),
    Chars(Text, usize),
    Dict(Rc<Dict>, View, usize),
    Range(Rc<Range>, usize),
    Generator(Rc<Generator>),
}

impl Values {
    /// Of a value that has values.
    pub(crate) fn of(value: &Value) -> Result<Values> {
        Ok(match value {
            Value::Undefined(_) => Values::Nothing,
            Value::List(seq) | Value::Tuple(seq) => Values::Seq(seq.clone(), 0),
            Value::Text(text) => Values::Chars(text.clone().safe(false), 0),
            Value::Dict(dict) => Values::Dict(dict.clone(), View::Keys, 0),
            Value::View(dict, view) => Values::Dict(dict.clone(), *view, 0),
            Value::Range(range) => Values::Range(range.clone(), 0),
            Value::Generator(generator) => Values::Generator(generator.clone()),
            other => return wrong(format!("'{}' object is not iterable", other.type_name())),
        })
    }

    /// From the last to the first; of a generator there is no such order.
    pub(crate) fn reversed(value: &Value) -> Result<Values> {
        let values = match value {
            // From its start, a safe text gives texts that are not; from its end, safe ones.
            Value::Text(text) => Values::Chars(text.clone(), 0),
            value => Values::of(value)?,
        };
        match values.left() {
            Some(n) => Ok(Values::Reversed(Box::new(values), n)),
            None => wrong(format!("'{}' object is not reversible", value.type_name())),
        }
    }

    /// How many values there are, if that is known.
    pub(crate) fn left(&self) -> Option<usize> {
        match self {
            Values::Nothing => Some(0),
            Values::Seq(seq, at) => Some(seq.len() - at),
            Values::Reversed(_, left) => Some(*left),
            Values::Dict(dict, _, at) => Some(dict.len() - at),
            Values::Range(range, at) => Some(range.len as usize - at),
            Values::Chars(text, 0) => Some(text.chars()),
            Values::Chars(text, at) => Some(text.as_str()[*at..].chars().count()),
            Values::Generator(_) => None,
        }
    }

    pub(crate) fn next(&mut self, env: &Env) -> Result<Option<Value>> {
        env.meter.value()?;
        match self {
            Values::Nothing => Ok(None),
            Values::Generator(generator) => generator.next(env),
            Values::Seq(seq, at) => {
                let value = seq.get(*at).cloned();
                *at += usize::from(value.is_some());
                Ok(value)
            }
            Values::Range(range, at) => {
                let value = (*at < range.len as usize).then(|| range.get(*at));
                *at += usize::from(value.is_some());
                Ok(value)
            }
            Values::Chars(text, at) => {
                let Some(c) = text.as_str()[*at..].chars().next() else { return Ok(None) };
                *at += c.len_utf8();
                Ok(Some(Value::Text(text.part(*at - c.len_utf8()..*at))))
            }
            Values::Dict(dict, view, at) => {
                let Some(pair) = dict.pairs().get(*at) else { return Ok(None) };
                *at += 1;
                shown(pair, *view, env).map(Some)
            }
            Values::Reversed(values, left) => {
                let Some(i) = left.checked_sub(1) else { return Ok(None) };
                *left = i;
                match &mut **values {
                    Values::Seq(seq, _) => Ok(seq.get(i).cloned()),
                    Values::Range(range, _) => Ok(Some(range.get(i))),
                    Values::Dict(dict, view, _) => dict.pairs().get(i).map(|pair| shown(pair, *view, env)).transpose(),
                    Values::Chars(text, _) => {
                        let c = text.as_str().chars().next_back().map_or(0, char::len_utf8);
                        let last = text.part(text.len() - c..text.len());
                        *text = text.part(0..text.len() - c);
                        Ok(Some(Value::Text(last)))
                    }
                    _ => Ok(None),
                }
            }
        }
    }

    /// All that are left.
    pub(crate) fn gather(mut self, env: &Env) -> Result<Gather> {
        let mut all = Gather::with_capacity(&env.meter, self.left().unwrap_or(0))?;
        while let Some(value) = self.next(env)? {
            all.push(value)?;
        }
        Ok(all)
    }
}

fn shown((key, value): &(Value, Value), view: View, env: &Env) -> Result<Value> {
    Ok(match view {
        View::Keys => key.clone(),
        View::Values => value.clone(),
        View::Items => Value::Tuple(Seq::new(&env.meter, vec![key.clone(), value.clone()])?),
    })
}
