//! The flat code of a compiled template.

use crate::checks::Check;
use crate::filters::Filter;
use crate::parse::ast::{Binary, Comparison, Literal};

/// The location of a variable: the number of functions further out, and its slot there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Var {
    pub up: u16,
    pub slot: u32,
}

/// The arguments of a call on the stack, from the bottom: positional arguments, named arguments, `*`, `**`, the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub positional: u32,
    /// Constants.
    pub names: Vec<u32>,
    pub star: bool,
    pub double_star: bool,
    pub caller: bool,
}

/// An instruction. Numbers refer to constants, slots, instructions, functions or shapes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Writes a range of the source.
    Data(u32, u32),
    /// Writes the top of the stack.
    Print,
    /// Checks that the top of the stack is a text. The output of blocks is not converted to text.
    Text,
    Const(u32),
    /// A variable; the constant is its name.
    Load(Var, u32),
    Store(u32),
    /// An outer variable's value for a slot.
    Alias(Var, u32),
    /// A variable of the rendering for a slot.
    Resolve(u32, u32),
    /// Nothing for a slot.
    Clear(u32),
    /// A slot has a value already: skips the default of a parameter.
    JumpIfSet(u32, u32),
    /// A parameter that was not given; the constant is its name.
    NotGiven(u32, u32),
    Pop,
    List(u32),
    Tuple(u32),
    Dict(u32),
    Not,
    Minus,
    Plus,
    Binary(Binary),
    /// The sum of so many values, from left to right; of texts it is made in one piece.
    Sum(u32),
    /// Writes it.
    PrintSum(u32),
    /// So many values as one text.
    Concat(u32),
    /// The two on top.
    Compare(Comparison),
    /// As [`Op::Compare`], in a chain: if it is false, the chain is over; the right side stays otherwise.
    CompareOrJump(Comparison, u32),
    Jump(u32),
    /// Takes the top.
    JumpIfFalse(u32),
    /// If the top is false it stays and the jump is made, else it goes.
    AndJump(u32),
    OrJump(u32),
    /// Which constant is the name.
    Attribute(u32),
    Item,
    /// Which of start, stop and step are there: bits.
    Slice(u8),
    /// A part of a subscript that no value takes.
    BadSlice,
    Call(u32),
    /// A method of the value below the arguments: name, shape.
    CallMethod(u32, u32),
    Filter(&'static Filter, u32),
    Test(&'static Check, u32),
    /// A filter or a test that does not exist; it is an error once it is reached.
    Unknown(u32),
    /// An inline `if` without `else`.
    NoElse,
    /// Begins to capture what is written.
    Capture,
    /// Pushes the captured output.
    Captured,
    /// Drops the captured output.
    DropCapture,
    /// The value for a tuple of so many names: the first one on top.
    Unpack(u32),
    /// That a variable is a namespace.
    CheckNamespace(Var),
    /// Sets an attribute of a namespace.
    SetAttribute(Var, u32),
    /// Begins to go over the top: the slot of `loop`, if it is used, and whether the loop is recursive.
    For(Option<u32>, bool),
    /// The same with a condition, which is at this instruction.
    ForTest(Option<u32>, bool, u32),
    /// The next value, or a jump at the end of the loop.
    Next(u32),
    /// The next value of a loop with a condition, twice; where it was tested before, once and a jump to the second
    /// instruction. At the end of the loop, a jump to the first.
    NextRaw(u32, u32),
    /// Pops the result of the condition. If it is false, also pops the value and jumps.
    Tested(u32),
    /// The turn of the value on top begins.
    Turn,
    /// Leaves the loop.
    EndFor,
    /// Calls a loop function with the top.
    Recurse(u32),
    /// A macro of a function.
    Macro(u32),
    /// Ends a function, whose value is its output.
    Return,
    /// Calls a function that writes what the model generates.
    Generation(u32),
    /// Ends the template.
    End,
}

/// A function: a macro, the body of a call block, a recursive loop, or the template itself.
#[derive(Debug, Default)]
pub(crate) struct Function {
    /// `None`: the body of a call block.
    pub name: Option<String>,
    pub entry: u32,
    pub slots: u32,
    /// Most values on the stack.
    pub stack: u32,
    /// Slots and names (constants) of the parameters.
    pub parameters: Vec<(u32, u32)>,
    pub caller: Option<u32>,
    pub kwargs: Option<u32>,
    pub varargs: Option<u32>,
}

/// A template, compiled: shared, and rendered often.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub ops: Vec<Op>,
    /// Offsets of the source, one an instruction.
    pub places: Vec<u32>,
    pub constants: Vec<Literal>,
    pub shapes: Vec<Shape>,
    /// The first is the template.
    pub functions: Vec<Function>,
    /// Names that the rendering has to give, by constants.
    pub externals: Vec<u32>,
}

impl Shape {
    /// Values on the stack.
    pub(crate) fn len(&self) -> usize {
        let more = [self.star, self.double_star, self.caller].into_iter().filter(|there| *there).count();
        self.positional as usize + self.names.len() + more
    }

    /// Whether there are positional arguments only.
    pub(crate) fn is_plain(&self) -> bool {
        self.names.is_empty() && !self.star && !self.double_star && !self.caller
    }
}
