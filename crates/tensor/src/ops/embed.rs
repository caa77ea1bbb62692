use super::one;
use crate::op::{Arrays, Cost, Mismatch, OpDef, Operands, Types};
use crate::step::{ROWS, StepView, rows};
use crate::{Array, Dim, Sizes, Type};

/// `(rows, table) -> x`: the table's row of each token, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Embed;

impl OpDef for Embed {
    fn name(&self) -> &'static str {
        "embed"
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(2, 2)?;
        ins.is(0, ROWS)?;
        Ok(Types::from_slice(&[Type::f32(Dim::Rows, ins.decodable(1)?.cols)]))
    }

    fn eval(&self, _step: &StepView, ins: Arrays) -> Arrays {
        let tokens: Vec<usize> = rows(ins[0].all()).map(|r| r.token as usize).collect();
        one(Array::from_rows(tokens.len(), ins[1].cols(), |r, out| ins[1].decode_row(tokens[r], out)))
    }

    fn cost(&self, ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        let rows = outs[0].rows.at(sizes) as u64;
        Cost { bytes: rows.saturating_mul(ins[1].row_bytes().saturating_add(outs[0].row_bytes())), flops: 0 }
    }
}
