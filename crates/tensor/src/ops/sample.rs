use super::history_write::HISTORY;
use super::one;
use crate::op::{Arrays, Cost, Mismatch, OpDef, Operands, Types};
use crate::sampling::{Workspace, sample_in};
use crate::step::record::Record;
use crate::step::{self, RECORDS, ROWS, Row, Sampler, StepView};
use crate::{Array, Dim, NoMemory, Sizes, Type};

/// `(logits, rows, history) -> records`: a token or a status for each logit row, by the chain that the step carries for
/// its sequence ([`crate::sampling`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample;

impl OpDef for Sample {
    fn name(&self) -> &'static str {
        "sample"
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(3, 3)?;
        ins.f32(0)?;
        ins.some(0, "f32[LogitRows, vocabulary]", |l| l.rows == Dim::LogitRows)?;
        ins.is(1, ROWS)?;
        ins.some(2, "a history (state u32[Slots, 1])", |h| *h == HISTORY)?;
        Ok(Types::from_slice(&[RECORDS]))
    }

    fn eval(&self, step: &StepView, ins: Arrays) -> Arrays {
        let [logits, rows, history] = [&ins[0], &ins[1], &ins[2]];
        let rows: Vec<Row> = step::rows(rows.all()).collect();
        let (mut workspace, mut ids) = (Workspace::new(), Vec::new());
        let records = step.logits.iter().enumerate().map(|(r, l)| {
            let row = rows[l.row as usize];
            self.draw(&mut workspace, &mut ids, step, logits.row(r), row, history.all()).encode()
        });
        one(Array::from_u32(1, records.collect()))
    }

    fn cost(&self, ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        let bytes = ins[0].bytes(sizes).saturating_add(outs[0].bytes(sizes));
        Cost { bytes, flops: ins[0].elements(sizes).saturating_mul(4) }
    }
}

impl Sample {
    /// Draws the token of a row, with memory of the caller. This is the definition, which every engine may use.
    ///
    /// # Panics
    /// If the sequence of the row, or a page up to its position, is missing.
    pub fn draw(
        &self,
        workspace: &mut Workspace,
        ids: &mut Vec<u32>,
        step: &StepView,
        logits: &[f32],
        row: Row,
        history: &[u32],
    ) -> Record {
        let seq = row.seq as usize;
        let Some(words) = step.sampler(seq) else { return Record::None };
        let Ok(sampler) = Sampler::decode(words) else { return Record::BadChain };
        let position = row.position as usize;
        ids.clear();
        if ids.try_reserve(position + 1).is_err() {
            NoMemory { bytes: 4 * (position as u64 + 1) }.unwind();
        }
        ids.extend((0..=position).map(|p| history[step.place(seq, HISTORY.rows.group(), p)]));
        let draw = sampler.draw_after(position);
        sample_in(workspace, logits, ids, sampler.generated_from, sampler.chain, draw)
            .map_or_else(Record::from, Record::Token)
    }
}
