//! Generators: the values of `map`, `select` and their like, made when they are asked for.

use crate::args::Args;
use crate::env::Env;
use crate::error::{Result, wrong};
use crate::iterate::Values;
use crate::meter::Charge;
use crate::seq::Gather;
use crate::value::{Value, level_above};
use std::cell::RefCell;
use std::rc::Rc;

/// How many generators may be inside each other: to take a value from one recurses.
const LEVEL: usize = 8;

/// A function that produces the next value.
pub(crate) type Next = Box<dyn FnMut(&Env) -> Result<Option<Value>>>;

/// A function that checks the arguments when the first value is requested, as generators of Python do.
pub(crate) type Prepare = fn(&Env, &Value, Args) -> Result<Next>;

enum State {
    New(Value, Gather, Vec<(crate::text::Text, Value)>, Prepare),
    Running(Next),
    /// A value is being made: it can't ask for itself.
    Busy,
}

/// Checks that a generator over a value of this depth may store another value. A value from a namespace may be deeper
/// than the source of the generator, and without a limit such generators could form a chain of any length.
pub(crate) fn keeps(depth: usize, value: &Value) -> Result<()> {
    if value.depth() <= depth + LEVEL { Ok(()) } else { wrong("values nested too deep for a generator") }
}

/// Gives its values once.
pub(crate) struct Generator {
    /// Its name when it is printed.
    pub name: &'static str,
    state: RefCell<State>,
    depth: usize,
    _charge: Charge,
}

impl Generator {
    /// A filter's generator.
    pub(crate) fn value(env: &Env, name: &'static str, value: &Value, args: Args, prepare: Prepare) -> Result<Value> {
        let inner = level_above([value].into_iter().chain(args.positional).chain(args.named.iter().map(|(_, v)| v)))?;
        let depth = inner + LEVEL;
        if depth > crate::value::DEEPEST {
            return wrong("generators nested too deep");
        }
        let charge = Charge::of::<Generator>(&env.meter, 256 + size_of_val(args.named))?;
        let mut positional = Gather::with_capacity(&env.meter, args.positional.len())?;
        for value in args.positional {
            positional.push(value.clone())?;
        }
        let state = RefCell::new(State::New(value.clone(), positional, args.named.to_vec(), prepare));
        Ok(Value::Generator(Rc::new(Generator { name, state, depth, _charge: charge })))
    }

    /// Over the values of a value.
    pub(crate) fn over(env: &Env, name: &'static str, of: &Value, mut values: Values) -> Result<Value> {
        let depth = level_above([of])? + LEVEL;
        let charge = Charge::of::<Generator>(&env.meter, 256)?;
        let next: Next = Box::new(move |env| values.next(env));
        let state = RefCell::new(State::Running(next));
        Ok(Value::Generator(Rc::new(Generator { name, state, depth, _charge: charge })))
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn next(&self, env: &Env) -> Result<Option<Value>> {
        let mut next = match self.state.replace(State::Busy) {
            State::Running(next) => next,
            State::New(value, positional, named, prepare) => {
                prepare(env, &value, Args { positional: positional.values(), named: &named })?
            }
            State::Busy => return wrong("generator already executing"),
        };
        let value = next(env);
        // After an error or its end it gives nothing more.
        let after = if let Ok(Some(_)) = value { next } else { Box::new(|_: &Env| Ok(None)) };
        self.state.replace(State::Running(after));
        value
    }
}
