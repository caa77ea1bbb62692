//! Draws over several steps: penalties find the tokens of a sequence on all of its pages, a bad page is refused wherever it
//! is read, and a page that no stage of a chain reads may have been given back.

use super::host::settle_records;
use super::plan::PlanBuilder;
use super::rig::{Definition, MadeWeights, Rig};
use super::scenes::{Composer, first_carry};
use super::values::{Random, difference};
use super::{CaseResult, Outcome, Stop, bucket};
use crate::engine::Engine;
use crate::plan::{Port, Region};
use inkstone_tensor::ops::{Advance, BeginStep, HISTORY, HistoryWrite, Sample};
use inkstone_tensor::sampling::{Chain, Stage};
use inkstone_tensor::step::{LogitWish, NONE, RECORDS, Sampler, SeqStep, StepBuffer, StepView, carry};
use inkstone_tensor::{Array, Dim, Sizes, Slots, Type};
use std::fmt::Display;
use std::sync::Arc;

const NAME: &str = "draws by histories over pages";
const SEQUENCES: usize = 3;
const STEPS: usize = 8;
/// Most rows that a sequence adds to a step.
const CHUNK: usize = 5;
/// Tokens per page.
const PAGE: usize = 3;
/// Pages of a sequence.
const PAGES: usize = (STEPS * CHUNK).div_ceil(PAGE);
const VOCABULARY: usize = 40;
const LOGITS: Type = Type::f32(Dim::LogitRows, VOCABULARY);

pub(super) fn run(engine: &dyn Engine) -> CaseResult {
    let (seed, mut kernels) = (Random::seed(NAME), Vec::new());
    let mut host = 0;
    let played = play(engine, &mut Random::new(seed), &mut kernels, &mut host);
    let outcome = played.err().map_or(Outcome::Passed, Stop::outcome);
    CaseResult { case: NAME.to_owned(), kernels: kernels.join(", "), seed, host, outcome }
}

fn play(engine: &dyn Engine, random: &mut Random, kernels: &mut Vec<String>, host: &mut usize) -> Result<(), Stop> {
    let (caps, most) = (engine.caps(), SEQUENCES * CHUNK);
    let (Some(rows), Some(logit_rows)) = (bucket(&caps.rows, most), bucket(&caps.logit_rows, SEQUENCES)) else {
        return Err(Stop::Skipped(format!("{most} rows are more than the largest bucket")));
    };
    let slots = Slots::one_group((SEQUENCES * PAGES + 1) * PAGE);
    let bucket = Sizes { rows, logit_rows, slots };
    let (weights, definition) = (MadeWeights::default(), Definition::default());
    let plan = PlanBuilder::new("histories", bucket);
    let mut c = Composer { engine, plan, weights, definition, bucket, tolerance: 0.0, kernels };
    let carry = c.state("carry", carry::CARRY, first_carry(0)?);
    let history = c.state("history", HISTORY, Array::of(&HISTORY, &bucket)?);
    let (logits, records) = (c.plan.port(Port::LOGITS, LOGITS), c.plan.port(Port::RECORDS, RECORDS));
    let rows = c.step(BeginStep, &[carry], &[])?;
    let history = c.step(HistoryWrite, &[history, rows], &[])?;
    c.step(Sample, &[logits, rows, history], &[records])?;
    c.step(Advance, &[carry, rows], &[])?;
    let (plan, weights, mut definition) = (Arc::new(c.plan.finish()), c.weights, c.definition);

    let mut rig = Rig::new(engine, &plan, &weights)?;
    for region in [Region::State(0), Region::State(1)] {
        rig.write(region, &definition.memory[&region])?;
    }
    let pages = random.permutation(SEQUENCES * PAGES + 1);
    let tables: Vec<&[u32]> = pages.chunks_exact(PAGES).take(SEQUENCES).collect();
    let mut step = |words: &[u32], what: &dyn Display, random: &mut Random| -> Result<Vec<usize>, Stop> {
        let view = StepView::new(words)?;
        let values = random.array(&LOGITS, &view.sizes(slots));
        rig.write(Region::Port(Port::LOGITS), &values)?;
        definition.memory.insert(Region::Port(Port::LOGITS), values);
        definition.run(&plan, &view);
        rig.submit(words)?;
        let mut found = rig.read(Region::Port(Port::RECORDS), &RECORDS, &view.sizes(slots))?;
        let expected = &definition.memory[&Region::Port(Port::RECORDS)];
        *host += settle_records(expected, &mut found);
        if let Some(fault) = difference(expected, &found, 0.0) {
            return Err(Stop::Failed(format!("step {what}: {fault}")));
        }
        let lengths = definition.memory[&Region::State(0)].all::<u32>();
        Ok((0..SEQUENCES).map(|s| lengths[carry::word(carry::LENGTH, s)] as usize).collect())
    };
    let mut lengths = Vec::new();
    for i in 0..STEPS - 1 {
        let rows = [CHUNK; SEQUENCES].map(|most| 1 + random.below(most));
        lengths = step(&words(&tables, &rows, &penalties(), random), &i, random)?;
    }
    for (chain, back) in [(Chain(vec![Stage::TopK(7)]), 0), (window(), WINDOW), (window(), WINDOW)] {
        let cut = tables.iter().zip(&lengths).map(|(table, &length)| {
            let read = (length + 1 - back.max(1)) / PAGE;
            table.iter().enumerate().map(|(index, &page)| if index < read { NONE } else { page }).collect::<Vec<u32>>()
        });
        let cut: Vec<Vec<u32>> = cut.collect();
        let tables: Vec<&[u32]> = cut.iter().map(Vec::as_slice).collect();
        let what = format!("with tables cut to {back} tokens");
        lengths = step(&words(&tables, &[1; SEQUENCES], &chain, random), &what, random)?;
    }

    for bad in [NONE, (slots.of(0) / PAGE) as u32] {
        for (sequence, &length) in lengths.iter().enumerate() {
            // The engine may have counted the rows of the steps that failed.
            let index = random.below(length / PAGE);
            let mut table = tables[sequence].to_vec();
            table[index] = bad;
            let mut tables = tables.clone();
            tables[sequence] = &table;
            match rig.submit(&words(&tables, &[1; SEQUENCES], &penalties(), random)) {
                Err(error) if error.to_string().contains("page") => {}
                Err(error) => return Err(Stop::Failed(format!("page {bad} at {index} of a table: {error}"))),
                Ok(()) => return Err(Stop::Failed(format!("page {bad} at {index} of a table is taken"))),
            }
        }
    }
    Ok(())
}

/// A chain whose penalties depend on each token that a sequence has.
pub(super) fn penalties() -> Chain {
    Chain(vec![
        Stage::Repetition { penalty: 1.7, last_n: None },
        Stage::Frequency(0.4),
        Stage::Presence(0.3),
        Stage::NoRepeatNgram(2),
        Stage::Temperature(0.8),
    ])
}

/// Tokens that the chain of [`window`] reads.
const WINDOW: usize = 4;

/// A chain that depends on the last tokens of a sequence.
fn window() -> Chain {
    Chain(vec![Stage::Repetition { penalty: 3.0, last_n: Some(WINDOW as u32) }])
}

/// A step of all sequences, each of which draws with this chain.
fn words(tables: &[&[u32]], rows: &[usize; SEQUENCES], chain: &Chain, random: &mut Random) -> Vec<u32> {
    let mut buffer = StepBuffer::with_capacity(PAGE, SEQUENCES * CHUNK, SEQUENCES * PAGES, 64 * SEQUENCES);
    for (slot, (table, rows)) in tables.iter().zip(rows).enumerate() {
        let tokens: Vec<u32> = (0..*rows).map(|_| random.below(VOCABULARY) as u32).collect();
        let mut sampler = Vec::new();
        Sampler::encode(random.next(), 0, chain, &mut sampler);
        let (tables, logits) = (&[*table], LogitWish::Last);
        buffer.push(&SeqStep { slot, tokens: &tokens, tables, logits, sampler: Some(&sampler) });
    }
    buffer.encode(0, SEQUENCES).to_vec()
}
