//! Loops, and the values that a loop with a condition looks at before their turn.

use super::ahead::copy;
use super::{Machine, Running};
use crate::error::Result;
use crate::iterate::Values;
use crate::loops::{Loop, Test};
use crate::program::Op;
use crate::text::Text;
use crate::value::Value;
use std::rc::Rc;

/// The memory of an open loop in the machine, whose stack doubles its capacity.
pub(super) const LOOP: usize = 2 * size_of::<Running>();

impl Machine<'_> {
    /// Begins to go over the value on top.
    pub(super) fn begin_loop(&mut self, slot: Option<u32>, recursive: bool, test: Option<u32>) -> Result<()> {
        let value = self.pop();
        let values = Values::of(&value)?;
        self.env.meter.take(LOOP)?;
        let running = match slot {
            None => Running::Plain(values),
            Some(slot) => {
                let (recursion, depth) = if recursive { self.recursion() } else { (None, 0) };
                let test = test.map(|pc| Test { pc, frame: self.frame });
                let looped = Loop::new(self.env, &value, values, test, recursion, depth)?;
                self.slots[slot as usize] = Some(Value::Loop(looped.clone()));
                Running::Object(looped)
            }
        };
        self.loops.push(running);
        Ok(())
    }

    pub(super) fn next(&mut self, end: u32) -> Result<()> {
        let value = match self.loops.last_mut() {
            // The most frequent loops: their values are made where they stay.
            Some(Running::Plain(Values::Seq(seq, at))) if let Some(value) = seq.get(*at) => {
                self.env.meter.value()?;
                *at += 1;
                if let Op::Store(slot) = self.program.ops[self.pc] {
                    self.pc += 1;
                    self.env.meter.step()?;
                    self.slots[slot as usize] = Some(copy(value));
                } else {
                    self.stack.push(copy(value));
                }
                return Ok(());
            }
            Some(Running::Plain(Values::Range(range, at))) if *at < range.len as usize => {
                self.env.meter.value()?;
                self.stack.push(range.get(*at));
                *at += 1;
                return Ok(());
            }
            Some(Running::Plain(values)) => values.next(self.env)?,
            Some(Running::Object(looped)) => {
                let value = match looped.take_early() {
                    Some(value) => Some(value),
                    None => looped.raw(self.env)?,
                };
                if let Some(value) = &value {
                    looped.begin(value);
                }
                value
            }
            None => None,
        };
        match value {
            Some(value) => self.stack.push(value),
            None => self.pc = end as usize,
        }
        Ok(())
    }

    /// The next value of a loop with a condition.
    pub(super) fn next_raw(&mut self, end: u32, tested: u32) -> Result<()> {
        let value = match self.loops.last_mut() {
            Some(Running::Plain(values)) => values.next(self.env)?,
            Some(Running::Object(looped)) => {
                if let Some(value) = looped.take_early() {
                    self.stack.push(value);
                    self.pc = tested as usize;
                    return Ok(());
                }
                looped.raw(self.env)?
            }
            None => None,
        };
        match value {
            Some(value) => self.stack.extend([value.clone(), value]),
            None => self.pc = end as usize,
        }
        Ok(())
    }

    /// Tests the condition on top of the stack; the value is below it.
    pub(super) fn tested(&mut self, next: u32) -> Result<()> {
        let passed = self.pop().is_true();
        if let Some(looped) = self.early_test() {
            let value = self.pop();
            if passed {
                looped.put_early(value)?;
            }
            self.leave_test();
        } else if !passed {
            self.pop();
            self.pc = next as usize;
        }
        Ok(())
    }

    /// If an attribute of the loop on top needs a value that was not tested yet, tests one; the instruction is made
    /// again.
    pub(super) fn looks_ahead(&mut self, name: &Text) -> Result<bool> {
        let Value::Loop(looped) = self.top() else { return Ok(false) };
        let looped: Rc<Loop> = looped.clone();
        let Some(test) = looped.test.filter(|_| looped.lacks(name.as_str())) else { return Ok(false) };
        if let Some(value) = looped.raw(self.env)? {
            self.stack.extend([value.clone(), value]);
            self.enter_test(&looped, test.pc, test.frame)?;
            return Ok(true);
        }
        Ok(false)
    }
}
