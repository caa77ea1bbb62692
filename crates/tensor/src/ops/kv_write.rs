use super::one;
use crate::cache::Cache;
use crate::op::{Arrays, Consumed, Cost, Mismatch, OpDef, Operands, Types};
use crate::step::{GROUPS, ROWS, StepView, rows};
use crate::{Dim, Sizes, Type};

/// `(cache, x, rows) -> cache`: the heads of each row of x, encoded in the cache's dtype, at the place of its position. A
/// cache holds the keys or the values of one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvWrite;

impl OpDef for KvWrite {
    fn name(&self) -> &'static str {
        "kv_write"
    }

    fn consumes(&self) -> Consumed {
        Consumed::from_slice(&[0])
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(3, 3)?;
        let x = ins.some(1, "f32[Rows, n]", |x| x.rows == Dim::Rows)?;
        ins.f32(1)?;
        let fits = |c: &Type| {
            let info = c.dtype.info();
            let codec = info.encode.is_some() && info.decode.is_some();
            let heads = matches!(c.rows, Dim::Slots { group, heads: n }
                if group < GROUPS && n > 0 && n.checked_mul(c.cols) == Some(x.cols));
            c.state && codec && heads
        };
        let cache = ins.some(0, &format!("a state [heads Slots, {} / heads] that can be encoded", x.cols), fits)?;
        ins.is(2, ROWS)?;
        Ok(Types::from_slice(&[cache]))
    }

    fn eval(&self, step: &StepView, mut ins: Arrays) -> Arrays {
        let mut cache = ins.remove(0);
        let (x, positions) = (&ins[0], rows(ins[1].all()));
        let heads = x.cols() / cache.cols();
        let lie = Cache { heads, slots: cache.rows() / heads };
        for (r, row) in positions.enumerate() {
            let place = step.place(row.seq as usize, cache.group(), row.position as usize);
            for (head, x) in x.row(r).chunks_exact(cache.cols()).enumerate() {
                cache.encode_row(lie.row(head, place), x);
            }
        }
        one(cache)
    }

    fn cost(&self, ins: &[Type], _outs: &[Type], sizes: &Sizes) -> Cost {
        let heads = (ins[1].cols / ins[0].cols.max(1)) as u64;
        let written = ins[0].row_bytes().saturating_mul(heads).saturating_mul(ins[1].rows.at(sizes) as u64);
        Cost { bytes: ins[1].bytes(sizes).saturating_add(written), flops: 0 }
    }
}
