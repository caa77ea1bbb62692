use super::one;
use crate::op::{Arrays, Mismatch, OpDef, Operands, Types};
use crate::sampling::{Workspace, log_probs_in};
use crate::step::record::Record;
use crate::step::{NONE, RECORDS, StepView};
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
        let (logits, records) = (&ins[0], ins[1].all::<u32>());
        let mut workspace = Workspace::new();
        let rows = (0..logits.rows()).flat_map(|r| Score::row(&mut workspace, logits.row(r), records[r]));
        one(Array::from_u32(SCORES.cols, rows.collect()))
    }
}

impl Score {
    /// The scores of a row whose record is `record`: the definition, which every engine may share.
    pub fn row(workspace: &mut Workspace, logits: &[f32], record: u32) -> [u32; SCORES.cols] {
        let bits = |p: f64| (p as f32).to_bits();
        let mut words = [NONE; SCORES.cols];
        words.iter_mut().step_by(2).for_each(|w| *w = bits(f64::NEG_INFINITY));
        if let Record::Token(token) = Record::decode(record)
            && let Ok((token, top)) = log_probs_in(workspace, logits, token, TOP)
        {
            words[0] = bits(token);
            for (pair, (id, p)) in words[1..].chunks_exact_mut(2).zip(top) {
                pair.copy_from_slice(&[id, bits(p)]);
            }
        }
        words
    }
}
