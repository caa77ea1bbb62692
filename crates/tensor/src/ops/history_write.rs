use super::one;
use crate::op::{Arrays, Consumed, Mismatch, OpDef, Operands, Types};
use crate::step::{ROWS, StepView, rows};
use crate::{Dim, Type};

/// `(history, rows) -> history`: the token of each row at the place of its position. The history is paged like a cache,
/// so that penalties find the tokens of a prefix that is shared or was computed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryWrite;

/// The type of the history, which is paged as the caches of layer group 0 are.
pub const HISTORY: Type = Type::u32(Dim::Slots { group: 0, heads: 1 }, 1).state();

impl OpDef for HistoryWrite {
    fn name(&self) -> &'static str {
        "history_write"
    }

    fn consumes(&self) -> Consumed {
        Consumed::from_slice(&[0])
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(2, 2)?;
        ins.some(0, "a history (state u32[Slots, 1])", |h| *h == HISTORY)?;
        ins.is(1, ROWS)?;
        Ok(Types::from_slice(&[HISTORY]))
    }

    fn eval(&self, step: &StepView, mut ins: Arrays) -> Arrays {
        let mut history = ins.remove(0);
        let words = history.all_mut::<u32>();
        for row in rows(ins[0].all()) {
            words[step.place(row.seq as usize, HISTORY.rows.group(), row.position as usize)] = row.token;
        }
        one(history)
    }
}
