use super::history_write::HISTORY;
use super::one;
use crate::op::{Arrays, Cost, Mismatch, OpDef, Operands, Types};
use crate::sampling::Workspace;
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
            let drawn = self
                .sampler(step, row)
                .map(|sampler| self.draw(&mut workspace, &mut ids, step, logits.row(r), row, &sampler, history.all()));
            drawn.unwrap_or_else(|record| record).encode()
        });
        one(Array::from_u32(1, records.collect()))
    }

    fn cost(&self, ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        let bytes = ins[0].bytes(sizes).saturating_add(outs[0].bytes(sizes));
        Cost { bytes, flops: ins[0].elements(sizes).saturating_mul(4) }
    }
}

impl Sample {
    /// The sampler of a row.
    ///
    /// # Errors
    /// The record of a row that draws nothing: its sequence has no sampler, or a wrong one.
    pub fn sampler<'s>(&self, step: &StepView<'s>, row: Row) -> Result<Sampler<'s>, Record> {
        let words = step.sampler(row.seq as usize).ok_or(Record::None)?;
        Sampler::decode(words).map_err(|_| Record::BadChain)
    }

    /// Draws the token of a row, with memory of the caller. This is the definition, which every engine may use. It reads the
    /// tokens of [`Sampler::reads`].
    ///
    /// # Panics
    /// If the sequence of the row, or the page of a token that is read, is missing.
    #[expect(clippy::too_many_arguments, reason = "the operands of the op, and memory to reuse")]
    pub fn draw(
        &self,
        workspace: &mut Workspace,
        ids: &mut Vec<u32>,
        step: &StepView,
        logits: &[f32],
        row: Row,
        sampler: &Sampler,
        history: &[u32],
    ) -> Record {
        let (page, position) = (step.header.page as usize, row.position as usize);
        let reads = sampler.reads(position);
        ids.clear();
        if ids.try_reserve(reads.len()).is_err() {
            NoMemory { bytes: 4 * reads.len() as u64 }.unwind();
        }
        let mut at = reads.start;
        while at < reads.end {
            let tokens = (page - at % page).min(reads.end - at);
            let place = step.place(row.seq as usize, HISTORY.rows.group(), at);
            ids.extend_from_slice(&history[place..place + tokens]);
            at += tokens;
        }
        sampler.draw(workspace, logits, ids, position)
    }
}
