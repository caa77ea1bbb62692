//! What the next instruction takes at once does not go over the stack. Both instructions are counted, and an error has the
//! place of the one that made it.

use super::Machine;
use crate::access;
use crate::args::Args;
use crate::dict::Dict;
use crate::error::Result;
use crate::methods;
use crate::operators::compare;
use crate::program::{Op, Var};
use crate::value::{Undefined, Value};
use std::rc::Rc;

/// A copy. The most frequent kinds are made where they stay: to move what was written just before waits for it, which was a
/// tenth of the time.
#[inline(always)]
pub(super) fn copy(value: &Value) -> Value {
    match value {
        Value::Dict(dict) => Value::Dict(dict.clone()),
        Value::Text(text) => Value::Text(text.clone()),
        other => other.clone(),
    }
}

impl Machine<'_> {
    fn next_op(&self) -> Op {
        self.program.ops[self.pc]
    }

    /// The instruction after the next one.
    fn second_op(&self) -> Option<Op> {
        self.program.ops.get(self.pc + 1).copied()
    }

    /// Goes on to the next instruction.
    fn take(&mut self) -> Result<()> {
        self.pc += 1;
        self.env.meter.step()
    }

    /// The value of a variable for the next instruction.
    pub(super) fn load(&mut self, var: Var, name: u32) -> Result<()> {
        let value = match self.variable(var) {
            Some(Value::Dict(dict)) => {
                let dict = dict.clone();
                return self.load_dict(dict);
            }
            Some(Value::Namespace(id)) if let Op::Attribute(name) = self.next_op() => {
                let id = *id;
                self.take()?;
                let name = self.constants.text(name)?;
                match self.env.attribute(id, name.as_str())? {
                    Some(value) => return self.give(&value),
                    None => access::attribute(&Value::Namespace(id), name, self.env)?,
                }
            }
            Some(value) => value.clone(),
            None => Undefined::variable(&self.env.meter, self.constants.text(name)?.clone())?,
        };
        match self.next_op() {
            Op::Attribute(name) if !matches!(value, Value::Loop(_)) => {
                self.take()?;
                let found = access::attribute(&value, self.constants.text(name)?, self.env)?;
                self.give(&found)
            }
            _ => self.give(&value),
        }
    }

    /// A dict for the next instruction, which most often wants what is in it.
    fn load_dict(&mut self, dict: Rc<Dict>) -> Result<()> {
        let env = self.env;
        match (self.next_op(), self.second_op()) {
            (Op::Attribute(name), _) => {
                self.take()?;
                let name = self.constants.text(name)?;
                match dict.named(name, &env.meter)? {
                    Some(value) if !methods::has_dict(name.as_str()) => self.give(value),
                    _ => {
                        let found = access::attribute(&Value::Dict(dict), name, env)?;
                        self.give(&found)
                    }
                }
            }
            (Op::Const(key), Some(Op::Item)) => {
                self.take()?;
                self.take()?;
                let key = self.constants.value(key)?;
                match dict.get(key, &env.meter)? {
                    Some(value) => self.give(value),
                    None => {
                        let found = access::item(&Value::Dict(dict), key, env)?;
                        self.give(&found)
                    }
                }
            }
            _ => self.give(&Value::Dict(dict)),
        }
    }

    /// A value for the next instructions, as long as they need no more than a look at it.
    pub(super) fn give(&mut self, value: &Value) -> Result<()> {
        let (env, constants) = (self.env, self.constants);
        let mut truth;
        let mut value = value;
        loop {
            match self.next_op() {
                Op::JumpIfFalse(to) => {
                    self.take()?;
                    if !value.is_true() {
                        self.pc = to as usize;
                    }
                    return Ok(());
                }
                op @ (Op::AndJump(to) | Op::OrJump(to)) => {
                    self.take()?;
                    if value.is_true() != matches!(op, Op::OrJump(_)) {
                        return Ok(());
                    }
                    self.pc = to as usize;
                }
                Op::Const(other) if let Some(Op::Compare(comparison)) = self.second_op() => {
                    self.take()?;
                    self.take()?;
                    truth = Value::Bool(compare(comparison, value, constants.value(other)?, env)?);
                    value = &truth;
                }
                Op::Compare(comparison) => {
                    self.take()?;
                    truth = Value::Bool(compare(comparison, &self.pop(), value, env)?);
                    value = &truth;
                }
                Op::Test(check, shape) if self.program.shapes[shape as usize].len() == 0 => {
                    self.take()?;
                    truth = Value::Bool((check.run)(env, value, Args { positional: &[], named: &[] })?);
                    value = &truth;
                }
                Op::Not => {
                    self.take()?;
                    truth = Value::Bool(!value.is_true());
                    value = &truth;
                }
                Op::Store(slot) => {
                    self.take()?;
                    self.slots[slot as usize] = Some(copy(value));
                    return Ok(());
                }
                Op::Item => {
                    self.take()?;
                    let found = access::item(&self.pop(), value, env)?;
                    self.stack.push(found);
                    return Ok(());
                }
                Op::Print => {
                    self.take()?;
                    return self.print(value);
                }
                _ => {
                    self.stack.push(copy(value));
                    return Ok(());
                }
            }
        }
    }
}
