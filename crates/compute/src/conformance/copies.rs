//! A plan that only copies pages has no rows: it takes a step whose tables have pages that were given back.

use super::plan::PlanBuilder;
use super::rig::{Definition, MadeWeights, Rig};
use super::scenes::Composer;
use super::values::{Random, difference};
use super::{CaseResult, Outcome, Stop, bucket};
use crate::engine::Engine;
use inkstone_tensor::ops::KvCopy;
use inkstone_tensor::step::{LogitWish, NONE, PageCopy, SeqStep, StepBuffer, StepView};
use inkstone_tensor::{DType, Sizes, Slots, Type};
use std::sync::Arc;

pub(super) const NAME: &str = "copies next to rows whose pages were given back";
/// Tokens per page.
const PAGE: usize = 16;
/// Layer groups.
const GROUPS: usize = 2;

pub(super) fn run(engine: &dyn Engine) -> CaseResult {
    let (seed, mut kernels) = (Random::seed(NAME), Vec::new());
    let played = play(engine, &mut Random::new(seed), &mut kernels);
    let outcome = played.err().map_or(Outcome::Passed, Stop::outcome);
    CaseResult { case: NAME.to_owned(), kernels: kernels.join(", "), seed, host: 0, outcome }
}

fn play(engine: &dyn Engine, random: &mut Random, kernels: &mut Vec<String>) -> Result<(), Stop> {
    let caps = engine.caps();
    let (Some(rows), Some(logit_rows)) = (bucket(&caps.rows, 1), bucket(&caps.logit_rows, 1)) else {
        return Err(Stop::Skipped("there is no bucket".to_owned()));
    };
    let slots = Slots::new(std::array::from_fn(|group| if group < GROUPS { 4 * PAGE } else { 0 }));
    let bucket = Sizes { rows, logit_rows, slots };
    let (weights, definition) = (MadeWeights::default(), Definition::default());
    let plan = PlanBuilder::new("copies", bucket);
    let mut c = Composer { engine, plan, weights, definition, bucket, tolerance: 0.0, kernels };
    let mut states = Vec::new();
    for (group, name) in [(0, "keys"), (1, "other keys")] {
        let ty = Type::cache(group, DType::F16, 2, 8);
        let value = random.array(&ty, &bucket);
        states.push((c.state(name, ty, value), ty));
    }
    for (state, _) in &states {
        c.step(KvCopy, &[*state], &[])?;
    }
    let (plan, weights, mut definition) = (Arc::new(c.plan.finish()), c.weights, c.definition);

    let mut rig = Rig::new(engine, &plan, &weights)?;
    for (state, _) in &states {
        rig.write(state.region, &definition.memory[&state.region])?;
    }
    let mut buffer = StepBuffer::with_capacity(PAGE, 1, 2 * GROUPS, 0);
    let tables: [&[u32]; GROUPS] = [&[NONE, 1], &[NONE, NONE]];
    buffer.push(&SeqStep { slot: 3, tokens: &[1], tables: &tables, logits: LogitWish::None, sampler: None });
    for (group, from, to) in [(0, 0, 2), (1, 3, 1)] {
        buffer.copy(PageCopy { group, from, to, places: 5 });
    }
    let words = buffer.encode(0, 0);
    let view = StepView::new(words)?;
    definition.run(&plan, &view);
    rig.submit(words)?;
    for (state, ty) in &states {
        let found = rig.read(state.region, ty, &view.sizes(slots))?;
        if let Some(fault) = difference(&definition.memory[&state.region], &found, 0.0) {
            return Err(Stop::Failed(format!("{}: {fault}", state.region)));
        }
    }
    Ok(())
}
