//! The constants of a program as values of one rendering.

use crate::env::Env;
use crate::error::Result;
use crate::meter::Charge;
use crate::parse::ast::Literal;
use crate::text::Text;
use crate::value::Value;
use std::cell::OnceCell;

/// Made when they are used first: a short conversation needs few of them.
pub(super) struct Constants<'p> {
    literals: &'p [Literal],
    values: Vec<OnceCell<Value>>,
    env: &'p Env,
    _charge: Charge,
}

impl<'p> Constants<'p> {
    pub(super) fn new(literals: &'p [Literal], env: &'p Env) -> Result<Constants<'p>> {
        let charge = Charge::new(&env.meter, size_of::<OnceCell<Value>>() * literals.len())?;
        Ok(Constants { literals, values: vec![OnceCell::new(); literals.len()], env, _charge: charge })
    }

    pub(super) fn value(&self, i: u32) -> Result<&Value> {
        let cell = &self.values[i as usize];
        if let Some(value) = cell.get() {
            return Ok(value);
        }
        let value = match &self.literals[i as usize] {
            Literal::None => Value::None,
            Literal::Bool(truth) => Value::Bool(*truth),
            Literal::Int(n) => Value::Int(*n),
            Literal::Float(n) => Value::Float(*n),
            Literal::Text(text) => self.env.text(text)?,
        };
        Ok(cell.get_or_init(|| value))
    }

    /// A constant that is a name or a message.
    pub(super) fn text(&self, i: u32) -> Result<&Text> {
        self.value(i)?.as_text("a name")
    }
}
