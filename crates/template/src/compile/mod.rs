//! Tree to flat code.

mod expression;
mod scope;
mod statement;

use crate::error::{Error, Fail, Kind};
use crate::parse::ast::{Ast, Literal, NameId};
use crate::parse::{Parsed, normalized, parse};
use crate::program::{Function, Op, Program, Shape};
use scope::{Scopes, Start};
use std::collections::HashMap;

/// Compiles a source; gives it back as instructions refer to it.
pub(crate) fn compile(source: &str) -> Result<(String, Program), Error> {
    let source = normalized(source);
    let Parsed { ast, body } = parse(&source)?;
    let mut compiler = Compiler {
        source: &source,
        ast: &ast,
        program: Program { functions: vec![Function::default()], ..Program::default() },
        scopes: Scopes::default(),
        soft: false,
        open: vec![Open::default()],
        names: HashMap::new(),
        externals: HashMap::new(),
    };
    compiler.scopes.enter_function();
    compiler.scopes.see(&body, &ast);
    compiler.starts(0);
    compiler.body(&body)?;
    compiler.emit(Op::End, source.len() as u32);
    let open = compiler.open.pop().unwrap_or_default();
    let slots = compiler.scopes.leave_function();
    let mut program = compiler.program;
    (program.functions[0].slots, program.functions[0].stack) = (slots, open.most);
    Ok((source, program))
}

struct Compiler<'a> {
    source: &'a str,
    ast: &'a Ast,
    program: Program,
    scopes: Scopes,
    /// In an arm of an `if`: a filter that does not exist is an error only if it is reached.
    soft: bool,
    /// The functions that are open, from the outermost.
    open: Vec<Open>,
    names: HashMap<NameId, u32>,
    externals: HashMap<NameId, u32>,
}

/// A function whose code is being made.
#[derive(Default)]
struct Open {
    /// Values on the stack now, and at most so far.
    depth: u32,
    most: u32,
    captures: u32,
    loops: Vec<Loop>,
}

/// A loop whose body is being made.
struct Loop {
    /// Where `continue` goes.
    next: u32,
    /// Captures that were open where it began.
    captures: u32,
    /// Jumps to its end.
    breaks: Vec<u32>,
}

impl Compiler<'_> {
    fn here(&self) -> u32 {
        self.program.ops.len() as u32
    }

    fn emit(&mut self, op: Op, at: u32) -> u32 {
        let (taken, given) = effect(&op, &self.program.shapes);
        let open = self.top();
        open.depth = (open.depth + given).saturating_sub(taken);
        open.most = open.most.max(open.depth + taken);
        self.program.ops.push(op);
        self.program.places.push(at);
        self.here() - 1
    }

    /// Removes the last instruction if it is a sum, and returns its number of values and its place. Jumps to it go to
    /// the instruction that replaces it.
    fn take_sum(&mut self) -> Option<(u32, u32)> {
        let (Op::Sum(n), at) = (*self.program.ops.last()?, *self.program.places.last()?) else { return None };
        self.program.ops.pop();
        self.program.places.pop();
        self.top().depth += n - 1;
        Some((n, at))
    }

    /// Sets the target of a jump to the next instruction.
    fn patch(&mut self, jump: u32) {
        let here = self.here();
        match &mut self.program.ops[jump as usize] {
            Op::Jump(to)
            | Op::JumpIfFalse(to)
            | Op::AndJump(to)
            | Op::OrJump(to)
            | Op::Next(to)
            | Op::NextRaw(to, _)
            | Op::JumpIfSet(_, to)
            | Op::CompareOrJump(_, to) => *to = here,
            _ => {}
        }
    }

    fn top(&mut self) -> &mut Open {
        // The template's own function is open while there is code.
        self.open.last_mut().expect("a function is open")
    }

    fn fail<T>(&self, message: impl Into<String>, at: u32) -> Result<T, Error> {
        Err(Error::new(Fail { kind: Kind::Syntax, message: message.into() }, self.source, at as usize))
    }

    fn constant(&mut self, literal: Literal) -> u32 {
        self.program.constants.push(literal);
        self.program.constants.len() as u32 - 1
    }

    /// The constant that is a name's text.
    fn name(&mut self, name: NameId) -> u32 {
        if let Some(constant) = self.names.get(&name) {
            return *constant;
        }
        let constant = self.constant(Literal::Text(self.ast.name(name).to_string()));
        self.names.insert(name, constant);
        constant
    }

    fn external(&mut self, name: NameId) -> u32 {
        let constant = self.name(name);
        let externals = &mut self.program.externals;
        *self.externals.entry(name).or_insert_with(|| {
            externals.push(constant);
            externals.len() as u32 - 1
        })
    }

    fn shape(&mut self, shape: Shape) -> u32 {
        if let Some(known) = self.program.shapes.iter().rev().take(64).position(|known| *known == shape) {
            return (self.program.shapes.len() - 1 - known) as u32;
        }
        self.program.shapes.push(shape);
        self.program.shapes.len() as u32 - 1
    }

    /// Gives the slots of the innermost scope what they begin with.
    fn starts(&mut self, at: u32) {
        for (slot, start) in self.scopes.starts() {
            let op = match start {
                Start::Given => continue,
                Start::Resolved(name) => Op::Resolve(self.external(name), slot),
                Start::Alias(function, outer) => Op::Alias(self.scopes.reach(function, outer), slot),
                Start::Nothing => Op::Clear(slot),
            };
            self.emit(op, at);
        }
    }

    /// Ends the innermost scope: its variables are no more.
    fn leave(&mut self, at: u32) {
        for (slot, _) in self.scopes.starts() {
            self.emit(Op::Clear(slot), at);
        }
        self.scopes.leave();
    }

    /// A function's code, around which a jump goes. Gives its number.
    fn function(
        &mut self,
        at: u32,
        make: impl FnOnce(&mut Self, &mut Function) -> Result<(), Error>,
    ) -> Result<u32, Error> {
        let over = self.emit(Op::Jump(0), at);
        let mut function = Function { entry: self.here(), ..Function::default() };
        let soft = std::mem::take(&mut self.soft);
        self.open.push(Open::default());
        self.scopes.enter_function();
        make(self, &mut function)?;
        self.emit(Op::Return, at);
        function.slots = self.scopes.leave_function();
        function.stack = self.open.pop().map_or(0, |open| open.most);
        self.soft = soft;
        self.patch(over);
        self.program.functions.push(function);
        Ok(self.program.functions.len() as u32 - 1)
    }
}

/// How many values an instruction takes from the stack and puts there.
fn effect(op: &Op, shapes: &[Shape]) -> (u32, u32) {
    let arguments = |shape: u32| shapes[shape as usize].len() as u32;
    match *op {
        Op::Const(_) | Op::Load(..) | Op::NoElse | Op::Captured | Op::Next(_) | Op::Macro(_) => (0, 1),
        Op::NextRaw(..) => (0, 2),
        Op::Print | Op::Store(_) | Op::Pop | Op::JumpIfFalse(_) | Op::AndJump(_) | Op::OrJump(_) => (1, 0),
        Op::For(..) | Op::ForTest(..) | Op::Tested(_) | Op::SetAttribute(..) => (1, 0),
        Op::List(n) | Op::Tuple(n) | Op::Concat(n) | Op::Sum(n) => (n, 1),
        Op::PrintSum(n) => (n, 0),
        Op::Dict(n) => (2 * n, 1),
        Op::Not | Op::Minus | Op::Plus | Op::Attribute(_) | Op::Recurse(_) | Op::Unknown(_) | Op::BadSlice => (1, 1),
        Op::Binary(_) | Op::Compare(_) | Op::CompareOrJump(..) | Op::Item => (2, 1),
        Op::Slice(parts) => (1 + parts.count_ones(), 1),
        Op::Call(shape) | Op::CallMethod(_, shape) | Op::Filter(_, shape) | Op::Test(_, shape) => {
            (1 + arguments(shape), 1)
        }
        Op::Unpack(n) => (1, n),
        Op::Data(..)
        | Op::Text
        | Op::Alias(..)
        | Op::Resolve(..)
        | Op::Clear(_)
        | Op::JumpIfSet(..)
        | Op::NotGiven(..)
        | Op::Jump(_)
        | Op::Capture
        | Op::DropCapture
        | Op::CheckNamespace(_)
        | Op::Turn
        | Op::EndFor
        | Op::Return
        | Op::Generation(_)
        | Op::End => (0, 0),
    }
}
