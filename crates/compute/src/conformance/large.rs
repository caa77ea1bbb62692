//! Kernels on shapes as large models have them: sampled columns of the results against the definition, and the time that
//! a kernel takes.
//!
//! ```
//! # use inkstone_compute::{EngineOptions, Reference, conformance::large};
//! # use inkstone_tensor::DType;
//! # let engine = Reference::new(&EngineOptions::default().budget(1 << 30))?;
//! large::run(&engine, &large::TINY, &[DType::Q8_0], |measured| assert_eq!(measured.fault, None, "{measured:?}"));
//! # Ok::<(), inkstone_compute::Error>(())
//! ```

mod columns;
mod shapes;

use super::cases::{Case, Operand};
use super::host::settle;
use super::plan::{How, Place, PlanBuilder};
use super::regions::{self, Cols};
use super::rig::{MadeWeights, Rig};
use super::single::encoded;
use super::values::{Random, difference};
use super::{Stop, bucket, candidates, rounding, stepwise};
use crate::engine::{Engine, Weights};
use crate::kernel::{Kernel, Layout, Numerics};
use crate::plan::{Interface, Port, Region};
use columns::{columns, matrix, part, sampled, with_columns};
use inkstone_tensor::op::Arrays;
use inkstone_tensor::ops::HISTORY;
use inkstone_tensor::sampling::Chain;
use inkstone_tensor::step::{LogitWish, ROWS, Sampler, SeqStep, StepBuffer, StepView};
use inkstone_tensor::{
    Array, DType, NoProgress, Op, Sizes, Slots, SourceError, Type, WeightBytes, WeightInfo, WeightSource,
};
use shapes::{Large, TOKENS, of_format, others};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The shapes of a model, and how long kernels are timed.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Its name.
    pub name: &'static str,
    /// Values in the residual of a token.
    pub width: usize,
    /// Columns of the gated unit.
    pub hidden: usize,
    /// Heads of queries; of keys and values; values of a head.
    pub heads: [usize; 3],
    /// Tokens that are drawn from.
    pub vocabulary: usize,
    /// Tokens before the rows.
    pub depth: usize,
    /// Rows of steps; a step of more than eight has no tokens before it.
    pub rows: [usize; 3],
    /// A timed plan reads so many bytes of weights and caches, so that no cache of the device holds them.
    pub bytes: u64,
    /// How long each kernel runs at least, three times.
    pub time: Duration,
}

/// Shapes for quick checks.
pub const TINY: Scale = Scale {
    name: "tiny",
    width: 256,
    hidden: 512,
    heads: [4, 2, 64],
    vocabulary: 1000,
    depth: 100,
    rows: [1, 8, 9],
    bytes: 1 << 18,
    time: Duration::ZERO,
};
/// The shapes of Llama 3.2 1B.
pub const LLAMA_1B: Scale = Scale {
    name: "1b",
    width: 2048,
    hidden: 8192,
    heads: [32, 8, 64],
    vocabulary: 128_256,
    depth: 4096,
    rows: [1, 8, 512],
    bytes: 256 << 20,
    time: Duration::from_millis(20),
};
/// The shapes of Llama 3.1 8B.
pub const LLAMA_8B: Scale = Scale { name: "8b", width: 4096, hidden: 14_336, heads: [32, 8, 128], ..LLAMA_1B };

/// The most sets of weights and caches in a plan.
const COPIES: u64 = 32;
/// Places of a sequence: one page.
const PAGE: usize = 8192;
/// A kernel on a case.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The op or the region.
    pub op: String,
    /// The kernel.
    pub kernel: &'static str,
    /// The format of its matrices or caches, if it reads any.
    pub format: Option<DType>,
    /// Rows of the step.
    pub rows: usize,
    /// The difference from the definition, or the error.
    pub fault: Option<String>,
    /// The time of a step of the plan, with its part of the time of the host.
    pub time: Duration,
    /// Bytes of operands and results.
    pub bytes: u64,
    /// Additions and multiplications.
    pub flops: u64,
}

/// Runs every kernel of an engine that takes such a case, with matrices of these formats; `told` hears of each.
pub fn run(engine: &dyn Engine, scale: &Scale, formats: &[DType], mut told: impl FnMut(Measured)) {
    products(engine, scale, formats, &mut told);
    run_all(engine, scale, others(scale), &mut told);
}

/// The same with only the kernels that read matrices, format by format.
pub fn products(engine: &dyn Engine, scale: &Scale, formats: &[DType], mut told: impl FnMut(Measured)) {
    formats.iter().for_each(|format| run_all(engine, scale, of_format(scale, *format), &mut told));
}

fn run_all(engine: &dyn Engine, scale: &Scale, cases: Vec<Large>, told: &mut impl FnMut(Measured)) {
    for large in cases {
        let mut kept = Kept::default();
        for rows in scale.rows {
            large.run(engine, scale, rows, &mut kept, told);
        }
    }
}

/// The weights of a case, which are the same for all rows and kernels.
#[derive(Default)]
struct Kept {
    /// By operand.
    values: BTreeMap<usize, Array>,
    /// Loaded in a layout for an arithmetic.
    loaded: Vec<(Layout, Numerics, Weights)>,
}

impl Scale {
    fn cols(&self) -> Cols {
        let kv = self.heads[1] * self.heads[2];
        Cols { x: self.width, outs: [self.hidden, kv, kv], encoded: self.hidden }
    }

    /// The bucket of steps of so many rows.
    fn bucket(&self, engine: &dyn Engine, rows: usize) -> Option<Sizes> {
        let caps = engine.caps();
        let (bucket_rows, logits) = (bucket(&caps.rows, rows)?, bucket(&caps.logit_rows, self.logits(rows))?);
        Some(Sizes { rows: bucket_rows, logit_rows: logits, slots: Slots::new([PAGE, PAGE, 0, 0]) })
    }

    fn logits(&self, rows: usize) -> usize {
        if rows <= 8 { rows } else { 1 }
    }

    /// The first position of a step.
    fn first(&self, rows: usize) -> usize {
        if rows <= 8 { self.depth } else { 0 }
    }

    /// The words of a step of one sequence, whose only page is the first.
    fn step(&self, rows: usize, chain: &Chain) -> Vec<u32> {
        let mut sampler = Vec::new();
        Sampler::encode(1, self.first(rows), chain, &mut sampler);
        let mut buffer = StepBuffer::with_capacity(PAGE, rows, 2, sampler.len());
        let tokens = vec![0; rows];
        let logits = if rows <= 8 { LogitWish::All } else { LogitWish::Last };
        buffer.push(&SeqStep { slot: 0, tokens: &tokens, tables: &[&[0], &[0]], logits, sampler: Some(&sampler) });
        buffer.encode(0, self.logits(rows)).to_vec()
    }

    /// Token, position and sequence of each row.
    fn rows(&self, rows: usize, random: &mut Random) -> Array {
        let row = |i| [random.below(TOKENS) as u32, (self.first(rows) + i) as u32, 0];
        Array::from_u32(ROWS.cols, (0..rows).flat_map(row).collect())
    }
}

/// Weights that a plan has several times, under names with a number behind a dot.
struct Repeated<'a>(&'a MadeWeights);

impl WeightSource for Repeated<'_> {
    fn info(&self, name: &str) -> Option<WeightInfo> {
        self.0.info(name.split('.').next().unwrap_or(name))
    }
    fn bytes(&self, name: &str) -> Result<WeightBytes, SourceError> {
        self.0.bytes(name.split('.').next().unwrap_or(name))
    }
}

impl Large {
    /// All kernels on the case with so many rows.
    fn run(&self, engine: &dyn Engine, scale: &Scale, rows: usize, kept: &mut Kept, told: &mut impl FnMut(Measured)) {
        let cols = scale.cols();
        let (Some(case), Some(few)) = ((self.make)(rows, cols), (self.make)(rows, sampled(cols, rows))) else { return };
        let Some(bucket) = scale.bucket(engine, rows) else { return };
        let ins: Vec<Type> = case.operands.iter().map(Operand::ty).collect();
        let weights = case.operands.iter().filter(|operand| matches!(operand, Operand::Weight(_)));
        let weights: Vec<Type> = weights.map(Operand::ty).collect();
        let (mut found, _) = candidates(engine, &case.op, &ins, &weights, bucket.rows);
        if let Op::Region(region) = &case.op {
            found.retain(|(kernel, _)| regions::fits(kernel, &region.body));
        }
        let Ok(outs) = case.op.infer(&ins) else { return };
        let reached = Sizes { rows, logit_rows: scale.logits(rows), slots: Slots::new([scale.first(rows) + rows; 4]) };
        let cost = case.op.cost(&ins, &outs, &reached);
        for (kernel, layout) in found {
            let mut asked = Asked { engine, scale, case: &case, few: &few, kernel, layout, bucket, kept };
            let (time, fault) = match asked.measure() {
                Ok((time, fault)) => (time, fault),
                Err(Stop::Skipped(_)) => continue,
                Err(Stop::Failed(fault)) => (Duration::ZERO, Some(fault)),
            };
            let op = match &case.op {
                Op::Region(region) => region.name.clone(),
                op => op.name().to_owned(),
            };
            let (bytes, flops) = (cost.bytes, cost.flops);
            told(Measured { op, kernel: kernel.name, format: self.format, rows, fault, time, bytes, flops });
        }
    }
}

/// A kernel that is asked a case.
struct Asked<'a> {
    engine: &'a dyn Engine,
    scale: &'a Scale,
    case: &'a Case,
    few: &'a Case,
    kernel: &'a Kernel,
    layout: Layout,
    bucket: Sizes,
    kept: &'a mut Kept,
}

impl Asked<'_> {
    /// The time of a step, and the difference from the definition.
    fn measure(&mut self) -> Result<(Duration, Option<String>), Stop> {
        let (case, rows) = (self.case, self.case.rows);
        let mut random = Random::new(1);
        let words = self.scale.step(rows, &case.chain);
        let sizes = StepView::new(&words)?.sizes(self.bucket.slots);
        let mut values: Vec<Array> = Vec::new();
        for (i, operand) in case.operands.iter().enumerate() {
            let value = match operand {
                Operand::Weight(ty) => {
                    self.kept.values.entry(i).or_insert_with(|| matrix(ty, &mut Random::new(i as u64))).clone()
                }
                Operand::Values(ty) => random.array(ty, &sizes),
                Operand::History(tokens) => {
                    let places = HISTORY.rows.at(&sizes);
                    Array::from_u32(1, (0..places).map(|_| random.below(*tokens) as u32).collect())
                }
                _ => self.scale.rows(rows, &mut random),
            };
            let encodes = self.kernel.activations.filter(|_| i == 0 && matches!(case.op, Op::Linear(_)));
            values.push(encodes.map_or(value.clone(), |to| encoded(&value, to)));
        }
        let (mut rig, outs) = self.rig(&values)?;
        rig.submit(&words)?;
        let parts: Arrays = values.iter().zip(&self.few.operands).map(|(v, few)| part(v, &few.ty())).collect();
        let expected = self.few.op.eval(&StepView::new(&words)?, parts);
        let tolerance = stepwise::bound(self.kernel);
        let read = |(expected, place): (&Array, &Place)| {
            let found = rig.read(place.region, &place.ty, &sizes)?;
            let all = expected.cols() == found.cols();
            Ok(if all { found } else { with_columns(&found, &columns(found.cols(), expected.cols())) })
        };
        let mut found = expected.iter().zip(&outs).map(read).collect::<Result<Vec<Array>, Stop>>()?;
        settle(&case.op, &expected, &mut found);
        let mut fault = None;
        for (expected, found) in expected.iter().zip(&found) {
            let rounding = if tolerance > 0.0 { rounding(expected.dtype()) } else { 0.0 };
            fault = fault.or_else(|| difference(expected, found, tolerance.max(rounding)));
        }
        Ok((self.time(&mut rig)?, fault))
    }

    /// The plan with these operands, ready to run, and the places of its results.
    fn rig(&mut self, values: &[Array]) -> Result<(Rig, Vec<Place>), Stop> {
        let (case, kernel) = (self.case, self.kernel);
        let types =
            case.operands.iter().zip(values).map(|(operand, value)| Type { dtype: value.dtype(), ..operand.ty() });
        let types: Vec<Type> = types.collect();
        let results = case.op.infer(&types)?;
        let numerics = kernel.member("linear").unwrap_or(kernel.numerics);
        let read =
            case.operands.iter().zip(values).filter(|(o, v)| matches!(o, Operand::Weight(_)) || v.cache().heads > 1);
        let read: u64 = read.map(|(_, value)| value.bytes().len() as u64).sum();
        let copies = self.scale.bytes.checked_div(read).unwrap_or(self.scale.bytes >> 24).clamp(1, COPIES);

        let mut plan = PlanBuilder::new("large", self.bucket);
        let mut inputs: Vec<(Region, &Array)> = Vec::new();
        let mut ports = [Port::HIDDEN, Port::LOGITS, Port::RECORDS, Port::ROWS, Port::SCORES].into_iter();
        let mut port = || ports.next().ok_or_else(|| Stop::Skipped("more operands than ports".to_owned()));
        let mut shared: Vec<Option<Place>> = Vec::new();
        for ((operand, value), ty) in case.operands.iter().zip(values).zip(&types) {
            shared.push(match operand {
                Operand::Weight(_) => None,
                _ if ty.state => None,
                _ => {
                    let port = port()?;
                    inputs.push((Region::Port(port), value));
                    Some(plan.port(port, *ty))
                }
            });
        }
        let mut into = Vec::new();
        for ty in results.iter().filter(|ty| !ty.state) {
            into.push(plan.port(port()?, *ty));
        }
        let mut outs = Vec::new();
        for copy in 0..copies {
            let mut ins = Vec::new();
            for (i, (value, ty)) in values.iter().zip(&types).enumerate() {
                ins.push(match shared[i] {
                    Some(place) => place,
                    None if ty.state => {
                        let place = plan.state(&format!("s{i}.{copy}"), *ty);
                        inputs.push((place.region, value));
                        place
                    }
                    None => {
                        let layout = if value.rows() == 1 { Layout::FILE } else { self.layout };
                        plan.weight(&format!("w{i}.{copy}"), *ty, layout, numerics)
                    }
                });
            }
            let how = How::by(kernel, &case.op, &types, self.bucket, self.engine.caps())?;
            outs = plan.step(how, case.op.clone(), &ins, &into)?;
        }
        let plan = Arc::new(plan.finish());
        let loaded = self.weights(numerics, &plan.interface)?;
        let mut rig = Rig::on(self.engine, &plan, loaded)?;
        inputs.into_iter().try_for_each(|(region, value)| rig.write(region, value))?;
        Ok((rig, outs))
    }

    /// The weights, loaded once for all kernels that read them in one layout.
    fn weights(&mut self, numerics: Numerics, interface: &Interface) -> Result<Weights, Stop> {
        let known = self.kept.loaded.iter().find(|known| (known.0, known.1) == (self.layout, numerics));
        if let Some((_, _, loaded)) = known {
            return Ok(loaded.clone());
        }
        let mut made = MadeWeights::default();
        self.kept.values.iter().for_each(|(i, value)| made.insert(&format!("w{i}"), value));
        let loaded = self.engine.load(&Repeated(&made), &interface.weights, &NoProgress)?;
        self.kept.loaded.push((self.layout, numerics, loaded.clone()));
        Ok(loaded)
    }

    /// The shortest time of a step in three runs.
    fn time(&self, rig: &mut Rig) -> Result<Duration, Stop> {
        let steps = rig.executable.plan().steps.len() as u32;
        let run = |rig: &mut Rig, submits: u32| -> Result<Duration, Stop> {
            let begun = Instant::now();
            let mut ticket = None;
            for _ in 0..submits {
                ticket = Some(rig.queue.submit(&rig.executable, &[])?);
            }
            ticket.map_or(Ok(()), |ticket| rig.queue.wait(ticket))?;
            Ok(begun.elapsed())
        };
        let (mut submits, mut time) = (1, run(rig, 1)?);
        while time < self.scale.time {
            submits *= 2;
            time = run(rig, submits)?;
        }
        for _ in 0..2 {
            time = time.min(run(rig, submits)?);
        }
        Ok(time / (submits * steps))
    }
}

#[cfg(test)]
mod tests;
