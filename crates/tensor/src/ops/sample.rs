use super::history_write::HISTORY;
use super::one;
use crate::op::{Arrays, Cost, Mismatch, OpDef, Operands, Types};
use crate::step::{GROUPS, NONE, RECORDS, ROWS, StepView};
use crate::{Array, Dim, Sizes, Type};

/// `(logits, rows, history) -> records`: a token or a status for each logit row, by the chain that the step carries for
/// its sequence ([`crate::sampling`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The layer group whose page table the history uses.
    pub group: usize,
}

impl OpDef for Sample {
    fn name(&self) -> &'static str {
        "sample"
    }

    fn attributes(&self) -> String {
        format!("group {}", self.group)
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(3, 3)?;
        ins.f32(0)?;
        ins.some(0, "f32[LogitRows, vocabulary]", |l| l.rows == Dim::LogitRows)?;
        ins.is(1, ROWS)?;
        ins.some(2, "a history (state u32[Slots, 1])", |h| *h == HISTORY && self.group < GROUPS)?;
        Ok(Types::from_slice(&[RECORDS]))
    }

    fn eval(&self, step: &StepView, ins: Arrays) -> Arrays {
        let _ = step;
        one(Array::from_u32(1, vec![NONE; ins[0].rows()]))
    }

    fn cost(&self, ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        let bytes = ins[0].bytes(sizes).saturating_add(outs[0].bytes(sizes));
        Cost { bytes, flops: ins[0].elements(sizes).saturating_mul(4) }
    }
}
