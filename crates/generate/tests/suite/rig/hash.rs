//! The kernel that replaces sampling. It reads the tokens so far where a sampler reads them: in the history, through the
//! page table, up to the position of the row. A wrong page, position, token, seed or length of the prompt gives another
//! token.

use super::VOCAB;
use inkstone_compute::{Kernel, Pattern, ReferenceKernel};
use inkstone_tensor::op::Arrays;
use inkstone_tensor::step::record::Record;
use inkstone_tensor::step::{self, Row, Sampler, StepView};
use inkstone_tensor::{Array, Op};
use std::sync::Arc;

/// The token after `tokens`, of which the first `prompt` are the prompt.
pub fn next_token(seed: u64, prompt: usize, tokens: impl IntoIterator<Item = u32>) -> u32 {
    let words = [seed as u32, (seed >> 32) as u32, prompt as u32].into_iter().chain(tokens);
    let hash = words.fold(0xcbf2_9ce4_8422_2325, |hash: u64, word| {
        let hash = (hash ^ u64::from(word)).wrapping_mul(0x0100_0000_01b3);
        hash ^ hash >> 29
    });
    (hash % VOCAB as u64) as u32
}

/// A seed whose draws fail at the token with this index.
pub fn fails(index: u64) -> u64 {
    1 << 63 | index
}

/// The index of the token at which the draws with this seed fail.
pub fn failing(seed: u64) -> Option<u64> {
    (seed >> 63 == 1).then_some(seed & u64::from(u32::MAX))
}

pub(super) fn kernel() -> Kernel {
    Kernel::by_definition("hash", Pattern::Named("sample"), Arc::new(records as ReferenceKernel))
}

fn records(_: &Op, step: &StepView, ins: Arrays) -> Arrays {
    let (rows, history) = (step::rows(ins[1].all()).collect::<Vec<Row>>(), ins[2].all::<u32>());
    let record = |row: Row| {
        let seq = row.seq as usize;
        let Some(words) = step.sampler(seq) else { return Record::None };
        let sampler = Sampler::decode(words).expect("a sampler");
        let tokens = (0..=row.position as usize).map(|p| history[step.place(seq, ins[2].group(), p)]);
        if failing(sampler.seed) == Some(sampler.draw_after(row.position as usize).index) {
            return Record::NanLogits;
        }
        Record::Token(next_token(sampler.seed, sampler.generated_from, tokens))
    };
    let records = step.logits.iter().map(|l| record(rows[l.row as usize]).encode());
    Arrays::from_iter([Array::from_u32(1, records.collect())])
}
