//! What the next instruction takes at once does not go over the stack. Both instructions are counted, and an error has the
//! place of the one that made it.

use super::Machine;
use crate::access;
use crate::error::Result;
use crate::operators::compare;
use crate::program::{Op, Var};
use crate::value::{Undefined, Value};

impl Machine<'_> {
    /// Goes on to the next instruction.
    fn take(&mut self) -> Result<()> {
        self.pc += 1;
        self.env.meter.step()
    }

    /// The value of a variable for the next instruction.
    pub(super) fn load(&mut self, var: Var, name: u32) -> Result<()> {
        let program = self.program;
        if let Op::Attribute(attribute) = program.ops[self.pc]
            && !matches!(self.variable(var), None | Some(Value::Loop(_)))
        {
            self.take()?;
            if let Some(value) = self.variable(var) {
                let found = access::attribute(value, self.constants.text(attribute)?, self.env)?;
                self.stack.push(found);
            }
            return Ok(());
        }
        let value = match self.variable(var) {
            Some(value) => value.clone(),
            None => Undefined::variable(&self.env.meter, self.constants.text(name)?.clone())?,
        };
        self.stack.push(value);
        Ok(())
    }

    /// A constant for the next instruction.
    pub(super) fn give_constant(&mut self, constant: &Value) -> Result<()> {
        match self.program.ops[self.pc] {
            Op::Compare(comparison) => {
                self.take()?;
                let value = self.pop();
                self.give_truth(compare(comparison, &value, constant, self.env)?)?;
            }
            Op::Item => {
                self.take()?;
                let value = self.pop();
                self.stack.push(access::item(&value, constant, self.env)?);
            }
            _ => self.stack.push(constant.clone()),
        }
        Ok(())
    }

    /// A truth for the next instructions, as long as they only jump by it.
    pub(super) fn give_truth(&mut self, truth: bool) -> Result<()> {
        loop {
            match self.program.ops[self.pc] {
                Op::JumpIfFalse(to) => {
                    self.take()?;
                    if !truth {
                        self.pc = to as usize;
                    }
                    return Ok(());
                }
                op @ (Op::AndJump(to) | Op::OrJump(to)) => {
                    self.take()?;
                    if truth != matches!(op, Op::OrJump(_)) {
                        return Ok(());
                    }
                    self.pc = to as usize;
                }
                _ => {
                    self.stack.push(Value::Bool(truth));
                    return Ok(());
                }
            }
        }
    }
}
