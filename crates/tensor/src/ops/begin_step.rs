use super::one;
use crate::Array;
use crate::op::{Arrays, Mismatch, OpDef, Operands, Types};
use crate::step::{ROWS, StepView, carry};

/// `(carry) -> rows`: token, position and sequence of every row of the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeginStep;

impl OpDef for BeginStep {
    fn name(&self) -> &'static str {
        "begin_step"
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(1, 1)?;
        ins.is(0, carry::CARRY)?;
        Ok(Types::from_slice(&[ROWS]))
    }

    fn eval(&self, step: &StepView, ins: Arrays) -> Arrays {
        let mut words = vec![0u32; step.feed.len() * ROWS.cols];
        carry::begin(step, ins[0].all(), |r, row| {
            words[r * ROWS.cols..][..ROWS.cols].copy_from_slice(bytemuck::cast_slice(&[row]));
        });
        one(Array::from_u32(ROWS.cols, words))
    }
}
