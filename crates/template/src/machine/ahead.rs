//! Passes a value directly to the next instruction, without the stack. Both instructions are counted, and an error has
//! the place of the instruction that caused it.

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

/// A copy. The most frequent kinds are made where they stay: to move what was written just before waits for it, which
/// was a tenth of the time.
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

#[cfg(test)]
mod tests {
    use crate::{Error, Limits, Origin, Template};

    /// With `m`, which is `{"x": "a"}`.
    fn render(source: &str) -> Result<String, Error> {
        let template = Template::new(source)?;
        let limits = Limits::default();
        let mut renderer = template.renderer(&limits);
        let pair = (renderer.text("x", Origin::Input)?, renderer.text("a", Origin::Input)?);
        let m = renderer.dict([pair].into_iter())?;
        renderer.set("m", m);
        Ok(renderer.render()?.text)
    }

    #[test]
    fn values_reach_whoever_jumps_to_an_instruction() {
        for (source, text) in [
            ("{{ (m.x if m.x else m.y) == 'a' }}", "True"),
            ("{{ (m.y or m.x) == 'a' and not m.y }}", "True"),
            ("{{ (m.x and m.y) is defined }}", "False"),
            ("{{ (m.x == 'a' or m.y.z) and m['x'] }}", "a"),
            ("{{ m.items is defined and 'y' not in m }}", "True"),
            ("{% set n = namespace(a=m) %}{% if not n.a.x == 'b' %}{{ n.a['x'] }}{% endif %}", "a"),
            ("{{ m.x + ('b' if m.x == 'a' else 'c') + 'd' + m.x }}", "abda"),
            ("{{ 1 + 2 + 3 }}{{ m.x + ('<' | e) + '>' }}", "6a&lt;&gt;"),
        ] {
            assert_eq!(render(source).as_deref(), Ok(text), "{source}");
        }
    }

    #[test]
    fn errors_have_the_place_of_the_instruction_that_made_them() {
        let plain = |of: &str| {
            let error = render(of).unwrap_err();
            (error.column(), error.message().to_string())
        };
        assert_eq!(plain("{{ m.y.z }}"), (7, "'dict object' has no attribute 'y'".to_string()));
        assert_eq!(plain("{{ m.x < 1 }}").0, 8);
        assert_eq!(plain("{{ m.x + 1 + 'b' + 'c' }}").0, 8);
        assert_eq!(plain("{% set s = m.x + 'b' + 1 %}").0, 16);
    }
}
