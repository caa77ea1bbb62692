//! The machine: runs a program. Calls, loops and captures have stacks of their own, so that no template needs native
//! stack.

mod ahead;
mod call;
mod constants;
mod frames;
mod round;

use crate::access;
use crate::args::Args;
use crate::dict::Pairs;
use crate::env::Env;
use crate::error::{Error, Fail, Result, wrong};
use crate::iterate::Values;
use crate::loops::{Loop, unpack};
use crate::meter::Charge;
use crate::operators::{binary, compare, concat, print_sum, signed, sum};
use crate::parse::ast::Literal;
use crate::program::{Op, Program, Shape};
use crate::seq::{Gather, Seq};
use crate::slice::slice;
use crate::text::{Builder, Origin, Text};
use crate::value::{Undefined, Value};
use call::{Activation, Known};
use constants::Constants;
use frames::Frame;
pub(crate) use frames::Macro;
use std::ops::Range;
use std::rc::Rc;

/// The output of a rendering.
pub(crate) struct Written {
    pub out: Builder,
    /// Byte ranges of generations.
    pub generated: Vec<Range<usize>>,
}

pub(crate) struct Machine<'p> {
    program: &'p Program,
    source: &'p str,
    env: &'p Env,
    pc: usize,
    stack: Vec<Value>,
    constants: &'p Constants<'p>,
    externals: Vec<Option<Value>>,
    /// The slots of the current frame; its place in `frames` has none meanwhile.
    slots: Vec<Option<Value>>,
    frame: u32,
    frames: Vec<Frame>,
    free: Vec<u32>,
    calls: Vec<Activation>,
    known: Vec<Option<Rc<Known>>>,
    loops: Vec<Running>,
    out: Builder,
    /// The outputs that surround the open captures.
    outer: Vec<Builder>,
    generated: Vec<Range<usize>>,
    _charge: Charge,
}

/// A loop under way: its values, or the object that has them.
enum Running {
    Plain(Values),
    Object(Rc<Loop>),
}

/// The memory of an open capture in the machine, whose stack doubles its capacity.
const CAPTURE: usize = 2 * size_of::<Builder>();

/// Runs a program. `external` finds the variables of the rendering.
pub(crate) fn run(
    program: &Program,
    source: &str,
    env: &Env,
    external: impl Fn(&str) -> Option<Value>,
) -> Result<Written, Error> {
    let placed = |fail: Box<Fail>| Error::new(*fail, source, 0);
    let constants = Constants::new(&program.constants, env).map_err(placed)?;
    Machine::new(program, source, env, &constants, external).map_err(placed)?.run()
}

impl<'p> Machine<'p> {
    fn new(
        program: &'p Program,
        source: &'p str,
        env: &'p Env,
        constants: &'p Constants<'p>,
        external: impl Fn(&str) -> Option<Value>,
    ) -> Result<Machine<'p>> {
        let externals = program.externals.iter().map(|&name| match &program.constants[name as usize] {
            Literal::Text(name) => external(name),
            _ => None,
        });
        let root = &program.functions[0];
        let values = program.externals.len() + (root.slots + root.stack) as usize;
        let macros = program.functions.len() * (size_of::<Option<Rc<Known>>>() + size_of::<Known>());
        let charge = Charge::new(&env.meter, values * size_of::<Option<Value>>() + macros)?;
        Ok(Machine {
            program,
            source,
            env,
            pc: 0,
            stack: Vec::with_capacity(root.stack as usize),
            constants,
            externals: externals.collect(),
            slots: vec![None; root.slots as usize],
            frame: 0,
            frames: vec![Frame::root(env)?],
            free: Vec::new(),
            calls: Vec::new(),
            known: vec![None; program.functions.len()],
            loops: Vec::new(),
            out: Builder::new(&env.meter)?,
            outer: Vec::new(),
            generated: Vec::new(),
            _charge: charge,
        })
    }

    /// Runs to the end.
    fn run(mut self) -> Result<Written, Error> {
        let done = self.steps();
        // Loops hold what they saw, and may be a part of it.
        for running in &self.loops {
            if let Running::Object(looped) = running {
                looped.end();
            }
        }
        match done {
            Ok(()) => Ok(Written { out: self.out, generated: self.generated }),
            Err(fail) => Err(self.located(*fail)),
        }
    }

    /// The error with its place and the calls around it.
    fn located(&self, fail: Fail) -> Error {
        let place = |pc: usize| self.program.places.get(pc).map_or(0, |at| *at as usize);
        let mut error = Error::new(fail, self.source, place(self.pc.saturating_sub(1)));
        for call in self.calls.iter().rev() {
            let function = &self.program.functions[call.function as usize];
            if function.name.is_some() || call.is_call() {
                let name = function.name.as_deref().unwrap_or("caller");
                error = error.called(name, self.source, place((call.back as usize).saturating_sub(1)));
            }
        }
        error
    }

    fn pop(&mut self) -> Value {
        // The compiler puts a value there for each that an instruction takes.
        self.stack.pop().unwrap_or(Value::None)
    }

    fn top(&self) -> &Value {
        self.stack.last().unwrap_or(&Value::None)
    }

    fn write_data(&mut self, start: u32, end: u32) -> Result<()> {
        let text = &self.source[start as usize..end as usize];
        self.out.push(text, Origin::Template)?;
        self.check_output()
    }

    fn print(&mut self, value: &Value) -> Result<()> {
        crate::print::print(value, &mut self.out, self.env)?;
        self.check_output()
    }

    fn check_output(&self) -> Result<()> {
        if self.outer.is_empty() { self.env.meter.output(self.out.len()) } else { Ok(()) }
    }

    /// The values on top of the stack as a list's.
    fn gathered(&mut self, n: u32) -> Result<Seq> {
        let from = self.stack.len() - n as usize;
        let mut values = Gather::with_capacity(&self.env.meter, n as usize)?;
        self.env.meter.values(n as usize)?;
        for value in self.stack.drain(from..) {
            values.push(value)?;
        }
        values.seq()
    }

    fn steps(&mut self) -> Result<()> {
        let program = self.program;
        let meter = self.env.meter.clone();
        let constants = self.constants;
        loop {
            let op = program.ops[self.pc];
            self.pc += 1;
            meter.step()?;
            match op {
                Op::Data(start, end) => self.write_data(start, end)?,
                Op::Text => match self.top() {
                    Value::Text(_) => {}
                    other => return wrong(format!("a block writes a text, not {}", other.type_name())),
                },
                Op::Print => {
                    let value = self.pop();
                    self.print(&value)?;
                }
                Op::Const(i) => self.give(constants.value(i)?)?,
                Op::Load(var, name) => self.load(var, name)?,
                Op::Store(slot) => self.slots[slot as usize] = self.stack.pop(),
                Op::Alias(var, slot) => self.slots[slot as usize] = self.variable(var).cloned(),
                Op::Resolve(external, slot) => {
                    self.slots[slot as usize] = self.externals[external as usize].clone();
                }
                Op::Clear(slot) => self.slots[slot as usize] = None,
                Op::JumpIfSet(slot, to) => {
                    if self.slots[slot as usize].is_some() {
                        self.pc = to as usize;
                    }
                }
                Op::NotGiven(slot, name) => {
                    let name = constants.text(name)?.clone();
                    self.slots[slot as usize] = Some(Undefined::parameter(&meter, name)?);
                }
                Op::Pop => drop(self.pop()),
                Op::List(n) => {
                    let seq = self.gathered(n)?;
                    self.stack.push(Value::List(seq));
                }
                Op::Tuple(n) => {
                    let seq = self.gathered(n)?;
                    self.stack.push(Value::Tuple(seq));
                }
                Op::Dict(n) => {
                    let from = self.stack.len() - 2 * n as usize;
                    let mut pairs = Pairs::new(&meter, n as usize)?;
                    let mut values = self.stack.drain(from..);
                    while let (Some(key), Some(value)) = (values.next(), values.next()) {
                        meter.values(1)?;
                        pairs.insert(key, value)?;
                    }
                    drop(values);
                    self.stack.push(pairs.value()?);
                }
                Op::Not => {
                    let truth = self.pop().is_true();
                    self.give(&Value::Bool(!truth))?;
                }
                Op::Minus | Op::Plus => {
                    let value = self.pop();
                    let sign = if matches!(op, Op::Minus) { '-' } else { '+' };
                    self.stack.push(signed(sign, &value)?);
                }
                Op::Binary(operator) => {
                    let (b, a) = (self.pop(), self.pop());
                    self.stack.push(binary(operator, &a, &b, self.env)?);
                }
                Op::Sum(n) => {
                    let from = self.stack.len() - n as usize;
                    let made = sum(&self.stack[from..], self.env)?;
                    self.stack.truncate(from);
                    self.stack.push(made);
                }
                Op::PrintSum(n) => {
                    let from = self.stack.len() - n as usize;
                    print_sum(&self.stack[from..], &mut self.out, self.env)?;
                    self.stack.truncate(from);
                    self.check_output()?;
                }
                Op::Concat(n) => {
                    let from = self.stack.len() - n as usize;
                    let text = concat(&self.stack[from..], self.env)?;
                    self.stack.truncate(from);
                    self.stack.push(text);
                }
                Op::Compare(comparison) => {
                    let (b, a) = (self.pop(), self.pop());
                    let truth = compare(comparison, &a, &b, self.env)?;
                    self.give(&Value::Bool(truth))?;
                }
                Op::CompareOrJump(comparison, to) => {
                    let (b, a) = (self.pop(), self.pop());
                    if compare(comparison, &a, &b, self.env)? {
                        self.stack.push(b);
                    } else {
                        self.stack.push(Value::Bool(false));
                        self.pc = to as usize;
                    }
                }
                Op::Jump(to) => self.pc = to as usize,
                Op::JumpIfFalse(to) => {
                    if !self.pop().is_true() {
                        self.pc = to as usize;
                    }
                }
                Op::AndJump(to) | Op::OrJump(to) => {
                    if self.top().is_true() == matches!(op, Op::OrJump(_)) {
                        self.pc = to as usize;
                    } else {
                        self.stack.pop();
                    }
                }
                Op::Attribute(name) => {
                    let name = constants.text(name)?;
                    if self.looks_ahead(name)? {
                        continue;
                    }
                    let value = self.pop();
                    self.stack.push(access::attribute(&value, name, self.env)?);
                }
                Op::Item => {
                    let (key, value) = (self.pop(), self.pop());
                    self.stack.push(access::item(&value, &key, self.env)?);
                }
                Op::Slice(there) => {
                    let mut parts = [None, None, None];
                    for (i, part) in parts.iter_mut().enumerate().rev() {
                        if there & (1 << i) != 0 {
                            *part = self.stack.pop();
                        }
                    }
                    let value = self.pop();
                    self.stack.push(slice(&value, parts.each_ref().map(Option::as_ref), self.env)?);
                }
                Op::BadSlice => return wrong("a slice is not an index"),
                Op::Call(shape) => self.call(&program.shapes[shape as usize])?,
                Op::CallMethod(name, shape) => {
                    self.call_method(constants.text(name)?, &program.shapes[shape as usize])?;
                }
                Op::Filter(filter, shape) => {
                    self.native(&program.shapes[shape as usize], |env, value, args| (filter.run)(env, value, args))?;
                }
                Op::Test(check, shape) => {
                    self.native(&program.shapes[shape as usize], |env, value, args| {
                        Ok(Value::Bool((check.run)(env, value, args)?))
                    })?;
                }
                Op::Unknown(message) => {
                    return wrong(constants.text(message)?.as_str());
                }
                Op::NoElse => {
                    let value = self.env.undefined("an inline 'if' without 'else' was false")?;
                    self.stack.push(value);
                }
                Op::Capture => self.capture()?,
                Op::Captured => {
                    let text = self.captured()?;
                    self.stack.push(Value::Text(text));
                }
                Op::DropCapture => drop(self.captured()?),
                Op::Unpack(n) => {
                    let value = self.pop();
                    let values = unpack(&value, n as usize, self.env)?;
                    self.stack.extend(values.iter().rev().cloned());
                }
                Op::CheckNamespace(var) => match self.variable(var) {
                    Some(Value::Namespace(_)) => {}
                    _ => return wrong("cannot assign attribute on non-namespace object"),
                },
                Op::SetAttribute(var, name) => {
                    let value = self.pop();
                    if let Some(Value::Namespace(id)) = self.variable(var) {
                        self.env.set_attribute(*id, constants.text(name)?, value)?;
                    }
                }
                Op::For(slot, recursive) => self.begin_loop(slot, recursive, None)?,
                Op::ForTest(slot, recursive, test) => self.begin_loop(slot, recursive, Some(test))?,
                Op::Next(end) => self.next(end)?,
                Op::NextRaw(end, tested) => self.next_raw(end, tested)?,
                Op::Tested(next) => self.tested(next)?,
                Op::Turn => {
                    if let Some(Running::Object(looped)) = self.loops.last() {
                        looped.begin(self.top());
                    }
                }
                Op::EndFor => {
                    meter.give_back(round::LOOP);
                    if let Some(Running::Object(looped)) = self.loops.pop() {
                        looped.end();
                    }
                }
                Op::Recurse(function) => {
                    let values = self.pop();
                    self.enter_loop(function, self.frame, 0, values)?;
                }
                Op::Macro(function) => {
                    let made = self.make_macro(function)?;
                    self.stack.push(made);
                }
                Op::Return => self.leave()?,
                Op::Generation(function) => self.enter_generation(function)?,
                Op::End => return Ok(()),
            }
        }
    }

    fn capture(&mut self) -> Result<()> {
        self.env.meter.take(CAPTURE)?;
        let inner = Builder::new(&self.env.meter)?;
        self.outer.push(std::mem::replace(&mut self.out, inner));
        Ok(())
    }

    fn captured(&mut self) -> Result<Text> {
        let Some(outer) = self.outer.pop() else { return Ok(Text::default()) };
        self.env.meter.give_back(CAPTURE);
        std::mem::replace(&mut self.out, outer).finish()
    }

    /// A function of the value below the arguments.
    fn native(&mut self, shape: &Shape, run: impl Fn(&Env, &Value, Args) -> Result<Value>) -> Result<()> {
        if shape.is_plain() {
            let base = self.stack.len() - shape.positional as usize;
            let args = Args { positional: &self.stack[base..], named: &[] };
            let made = run(self.env, &self.stack[base - 1], args)?;
            self.stack.truncate(base - 1);
            self.stack.push(made);
            return Ok(());
        }
        let given = self.take_arguments(shape)?;
        let value = self.pop();
        self.stack.push(run(self.env, &value, given.args())?);
        Ok(())
    }
}
