//! Steps to run a model for: ragged, with draws.

use inkstone_tensor::Slots;
use inkstone_tensor::sampling::{Chain, Stage};
use inkstone_tensor::step::{LAST, LogitWish, Sampler, SeqStep, StepBuffer};

/// Places in the caches of two layer groups.
pub const SLOTS: Slots = Slots::new([64, 72, 0, 0]);

/// Slot, tokens, whose logits.
pub type Part = (usize, &'static [u32], LogitWish);

/// Prompts in chunks, decodes, sequences that come and wait, logits of none, one and all rows.
pub const STEPS: &[&[Part]] = &[
    &[(0, &[7, 3, 9, 1], LogitWish::None)],
    &[(0, &[4, 5], LogitWish::Last), (2, &[1, 2, 3], LogitWish::Last)],
    &[(2, &[LAST], LogitWish::Last), (5, &[40, 41, 42, 43, 44, 45, 46, 47, 48], LogitWish::All)],
    &[(0, &[LAST], LogitWish::Last), (2, &[LAST], LogitWish::Last), (5, &[0], LogitWish::Last)],
    &[(0, &[LAST], LogitWish::Last)],
];

/// Rows, logit rows and the step buffer of some parts.
pub fn words(parts: &[Part]) -> (usize, usize, Vec<u32>) {
    // Pages of both groups, which have 16 and 18.
    let pages = |slot: usize, all: usize| -> Vec<u32> { (0..4).map(|i| ((slot * 5 + i * 7) % all) as u32).collect() };
    let (mut buffer, mut sampler) = (StepBuffer::with_capacity(4, 64, 64, 64), Vec::new());
    let chain = Chain(vec![Stage::Frequency(0.5), Stage::Temperature(0.8), Stage::TopK(20)]);
    Sampler::encode(11, 3, &chain, &mut sampler);
    for (slot, tokens, logits) in parts {
        let tables = [pages(*slot, 16), pages(*slot, 18)];
        let tables = tables.each_ref().map(|t| &t[..]);
        buffer.push(&SeqStep { slot: *slot, tokens, tables: &tables, logits: *logits, sampler: Some(&sampler) });
    }
    let (rows, logits) = (buffer.rows(), buffer.logits().len());
    (rows, logits, buffer.encode(0, logits).to_vec())
}
