use super::one;
use crate::op::{Arrays, Cost, Mismatch, OpDef, Operands, Types};
use crate::step::{ROWS, Row, StepView, rows};
use crate::{Array, Dim, Sizes, Type};

/// The index by which a row of a step is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Its token.
    Token,
    /// Its position in its sequence: learned positions (Radford et al. 2018).
    Position,
}

/// `(rows, table) -> x`: the table's row of each token or position, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Embed {
    /// The index of the lookup.
    pub by: By,
}

impl Embed {
    /// Which row of the table is `row`'s.
    pub fn index(&self, row: &Row) -> usize {
        match self.by {
            By::Token => row.token as usize,
            By::Position => row.position as usize,
        }
    }
}

impl OpDef for Embed {
    fn name(&self) -> &'static str {
        "embed"
    }

    fn attributes(&self) -> String {
        match self.by {
            By::Token => String::new(),
            By::Position => "by position".to_owned(),
        }
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(2, 2)?;
        ins.is(0, ROWS)?;
        Ok(Types::from_slice(&[Type::f32(Dim::Rows, ins.decodable(1)?.cols)]))
    }

    fn eval(&self, _step: &StepView, ins: Arrays) -> Arrays {
        let places: Vec<usize> = rows(ins[0].all()).map(|r| self.index(&r)).collect();
        one(Array::from_rows(places.len(), ins[1].cols(), |r, out| ins[1].decode_row(places[r], out)))
    }

    fn cost(&self, ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        let rows = outs[0].rows.at(sizes) as u64;
        Cost { bytes: rows.saturating_mul(ins[1].row_bytes().saturating_add(outs[0].row_bytes())), flops: 0 }
    }
}
