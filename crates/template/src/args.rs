//! The arguments of a call, and which parameter each of them is.

use crate::error::{Result, wrong};
use crate::text::Text;
use crate::value::Value;

/// The arguments of a call.
#[derive(Clone, Copy)]
pub(crate) struct Args<'a> {
    pub positional: &'a [Value],
    pub named: &'a [(Text, Value)],
}

impl<'a> Args<'a> {
    /// The values of the parameters of these names, in their order.
    pub(crate) fn bind<const N: usize>(&self, of: &str, names: [&str; N]) -> Result<[Option<&'a Value>; N]> {
        if self.positional.len() > N {
            let given = self.positional.len();
            return wrong(format!("{of} takes at most {N} arguments, {given} were given"));
        }
        let mut bound = [None; N];
        for (place, value) in bound.iter_mut().zip(self.positional) {
            *place = Some(value);
        }
        for (name, value) in self.named {
            match names.iter().position(|known| *known == name.as_str()) {
                None => {
                    let name = crate::error::shortened(name.as_str(), 80);
                    return wrong(format!("{of} has no argument '{name}'; it has: {}", names.join(", ")));
                }
                Some(i) if bound[i].is_some() => {
                    return wrong(format!("{of} was given argument '{}' twice", names[i]));
                }
                Some(i) => bound[i] = Some(value),
            }
        }
        Ok(bound)
    }

    /// As [`Args::bind`], for functions that take no names, as most methods of Python.
    pub(crate) fn positional<const N: usize>(&self, of: &str) -> Result<[Option<&'a Value>; N]> {
        if !self.named.is_empty() {
            return wrong(format!("{of} takes no keyword arguments"));
        }
        self.bind(of, [""; N])
    }

    /// That there are no arguments.
    pub(crate) fn none(&self, of: &str) -> Result<()> {
        self.bind::<0>(of, []).map(drop)
    }

    /// Without the first positional one.
    pub(crate) fn rest(&self) -> Args<'a> {
        Args { positional: self.positional.get(1..).unwrap_or_default(), named: self.named }
    }
}

/// An argument that has to be there.
pub(crate) fn needed<'a>(value: Option<&'a Value>, of: &str, name: &str) -> Result<&'a Value> {
    value.map_or_else(|| wrong(format!("{of} needs argument '{name}'")), Ok)
}

/// A flag: any value is true or false.
pub(crate) fn flag(value: Option<&Value>, default: bool) -> bool {
    value.map_or(default, Value::is_true)
}
