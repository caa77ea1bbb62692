use super::one;
use crate::op::{Arrays, Mismatch, OpDef, Operands, Types};
use crate::step::{RECORDS, StepView};
use crate::{Array, Dim, Type};

/// Most probable tokens that a score lists.
pub const TOP: usize = 20;

/// The type of scores: for each logit row the log-probability of the token drawn, then [`TOP`] pairs of a token and its
/// log-probability (as f32 bits), most probable first; [`crate::step::NONE`] and -inf where there are fewer.
pub const SCORES: Type = Type::u32(Dim::LogitRows, 1 + 2 * TOP);

/// `(logits, records) -> scores`: log-probabilities of the row's logits as they are, before the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Score;

impl OpDef for Score {
    fn name(&self) -> &'static str {
        "score"
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(2, 2)?;
        ins.f32(0)?;
        ins.some(0, "f32[LogitRows, vocabulary]", |l| l.rows == Dim::LogitRows)?;
        ins.is(1, RECORDS)?;
        Ok(Types::from_slice(&[SCORES]))
    }

    fn eval(&self, _step: &StepView, ins: Arrays) -> Arrays {
        one(Array::from_u32(SCORES.cols, vec![0; SCORES.cols * ins[0].rows()]))
    }
}
