//! Calls.

use super::Machine;
use super::frames::Macro;
use crate::access;
use crate::args::Args;
use crate::dict::Pairs;
use crate::error::{Result, shortened, wrong};
use crate::iterate::Values;
use crate::loops::{Loop, Recursion};
use crate::meter::Charge;
use crate::methods::{self, Found};
use crate::program::Shape;
use crate::seq::{Gather, Seq};
use crate::text::Text;
use crate::value::{Undefined, Value};
use std::rc::Rc;

/// Calls inside each other.
const DEEPEST: usize = 400;

/// The attributes of a macro.
pub(super) struct Known {
    pub name: Option<Text>,
    pub arguments: Seq,
    pub kwargs: bool,
    pub varargs: bool,
    pub caller: bool,
    pub explicit_caller: bool,
}

/// A function that runs.
pub(super) struct Activation {
    pub function: u32,
    /// The frame to go back to, and the instruction there.
    pub caller: u32,
    pub back: u32,
    /// Loops that were open before.
    loops: usize,
    /// Captures that were open before.
    captures: usize,
    kind: Kind,
}

enum Kind {
    Macro,
    /// How deep a recursive loop is.
    Loop(Recursion, usize),
    /// Where in the output it began, if it goes there.
    Generation(Option<usize>),
    /// The condition of a loop on a value before its turn.
    Test(Rc<Loop>),
}

impl Activation {
    pub(super) fn is_call(&self) -> bool {
        matches!(self.kind, Kind::Macro)
    }
}

/// Arguments that were taken from the stack.
pub(super) struct Given {
    positional: Gather,
    named: Vec<(Text, Value)>,
    _charge: Option<Charge>,
}

impl Given {
    pub(super) fn args(&self) -> Args<'_> {
        Args { positional: self.positional.values(), named: &self.named }
    }
}

impl Machine<'_> {
    /// The arguments on the stack; lists and dicts among them are unfolded.
    pub(super) fn take_arguments(&mut self, shape: &Shape) -> Result<Given> {
        let caller = if shape.caller { self.stack.pop() } else { None };
        let double_star = if shape.double_star { self.stack.pop() } else { None };
        let star = if shape.star { self.stack.pop() } else { None };
        let mut positional = Gather::with_capacity(&self.env.meter, shape.positional as usize)?;
        let mut named = Vec::with_capacity(shape.names.len());
        let from = self.stack.len() - shape.names.len();
        for (i, value) in self.stack.split_off(from).into_iter().enumerate() {
            named.push((self.constants.text(shape.names[i])?.clone(), value));
        }
        let from = self.stack.len() - shape.positional as usize;
        for value in self.stack.drain(from..) {
            positional.push(value)?;
        }
        if let Some(star) = star {
            let mut values = Values::of(&star)?;
            while let Some(value) = values.next(self.env)? {
                positional.push(value)?;
            }
        }
        let mut charge = None;
        match double_star {
            None => {}
            Some(Value::Dict(dict)) => {
                charge = Some(Charge::new(&self.env.meter, dict.len() * size_of::<(Text, Value)>())?);
                named.reserve_exact(dict.len());
                for (key, value) in dict.pairs() {
                    self.env.meter.values(1 + named.len())?;
                    let Value::Text(name) = key else { return wrong("keywords must be strings") };
                    if named.iter().any(|(known, _): &(Text, Value)| known.as_str() == name.as_str()) {
                        let name = shortened(name.as_str(), 80);
                        return wrong(format!("multiple values for keyword argument '{name}'"));
                    }
                    named.push((name.clone(), value.clone()));
                }
            }
            Some(Value::Undefined(undefined)) => return undefined.used(),
            Some(other) => return wrong(format!("argument after ** must be a mapping, not {}", other.type_name())),
        }
        if let Some(caller) = caller {
            let Value::Text(name) = self.env.text("caller")? else { return wrong("no caller") };
            named.push((name, caller));
        }
        Ok(Given { positional, named, _charge: charge })
    }

    /// Calls the value below the arguments on the stack.
    pub(super) fn call(&mut self, shape: &Shape) -> Result<()> {
        let given = self.take_arguments(shape)?;
        let callee = self.pop();
        self.call_value(&callee, given)
    }

    /// Calls an attribute of the value below the arguments on the stack.
    pub(super) fn call_method(&mut self, name: &Text, shape: &Shape) -> Result<()> {
        let base = self.stack.len() - shape.len();
        let value = self.stack[base - 1].clone();
        // Most often a method of a text or a dict, which needs no value of its own.
        if let Value::Text(_) | Value::Dict(_) | Value::List(_) = &value
            && let Some(Found::Method(_, method)) = methods::find(&value, name.as_str())
        {
            return self.native(shape, method);
        }
        let callee = access::attribute(&value, name, self.env)?;
        let given = self.take_arguments(shape)?;
        self.pop();
        self.call_value(&callee, given)
    }

    fn call_value(&mut self, callee: &Value, given: Given) -> Result<()> {
        let made = match callee {
            Value::Macro(called) => return self.enter_macro(called, given),
            Value::Loop(looped) => {
                let [values] = given.args().bind("loop", ["iterable"])?;
                let values = crate::args::needed(values, "loop", "iterable")?.clone();
                let Some(Recursion { function, parent }) = looped.recursion else {
                    return wrong("the loop must have the 'recursive' marker to be called");
                };
                return self.enter_loop(function, parent, looped.depth0 + 1, values);
            }
            Value::Joiner(joiner) => {
                given.args().none("joiner")?;
                if joiner.used.replace(true) { joiner.text.clone() } else { crate::operators::empty() }
            }
            Value::Method(bound) => (bound.method)(self.env, &bound.value, given.args())?,
            Value::Function(function) => (function.run)(self.env, given.args())?,
            Value::Undefined(undefined) => return undefined.used(),
            other => return wrong(format!("'{}' object is not callable", other.type_name())),
        };
        self.stack.push(made);
        Ok(())
    }

    fn activate(&mut self, function: u32, frame: u32, kind: Kind) -> Result<()> {
        if self.calls.len() >= DEEPEST {
            return wrong(format!("calls nested more than {DEEPEST} deep"));
        }
        self.calls.push(Activation {
            function,
            caller: self.frame,
            back: self.pc as u32,
            loops: self.loops.len(),
            captures: self.outer.len(),
            kind,
        });
        self.switch(frame);
        self.pc = self.program.functions[function as usize].entry as usize;
        Ok(())
    }

    fn frame_of(&mut self, function: u32, parent: u32) -> Result<u32> {
        let code = &self.program.functions[function as usize];
        self.new_frame(code.slots, code.stack, parent)
    }

    /// Arguments to parameters, as Jinja's macros take them.
    fn enter_macro(&mut self, called: &Macro, given: Given) -> Result<()> {
        let program = self.program;
        let code = &program.functions[called.function as usize];
        let label = || code.name.as_deref().unwrap_or("caller");
        let frame = self.frame_of(called.function, called.frame)?;
        let Given { positional, mut named, _charge } = given;
        let mut more = Gather::new(&self.env.meter)?;
        for (i, value) in positional.values().iter().enumerate() {
            match code.parameters.get(i) {
                Some((slot, _)) => self.frames[frame as usize].slots[*slot as usize] = Some(value.clone()),
                None => more.push(value.clone())?,
            }
        }
        drop(positional);
        for (slot, name) in &code.parameters {
            if self.frames[frame as usize].slots[*slot as usize].is_some() || named.is_empty() {
                continue;
            }
            let name = self.constants.text(*name)?;
            self.env.meter.values(named.len())?;
            if let Some(i) = named.iter().position(|(known, _)| known.is(name.as_str())) {
                self.frames[frame as usize].slots[*slot as usize] = Some(named.remove(i).1);
            }
        }
        if let Some(slot) = code.caller {
            let place = named.iter().position(|(name, _)| name.as_str() == "caller");
            let caller = match place.map(|i| named.remove(i).1) {
                None | Some(Value::None) => Undefined::because(&self.env.meter, "no caller defined")?,
                Some(caller) => caller,
            };
            self.frames[frame as usize].slots[slot as usize] = Some(caller);
        }
        if let Some(slot) = code.kwargs {
            let mut pairs = Pairs::new(&self.env.meter, named.len())?;
            for (name, value) in named {
                pairs.insert(Value::Text(name), value)?;
            }
            self.frames[frame as usize].slots[slot as usize] = Some(pairs.value()?);
        } else if let Some((name, _)) = named.first() {
            let name = shortened(name.as_str(), 80);
            return wrong(format!("macro '{}' takes no keyword argument '{name}'", label()));
        }
        if let Some(slot) = code.varargs {
            self.frames[frame as usize].slots[slot as usize] = Some(Value::Tuple(more.seq()?));
        } else if more.len() > 0 {
            let most = code.parameters.len();
            return wrong(format!("macro '{}' takes not more than {most} argument(s)", label()));
        }
        self.activate(called.function, frame, Kind::Macro)?;
        self.capture()
    }

    pub(super) fn enter_loop(&mut self, function: u32, parent: u32, depth: usize, values: Value) -> Result<()> {
        let frame = self.frame_of(function, parent)?;
        self.frames[frame as usize].slots[0] = Some(values);
        self.activate(function, frame, Kind::Loop(Recursion { function, parent }, depth))?;
        self.capture()
    }

    pub(super) fn enter_generation(&mut self, function: u32) -> Result<()> {
        let frame = self.frame_of(function, self.frame)?;
        let start = self.outer.is_empty().then(|| self.out.len());
        // It is a call without arguments.
        let code = &self.program.functions[function as usize];
        if let Some(slot) = code.kwargs {
            self.frames[frame as usize].slots[slot as usize] = Some(Pairs::new(&self.env.meter, 0)?.value()?);
        }
        if let Some(slot) = code.varargs {
            let none = Gather::new(&self.env.meter)?.seq()?;
            self.frames[frame as usize].slots[slot as usize] = Some(Value::Tuple(none));
        }
        self.activate(function, frame, Kind::Generation(start))
    }

    /// Tests a value before its turn, as the code of the loop does.
    pub(super) fn enter_test(&mut self, looped: &Rc<Loop>, pc: u32, frame: u32) -> Result<()> {
        // The instruction that asked is made again.
        self.pc -= 1;
        self.activate(0, frame, Kind::Test(looped.clone()))?;
        self.pc = pc as usize;
        Ok(())
    }

    /// The loop whose value is tested before its turn.
    pub(super) fn early_test(&self) -> Option<Rc<Loop>> {
        match &self.calls.last()?.kind {
            Kind::Test(looped) if self.loops.len() == self.calls.last()?.loops => Some(looped.clone()),
            _ => None,
        }
    }

    /// How deep the recursive loop is that runs.
    pub(super) fn recursion(&self) -> (Option<Recursion>, usize) {
        match self.calls.last().map(|call| &call.kind) {
            Some(Kind::Loop(recursion, depth)) => (Some(*recursion), *depth),
            _ => (None, 0),
        }
    }

    /// Ends a test before a value's turn.
    pub(super) fn leave_test(&mut self) {
        if let Some(call) = self.calls.pop() {
            self.switch(call.caller);
            self.pc = call.back as usize;
        }
    }

    /// Ends a function, whose value is its output.
    pub(super) fn leave(&mut self) -> Result<()> {
        let Some(call) = self.calls.pop() else { return Ok(()) };
        debug_assert!(self.loops.len() == call.loops, "loops end before the function that has them");
        let left = self.frame;
        match call.kind {
            Kind::Generation(start) => {
                if let Some(start) = start {
                    self.env.meter.take(size_of::<std::ops::Range<usize>>())?;
                    self.generated.push(start..self.out.len());
                }
            }
            _ => {
                debug_assert!(self.outer.len() == call.captures + 1, "captures end before their function");
                let text = self.captured()?;
                self.stack.push(Value::Text(text));
            }
        }
        self.switch(call.caller);
        self.release(left);
        self.pc = call.back as usize;
        Ok(())
    }

    /// The attributes of the macros of a function.
    pub(super) fn known(&mut self, function: u32) -> Result<Rc<Known>> {
        if let Some(known) = &self.known[function as usize] {
            return Ok(known.clone());
        }
        let code = &self.program.functions[function as usize];
        let name = match &code.name {
            Some(name) => Some(Text::new(&self.env.meter, name, crate::text::Origin::Template)?),
            None => None,
        };
        let mut arguments = Gather::with_capacity(&self.env.meter, code.parameters.len())?;
        for (_, name) in &code.parameters {
            arguments.push(Value::Text(self.constants.text(*name)?.clone()))?;
        }
        let explicit_caller =
            arguments.values().iter().any(|name| matches!(name, Value::Text(name) if name.as_str() == "caller"));
        let known = Rc::new(Known {
            name,
            arguments: arguments.seq()?,
            kwargs: code.kwargs.is_some(),
            varargs: code.varargs.is_some(),
            caller: code.caller.is_some() || explicit_caller,
            explicit_caller,
        });
        self.known[function as usize] = Some(known.clone());
        Ok(known)
    }
}
