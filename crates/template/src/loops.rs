//! The variable `loop`.

use crate::env::Env;
use crate::error::{Result, wrong};
use crate::iterate::Values;
use crate::meter::Charge;
use crate::seq::{Gather, Seq};
use crate::value::{Value, level_above};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The code of a loop that a call goes on with: which loop function, and the frame that it was made in.
#[derive(Clone, Copy)]
pub(crate) struct Recursion {
    pub function: u32,
    pub parent: u32,
}

/// Where the condition of a loop is, for values that are looked at early.
#[derive(Clone, Copy)]
pub(crate) struct Test {
    pub pc: u32,
    pub frame: u32,
}

/// A loop that is under way.
pub(crate) struct Loop {
    /// Its remaining values.
    values: RefCell<Values>,
    /// Values that were looked at early, in order.
    early: RefCell<std::collections::VecDeque<Value>>,
    early_charge: RefCell<Charge>,
    /// The loop is over: from here on it keeps nothing.
    over: Cell<bool>,
    /// No value is left in `values`.
    ended: Cell<bool>,
    pub test: Option<Test>,
    pub recursion: Option<Recursion>,
    pub depth0: usize,
    /// How many values there are, once that is known.
    length: Cell<Option<usize>>,
    /// How many values were given; 0 before the first.
    given: Cell<usize>,
    before: RefCell<Option<Value>>,
    current: RefCell<Option<Value>>,
    /// The arguments of the last call of `changed`.
    changed: RefCell<Option<Gather>>,
    depth: usize,
    _charge: Charge,
}

impl Loop {
    pub(crate) fn new(
        env: &Env,
        of: &Value,
        values: Values,
        test: Option<Test>,
        recursion: Option<Recursion>,
        depth0: usize,
    ) -> Result<Rc<Loop>> {
        let length = if test.is_none() { values.left() } else { None };
        Ok(Rc::new(Loop {
            values: RefCell::new(values),
            early: RefCell::default(),
            early_charge: RefCell::new(Charge::new(&env.meter, 0)?),
            over: Cell::new(false),
            ended: Cell::new(false),
            test,
            recursion,
            depth0,
            length: Cell::new(length),
            given: Cell::new(0),
            before: RefCell::default(),
            current: RefCell::default(),
            changed: RefCell::default(),
            depth: level_above([of])?,
            _charge: Charge::of::<Loop>(&env.meter, 0)?,
        }))
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// The next value, not tested yet.
    pub(crate) fn raw(&self, env: &Env) -> Result<Option<Value>> {
        let value = self.values.borrow_mut().next(env)?;
        self.ended.set(value.is_none());
        Ok(value)
    }

    /// A value that passed the test before its turn.
    pub(crate) fn put_early(&self, value: Value) -> Result<()> {
        let mut early = self.early.borrow_mut();
        let old = early.capacity();
        if early.len() == old {
            let new = (2 * old).max(4);
            let mut charge = self.early_charge.borrow_mut();
            // Both are there while the values are moved.
            charge.add(new * size_of::<Value>())?;
            early.reserve_exact(new - old);
            charge.remove(old * size_of::<Value>());
        }
        early.push_back(value);
        Ok(())
    }

    /// A value that was looked at early.
    pub(crate) fn take_early(&self) -> Option<Value> {
        self.early.borrow_mut().pop_front()
    }

    /// A value begins its turn.
    pub(crate) fn begin(&self, value: &Value) {
        self.given.set(self.given.get() + 1);
        let before = self.current.replace(Some(value.clone()));
        self.before.replace(before);
    }

    /// The loop is over: it holds nothing that may hold it.
    pub(crate) fn end(&self) {
        self.over.set(true);
        self.changed.take();
        self.values.replace(Values::Nothing);
        self.early.take();
        self.before.take();
        self.current.take();
    }

    /// Whether an attribute needs values that the machine must test first.
    pub(crate) fn lacks(&self, name: &str) -> bool {
        if self.test.is_none() || self.ended.get() {
            return false;
        }
        match name {
            "last" | "nextitem" => self.early.borrow().is_empty(),
            "length" | "revindex" | "revindex0" => true,
            _ => false,
        }
    }

    /// Looks at one value early, if there is no test.
    fn peek(&self, env: &Env) -> Result<Option<Value>> {
        if let Some(value) = self.early.borrow().front() {
            return Ok(Some(value.clone()));
        }
        if self.test.is_some() && !self.ended.get() {
            return wrong("the next values of a loop with a condition are known inside the template only");
        }
        let value = self.raw(env)?;
        if let Some(value) = &value {
            self.put_early(value.clone())?;
        }
        Ok(value)
    }

    /// How many values there are. Of generators it is known once all were made: [`Loop::attribute`].
    pub(crate) fn length(&self) -> Result<usize> {
        self.length.get().map_or_else(|| wrong("the length of this loop is not known here"), Ok)
    }

    fn count(&self, env: &Env) -> Result<usize> {
        if let Some(length) = self.length.get() {
            return Ok(length);
        }
        if self.test.is_some() && !self.ended.get() {
            return wrong("the length of a loop with a condition is known inside the template only");
        }
        // A generator: all its values are made now.
        let rest = self.values.replace(Values::Nothing).gather(env)?.seq()?;
        let length = rest.len() + self.given.get() + self.early.borrow().len();
        self.values.replace(Values::Seq(rest, 0));
        self.length.set(Some(length));
        Ok(length)
    }

    /// An attribute that is not a function.
    pub(crate) fn attribute(&self, name: &str, env: &Env) -> Result<Option<Value>> {
        let int = |n: usize| Value::Int(n as i128);
        // Outside of its values, as Python's: the index is 0, the one before it -1.
        let given = self.given.get();
        Ok(Some(match name {
            "index" => int(given),
            "index0" => Value::Int(given as i128 - 1),
            "first" => Value::Bool(given == 1),
            "last" => Value::Bool(match self.length.get() {
                Some(length) => given >= length,
                None => self.peek(env)?.is_none(),
            }),
            "length" => int(self.count(env)?),
            "revindex" => Value::Int(self.count(env)? as i128 - given as i128 + 1),
            "revindex0" => Value::Int(self.count(env)? as i128 - given as i128),
            "depth" => int(self.depth0 + 1),
            "depth0" => int(self.depth0),
            "previtem" => match &*self.before.borrow() {
                Some(value) => value.clone(),
                None => env.undefined("there is no previous item")?,
            },
            "nextitem" => match self.peek(env)? {
                Some(value) => value,
                None => env.undefined("there is no next item")?,
            },
            _ => return Ok(None),
        }))
    }

    /// `loop.cycle(..)`
    pub(crate) fn cycle(&self, values: &[Value]) -> Result<Value> {
        if values.is_empty() {
            return wrong("loop.cycle needs an item");
        }
        Ok(values[self.given.get().wrapping_sub(1) % values.len()].clone())
    }

    /// `loop.changed(..)`: whether these are others than at the last call.
    pub(crate) fn changed(&self, values: &[Value], env: &Env) -> Result<bool> {
        if let Some(last) = &*self.changed.borrow() {
            let mut same = last.len() == values.len();
            for (a, b) in last.values().iter().zip(values) {
                same = same && crate::compare::equal(a, b, &env.meter)?;
            }
            if same {
                return Ok(false);
            }
        }
        if self.over.get() {
            return Ok(true);
        }
        let mut seen = Gather::with_capacity(&env.meter, values.len())?;
        for value in values {
            seen.push(value.clone())?;
        }
        self.changed.replace(Some(seen));
        Ok(true)
    }

    /// As it is printed.
    pub(crate) fn shown(&self, env: &Env) -> Result<String> {
        Ok(format!("<LoopContext {}/{}>", self.given.get(), self.count(env)?))
    }
}

/// One value, or several, for the names of a loop or an assignment.
pub(crate) fn unpack(value: &Value, names: usize, env: &Env) -> Result<Seq> {
    let values = match value {
        Value::List(seq) | Value::Tuple(seq) => seq.clone(),
        other => {
            let mut values = match Values::of(other) {
                Ok(values) => values,
                Err(_) => return wrong(format!("cannot unpack non-iterable {} object", other.type_name())),
            };
            let mut first = Gather::with_capacity(&env.meter, names)?;
            // One more tells that there are too many.
            while first.len() <= names {
                match values.next(env)? {
                    Some(value) => first.push(value)?,
                    None => break,
                }
            }
            first.seq()?
        }
    };
    match values.len() {
        n if n == names => Ok(values),
        n if n < names => wrong(format!("not enough values to unpack (expected {names}, got {n})")),
        _ => wrong(format!("too many values to unpack (expected {names})")),
    }
}
