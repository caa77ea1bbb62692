//! Cases of one op: a plan of one step, its operands in ports and weights, its result in a port.

use super::cases::{Case, Operand};
use super::plan::{How, PlanBuilder};
use super::rig::{MadeWeights, Rig};
use super::values::{Random, difference};
use super::{CaseResult, Outcome, bucket, candidates, tolerance};
use crate::Result;
use crate::engine::Engine;
use crate::kernel::{Kernel, Layout, Numerics};
use crate::plan::{Port, Region};
use inkstone_tensor::op::{Arrays, Mismatch};
use inkstone_tensor::step::{LogitWish, NONE, ROWS, Row, Sampler, SeqStep, StepBuffer, StepView};
use inkstone_tensor::{Array, Dim, Op, Sizes, Type};
use std::sync::Arc;

/// Where operands lie that are no weights; the result lies in [`RESULT`].
const OPERANDS: [Port; 4] = [Port::Hidden, Port::Logits, Port::Records, Port::Rows];
const RESULT: Port = Port::Scores;
/// Positions that rows are made up for.
const POSITIONS: usize = 5000;
/// Tokens a page: each of the sequences has one.
const PAGE: usize = 8192;
const SEQUENCES: usize = 3;

/// The results of all kernels that take the case.
pub(super) fn run(engine: &dyn Engine, case: &Case) -> Vec<CaseResult> {
    let name = case.name();
    let seed = Random::seed(&name);
    let result = |kernels: &str, outcome| CaseResult { case: name.clone(), kernels: kernels.to_owned(), seed, outcome };
    let Some(sizes) = sizes(engine, case.rows) else {
        let most = engine.caps().rows.iter().max().copied().unwrap_or(0);
        return vec![result("", Outcome::Skipped(format!("{} rows > {most}", case.rows)))];
    };
    let types: Vec<Type> = case.operands.iter().map(Operand::ty).collect();
    let weights: Vec<Type> =
        case.operands.iter().filter(|o| matches!(o, Operand::Weight(_))).map(Operand::ty).collect();
    let (found, refusals) = candidates(engine, &case.op, &weights, sizes.rows, types.len() + 1);
    if found.is_empty() {
        return vec![result("", Outcome::Skipped(refusals))];
    }
    // The first result of each numerics, and whose it is.
    let mut firsts: Vec<(Numerics, String, Array)> = Vec::new();
    let matrices = weights.iter().any(|w| w.rows != Dim::N(1));
    let by_kernel = found.iter().map(|(kernel, layout)| {
        let who = if matrices { format!("{} in {layout}", kernel.name) } else { kernel.name.to_owned() };
        let outcome = match on_kernel(engine, case, kernel, *layout, sizes, seed) {
            Ok(Found::Result(value)) => match firsts.iter().find(|(numerics, ..)| *numerics == kernel.numerics) {
                Some((_, first, wanted)) => difference(wanted, &value, 0.0).map_or(Outcome::Passed, |fault| {
                    Outcome::Failed(format!("other bits than {first}, of one numerics: {fault}"))
                }),
                None => {
                    firsts.push((kernel.numerics, who.clone(), value));
                    Outcome::Passed
                }
            },
            Ok(Found::Nothing(outcome)) => outcome,
            Err(error) => Outcome::Failed(error.to_string()),
        };
        result(&who, outcome)
    });
    by_kernel.collect()
}

/// What a kernel made of a case.
enum Found {
    /// As close to the definition as it must be.
    Result(Array),
    /// Why there is none.
    Nothing(Outcome),
}

/// The bucket of a case. Every row may want logits.
fn sizes(engine: &dyn Engine, rows: usize) -> Option<Sizes> {
    let caps = engine.caps();
    let (rows, logit_rows) = (bucket(&caps.rows, rows)?, bucket(&caps.logit_rows, rows)?);
    Some(Sizes { rows, logit_rows, slots: SEQUENCES * PAGE })
}

fn on_kernel(
    engine: &dyn Engine,
    case: &Case,
    kernel: &Kernel,
    layout: Layout,
    bucket: Sizes,
    seed: u64,
) -> Result<Found> {
    let mut random = Random::new(seed);
    let words = step(case, &mut random);
    let view = StepView::new(&words)?;
    let sizes = view.sizes(bucket.slots);

    let skipped = |reason: String| Ok(Found::Nothing(Outcome::Skipped(reason)));
    let mut plan = PlanBuilder::new("case", bucket);
    let (mut weights, mut inputs, mut places, mut values) = (MadeWeights::default(), vec![], vec![], Arrays::new());
    let mut ports = OPERANDS.into_iter();
    for (i, operand) in case.operands.iter().enumerate() {
        let mut ty = operand.ty();
        let mut value = fill(operand, &view, &sizes, &mut random);
        if let Operand::Weight(ty) = operand {
            let name = format!("w{i}");
            let layout = if value.rows() == 1 { Layout::FILE } else { layout };
            weights.insert(&name, &value);
            places.push(plan.weight(&name, *ty, layout, kernel.numerics));
        } else if ty.state {
            let place = plan.state(&format!("state{i}"), ty);
            places.push(place);
            inputs.push((place.region, value.clone()));
        } else {
            // A kernel that wants its activations in another dtype gets them so, as a compiler would do it.
            if let Some(to) = kernel.activations.filter(|_| i == 0 && matches!(case.op, Op::Linear(_))) {
                if to.row_bytes(ty.cols).is_none() || to.info().encode.is_none() {
                    return skipped(format!("rows of {} are no whole blocks of {to}", ty.cols));
                }
                (ty, value) = (Type { dtype: to, ..ty }, encoded(&value, to));
            }
            let Some(port) = ports.next() else {
                return skipped(format!("more than {} operands", OPERANDS.len()));
            };
            places.push(plan.port(port, ty));
            inputs.push((Region::Port(port), value.clone()));
        }
        values.push(value);
    }
    let types: Vec<Type> = places.iter().map(|p| p.ty).collect();
    let fault = |mismatch: Mismatch| Ok(Found::Nothing(Outcome::Failed(mismatch.to_string())));
    let how = match How::by(kernel, &case.op, &types) {
        Ok(how) => how,
        Err(mismatch) => return fault(mismatch),
    };
    let result = match case.op.infer(&types) {
        Ok(results) => plan.port(RESULT, results[0]),
        Err(mismatch) => return fault(mismatch),
    };
    if let Err(mismatch) = plan.step(how, case.op.clone(), &places, &[result]) {
        return fault(mismatch);
    }

    let mut rig = Rig::new(engine, &Arc::new(plan.finish()), &weights)?;
    inputs.iter().try_for_each(|(region, value)| rig.write(*region, value))?;
    rig.submit(&words)?;
    let found = rig.read(Region::Port(RESULT), &result.ty, &sizes)?;
    let expected = case.op.eval(&view, values).remove(0);
    let fault = difference(&expected, &found, tolerance(kernel.numerics));
    Ok(fault.map_or(Found::Result(found), |fault| Found::Nothing(Outcome::Failed(fault))))
}

fn encoded(value: &Array, to: inkstone_tensor::DType) -> Array {
    let mut out = Array::zeros(to, value.rows(), value.cols()).expect("no larger than its operand");
    (0..value.rows()).for_each(|r| out.encode_row(r, value.row(r)));
    out
}

/// A step of the case's rows, in up to three sequences with all their logits, the last or none, and a window of them.
fn step(case: &Case, random: &mut Random) -> Vec<u32> {
    let mut buffer = StepBuffer::with_capacity(PAGE, case.rows, SEQUENCES, 0);
    let mut left = case.rows;
    for slot in 0..SEQUENCES {
        let count = if slot + 1 == SEQUENCES { left } else { random.below(left + 1) };
        let tokens = vec![0; count];
        // The last one wants some, so that no case is empty.
        let logits = if left == count { LogitWish::All } else { [LogitWish::None, LogitWish::Last][random.below(2)] };
        let mut sampler = Vec::new();
        Sampler::encode(random.next(), random.below(POSITIONS), &case.chain, &mut sampler);
        left -= count;
        if count > 0 {
            let table: &[u32] = &[((slot + 1) % SEQUENCES) as u32];
            buffer.push(&SeqStep { slot, tokens: &tokens, tables: &[table], logits, sampler: Some(&sampler) });
        }
    }
    let logits = buffer.logits().len();
    let first = random.below(logits);
    let count = 1 + random.below(logits - first);
    buffer.encode(first, count).to_vec()
}

fn fill(operand: &Operand, view: &StepView, sizes: &Sizes, random: &mut Random) -> Array {
    match *operand {
        Operand::Weight(ty) | Operand::Values(ty) => random.array(&ty, ty.rows.at(sizes)),
        Operand::Rows(vocabulary) | Operand::EarlyRows(vocabulary) => {
            let early = matches!(operand, Operand::EarlyRows(_));
            let mut words = Vec::new();
            for (seq, s) in view.seqs.iter().enumerate() {
                let firsts = if early { vocabulary - s.rows as usize + 1 } else { POSITIONS };
                let first = random.below(firsts) as u32;
                for i in 0..s.rows {
                    let row = Row { token: random.below(vocabulary) as u32, position: first + i, seq: seq as u32 };
                    words.extend_from_slice(bytemuck::cast_slice(&[row]));
                }
            }
            Array::from_u32(ROWS.cols, words)
        }
        Operand::History(vocabulary) => {
            Array::from_u32(1, (0..sizes.slots).map(|_| random.below(vocabulary) as u32).collect())
        }
        // One record is none, as of a row that draws nothing.
        Operand::Records(n) => {
            let record = |i| if i == 0 { NONE } else { random.below(n) as u32 };
            Array::from_u32(1, (0..sizes.logit_rows).map(record).collect())
        }
    }
}
