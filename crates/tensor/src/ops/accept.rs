use super::one;
use crate::op::{Arrays, Consumed, Mismatch, OpDef, Operands, Types};
use crate::step::{RECORDS, StepView, carry};

/// `(carry, records) -> carry`: takes what each sequence drew; see [`carry::accept`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accept;

impl OpDef for Accept {
    fn name(&self) -> &'static str {
        "accept"
    }

    fn consumes(&self) -> Consumed {
        Consumed::from_slice(&[0])
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(2, 2)?;
        ins.is(1, RECORDS)?;
        Ok(Types::from_slice(&[ins.is(0, carry::CARRY)?]))
    }

    fn eval(&self, step: &StepView, mut ins: Arrays) -> Arrays {
        let mut state = ins.remove(0);
        carry::accept(step, ins[0].all(), state.all_mut());
        one(state)
    }
}
