//! Frames: the variables of a function that runs, or that a macro may ask for later.

use super::Machine;
use super::call::Known;
use crate::env::Env;
use crate::error::Result;
use crate::meter::Charge;
use crate::program::Var;
use crate::value::Value;
use std::rc::Rc;

/// The variables of a function. Frames are stored in a table, because a macro may be a variable of its own frame.
pub(super) struct Frame {
    /// Empty while it is the current one.
    pub slots: Vec<Option<Value>>,
    /// The frame of the function around.
    pub parent: u32,
    /// Each macro that was made here and is still there has a share of it.
    pub shares: Rc<()>,
    pub charge: Option<Charge>,
}

impl Frame {
    pub(super) fn root(env: &Env) -> Result<Frame> {
        Ok(Frame { slots: Vec::new(), parent: 0, shares: Rc::new(()), charge: Some(Charge::new(&env.meter, 0)?) })
    }
}

/// A macro: code, and the frame that it was made in.
pub(crate) struct Macro {
    pub function: u32,
    pub frame: u32,
    _share: Rc<()>,
    pub(super) known: Rc<Known>,
    _charge: Charge,
}

impl Macro {
    pub(crate) fn name(&self) -> Option<&str> {
        self.known.name.as_ref().map(|name| name.as_str())
    }

    /// An attribute, by name.
    pub(crate) fn attribute(&self, name: &str, _: &Env) -> Result<Option<Value>> {
        let known = &self.known;
        Ok(Some(match name {
            "name" => known.name.clone().map_or(Value::None, Value::Text),
            "arguments" => Value::Tuple(known.arguments.clone()),
            "catch_kwargs" => Value::Bool(known.kwargs),
            "catch_varargs" => Value::Bool(known.varargs),
            "caller" => Value::Bool(known.caller),
            "explicit_caller" => Value::Bool(known.explicit_caller),
            _ => return Ok(None),
        }))
    }
}

impl Machine<'_> {
    /// The value of a variable, if it has one.
    #[inline]
    pub(super) fn variable(&self, var: Var) -> Option<&Value> {
        if var.up == 0 {
            return self.slots[var.slot as usize].as_ref();
        }
        let mut frame = self.frames[self.frame as usize].parent;
        for _ in 1..var.up {
            frame = self.frames[frame as usize].parent;
        }
        self.frames[frame as usize].slots.get(var.slot as usize)?.as_ref()
    }

    /// Goes over to another frame.
    pub(super) fn switch(&mut self, to: u32) {
        if to != self.frame {
            let (from, to_place) = (self.frame as usize, to as usize);
            self.frames[from].slots = std::mem::take(&mut self.slots);
            self.slots = std::mem::take(&mut self.frames[to_place].slots);
            self.frame = to;
        }
    }

    /// A frame of so many slots, for a function that also needs room on the stack.
    pub(super) fn new_frame(&mut self, slots: u32, stack: u32, parent: u32) -> Result<u32> {
        const OVERHEAD: usize = 256;
        self.env.meter.values(slots as usize)?;
        let values = (slots + stack) as usize * size_of::<Option<Value>>();
        let charge = Charge::new(&self.env.meter, values + OVERHEAD)?;
        let (slots, charge) = (vec![None; slots as usize], Some(charge));
        let shares = Rc::new(());
        Ok(match self.free.pop() {
            Some(free) => {
                self.frames[free as usize] = Frame { slots, parent, shares, charge };
                free
            }
            None => {
                self.frames.push(Frame { slots, parent, shares, charge });
                self.frames.len() as u32 - 1
            }
        })
    }

    /// Releases the frame of a function that ends, unless a macro defined in it is also referenced elsewhere.
    pub(super) fn release(&mut self, place: u32) {
        let frame = &mut self.frames[place as usize];
        let macros = Rc::strong_count(&frame.shares) - 1;
        let of_its_own = frame.slots.iter().flatten().filter(|value| match value {
            Value::Macro(made) => made.frame == place && Rc::strong_count(made) == 1,
            _ => false,
        });
        if of_its_own.count() == macros {
            frame.slots = Vec::new();
            frame.charge = None;
            self.free.push(place);
        }
    }

    pub(super) fn make_macro(&mut self, function: u32) -> Result<Value> {
        let known = self.known(function)?;
        let share = self.frames[self.frame as usize].shares.clone();
        let charge = Charge::of::<Macro>(&self.env.meter, 0)?;
        Ok(Value::Macro(Rc::new(Macro { function, frame: self.frame, _share: share, known, _charge: charge })))
    }
}
