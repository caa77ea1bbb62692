//! A row of attention sees nothing of the positions behind its own: values there that are not finite change no bit of it.

use super::plan::{How, PlanBuilder};
use super::rig::{MadeWeights, Rig};
use super::values::Random;
use super::{CaseResult, Outcome, Stop, bucket, candidates};
use crate::engine::Engine;
use crate::kernel::Kernel;
use crate::plan::{Port, Region};
use inkstone_tensor::cache::Cache;
use inkstone_tensor::ops::Attend;
use inkstone_tensor::step::{LogitWish, ROWS, SeqStep, StepBuffer, StepView};
use inkstone_tensor::{Array, DType, Dim, Op, Sizes, Slots, Type};
use std::sync::Arc;

/// Of the rows of a step: around ends of blocks and of a segment.
const POSITIONS: [u32; 8] = [0, 5, 62, 63, 64, 2047, 2048, 2100];
const PAGE: usize = 64;
const PAGES: usize = 34;
const PLACES: usize = PAGE * PAGES;
const HEADS: usize = 6;
const KV_HEADS: usize = 2;
const DIM: usize = 32;
/// The dtypes of caches.
const DTYPES: [DType; 4] = [DType::F32, DType::F16, DType::BF16, DType::Q8_0];
const NOT_FINITE: [f32; 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];

/// The results of all kernels of attention.
pub(super) fn run(engine: &dyn Engine) -> Vec<CaseResult> {
    let op: Op = Attend { heads: HEADS, kv_heads: KV_HEADS, scale: 0.2, window: None }.into();
    let caps = engine.caps();
    let Some(rows) = bucket(&caps.rows, POSITIONS.len()) else { return Vec::new() };
    let sizes = Sizes { rows, logit_rows: 0, slots: Slots::one_group(PLACES) };
    let asked = DTYPES.into_iter().flat_map(|dtype| {
        let (found, _) = candidates(engine, &op, &operands(dtype), &[], rows);
        found.into_iter().map(move |(kernel, _)| (kernel, dtype))
    });
    let result = asked.map(|(kernel, dtype)| {
        let case = format!("positions behind a row, caches of {dtype}");
        let seed = Random::seed(&case);
        let looked = look(engine, kernel, &op, dtype, sizes, &mut Random::new(seed));
        let outcome = looked.err().map_or(Outcome::Passed, Stop::outcome);
        CaseResult { case, kernels: kernel.name.to_owned(), seed, host: 0, outcome }
    });
    result.collect()
}

/// Queries, keys, values and the rows of the step.
fn operands(dtype: DType) -> [Type; 4] {
    let (x, cache) = (Type::f32(Dim::Rows, HEADS * DIM), Type::cache(0, dtype, KV_HEADS, DIM));
    [x, cache, cache, ROWS]
}

fn look(
    engine: &dyn Engine,
    kernel: &Kernel,
    op: &Op,
    dtype: DType,
    bucket: Sizes,
    random: &mut Random,
) -> Result<(), Stop> {
    let [x, cache, ..] = operands(dtype);
    let mut plan = PlanBuilder::new("unseen", bucket);
    let caches = ["keys", "values"].map(|name| plan.state(name, cache));
    let [queries, rows] = [(Port::HIDDEN, x), (Port::ROWS, ROWS)].map(|(port, ty)| plan.port(port, ty));
    let out = plan.port(Port::LOGITS, x);
    let ins = [queries, caches[0], caches[1], rows];
    plan.step(How::by(kernel, op, &ins.map(|p| p.ty), bucket, engine.caps())?, op.clone(), &ins, &[out])?;
    let mut rig = Rig::new(engine, &Arc::new(plan.finish()), &MadeWeights::default())?;

    let pages = Vec::from_iter(0..PAGES as u32);
    let mut step = StepBuffer::with_capacity(PAGE, POSITIONS.len(), PAGES, 0);
    let (tokens, tables) = ([0; POSITIONS.len()], [&pages[..]]);
    step.push(&SeqStep { slot: 0, tokens: &tokens, tables: &tables, logits: LogitWish::None, sampler: None });
    let words = step.encode(0, 0).to_vec();
    let sizes = StepView::new(&words)?.sizes(bucket.slots);
    let positions = POSITIONS.map(|position| [0, position, 0]);
    rig.write(Region::Port(Port::HIDDEN), &random.array(&x, &sizes))?;
    rig.write(Region::Port(Port::ROWS), &Array::from_u32(ROWS.cols, positions.as_flattened().to_vec()))?;

    let caches = [0; 2].map(|_| random.array(&cache, &bucket));
    let mut results = |caches: &[Array; 2]| -> Result<Array, Stop> {
        for (id, cache) in caches.iter().enumerate() {
            rig.write(Region::State(id as u32), cache)?;
        }
        rig.submit(&words)?;
        Ok(rig.read(Region::Port(Port::LOGITS), &x, &sizes)?)
    };
    let wanted = results(&caches)?;
    if wanted.all::<f32>().iter().any(|y| !y.is_finite()) {
        return Err(Stop::Failed("results that are not finite".to_owned()));
    }
    let all = Cache { heads: KV_HEADS, slots: PLACES };
    for value in NOT_FINITE {
        for (row, position) in POSITIONS.into_iter().enumerate() {
            let mut caches = caches.clone();
            let places = position as usize + 1..PLACES;
            for place in places.flat_map(|place| (0..KV_HEADS).map(move |head| all.row(head, place))) {
                caches.iter_mut().for_each(|cache| cache.encode_row(place, &[value; DIM]));
            }
            let found = results(&caches)?;
            let rows = |of: &Array| of.bytes().chunks(of.row_bytes()).map(<[u8]>::to_vec).collect::<Vec<_>>();
            let (found, wanted) = (rows(&found), rows(&wanted));
            let differs = (0..=row).find(|r| found[*r] != wanted[*r]);
            if let Some(row) = differs {
                let fault = format!("row {row} changes with values of {value} behind position {position}");
                return Err(Stop::Failed(fault));
            }
        }
    }
    Ok(())
}
