use super::one;
use crate::op::{Arrays, Cost, Mismatch, OpDef, Operands, Types};
use crate::step::StepView;
use crate::{Array, Dim, Sizes, Type};

/// `(x) -> x`: of all rows those whose logits are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatherRows;

impl OpDef for GatherRows {
    fn name(&self) -> &'static str {
        "gather_rows"
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(1, 1)?;
        let x = ins.some(0, "f32[Rows, n]", |x| x.rows == Dim::Rows)?;
        ins.f32(0)?;
        Ok(Types::from_slice(&[Type::f32(Dim::LogitRows, x.cols)]))
    }

    fn eval(&self, step: &StepView, ins: Arrays) -> Arrays {
        let x = &ins[0];
        one(Array::from_rows(step.logits.len(), x.cols(), |r, out| {
            out.copy_from_slice(x.row(step.logits[r].row as usize));
        }))
    }

    fn cost(&self, _ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        Cost { bytes: outs[0].bytes(sizes).saturating_mul(2), flops: 0 }
    }
}
