use super::one;
use crate::op::{Arrays, Consumed, Mismatch, OpDef, Operands, Types};
use crate::step::{ROWS, StepView, carry};

/// `(carry, rows) -> carry`: lengths grow by the rows of the step. It takes the rows so that it comes after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advance;

impl OpDef for Advance {
    fn name(&self) -> &'static str {
        "advance"
    }

    fn consumes(&self) -> Consumed {
        Consumed::from_slice(&[0])
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(2, 2)?;
        ins.is(1, ROWS)?;
        Ok(Types::from_slice(&[ins.is(0, carry::CARRY)?]))
    }

    fn eval(&self, step: &StepView, mut ins: Arrays) -> Arrays {
        let mut state = ins.remove(0);
        carry::advance(step, state.all_mut());
        one(state)
    }
}
