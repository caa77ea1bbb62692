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

use super::cases::{Case, Operand};
use super::host::settle;
use super::plan::{How, Place, PlanBuilder};
use super::regions::{self, ADD, Cols, GATE};
use super::rig::{MadeWeights, Rig};
use super::single::encoded;
use super::values::{Random, difference};
use super::{Stop, bucket, candidates, rounding, stepwise};
use crate::engine::{Engine, Weights};
use crate::kernel::{Kernel, Layout, Numerics};
use crate::plan::{Interface, Port, Region};
use inkstone_tensor::op::Arrays;
use inkstone_tensor::ops::{
    Attend, By, Columns, Embed, Expr, GatherRows, HISTORY, HistoryWrite, KvWrite, LayerNorm, Linear, Map, Pairs,
    Quantize, RmsNorm, Rope, Sample, Term,
};
use inkstone_tensor::sampling::{Chain, Stage};
use inkstone_tensor::step::{LogitWish, ROWS, Sampler, SeqStep, StepBuffer, StepView};
use inkstone_tensor::{
    Array, DType, Dim, NoProgress, Op, Sizes, Slots, SourceError, Type, WeightBytes, WeightInfo, WeightSource,
};
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

/// Columns of a result that are compared, in groups of [`GROUP`]: of up to eight rows, and of more.
const SAMPLED: [usize; 2] = [160, 64];
/// Neighbouring columns: a block of every format of results.
const GROUP: usize = 32;
/// Rows of a matrix that differ; the others repeat them, because so many random values would take long. It is prime, so that
/// rows of panels and tiles differ.
const DISTINCT: usize = 61;
/// The most sets of weights and caches in a plan.
const COPIES: u64 = 32;
/// Places of a sequence: one page.
const PAGE: usize = 8192;
/// Rows of tables of embeddings, and tokens of histories.
const TOKENS: usize = 8192;

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

/// Makes a case for a number of rows.
type Make = Box<dyn Fn(usize, Cols) -> Option<Case>>;

/// A case for any number of rows and for sampled columns.
struct Large {
    format: Option<DType>,
    make: Make,
}

/// The weights of a case, which are the same for all rows and kernels.
#[derive(Default)]
struct Kept {
    /// By operand.
    values: BTreeMap<usize, Array>,
    /// Loaded in a layout for an arithmetic.
    loaded: Vec<(Layout, Numerics, Weights)>,
}

fn case(format: Option<DType>, make: impl Fn(usize, Cols) -> Option<Case> + 'static) -> Large {
    Large { format, make: Box::new(make) }
}

fn values(cols: usize) -> Operand {
    Operand::Values(Type::f32(Dim::Rows, cols))
}

fn weight(dtype: DType, rows: usize, cols: usize) -> Operand {
    Operand::Weight(Type::new(dtype, Dim::N(rows), cols))
}

/// The cases that read matrices of a format.
fn of_format(scale: &Scale, format: DType) -> Vec<Large> {
    let width = scale.width;
    let to = (format.block() > 1).then_some(DType::Q8_A);
    let linear =
        move |rows, cols: Cols| Case::new(Linear, rows, &[values(cols.x), weight(format, cols.outs[0], cols.x)]);
    let embed =
        move |rows| Case::new(Embed { by: By::Token }, rows, &[Operand::Rows(TOKENS), weight(format, TOKENS, width)]);
    let format = Some(format);
    vec![
        case(format, move |rows, cols| Some(linear(rows, cols))),
        case(format, move |rows, cols| Some(regions::norm_glu(rows, format?, to, true, cols))),
        case(format, move |rows, cols| Some(regions::linear_map(rows, format?, to, false, cols))),
        case(format, move |rows, cols| Some(regions::norm_linear(rows, format?, to, cols))),
        case(format, move |rows, cols| Some(regions::glu(rows, format?, to, true, cols))),
        case(format, move |rows, cols| Some(regions::norm_linear_map(rows, format?, to, cols))),
        case(format, move |rows, _| Some(embed(rows))),
    ]
}

/// All other cases.
fn others(scale: &Scale) -> Vec<Large> {
    let Scale { width, vocabulary, heads: [heads, kv_heads, dim], .. } = *scale;
    let few = |rows: usize| rows <= 8;
    let mut all = Vec::new();
    for format in [DType::F16, DType::Q8_0] {
        let cache = move || Operand::Values(Type::cache(0, format, kv_heads, dim));
        all.push(case(Some(format), move |rows, _| {
            let attend = Attend { heads, kv_heads, scale: 0.125 };
            Some(Case::new(attend, rows, &[values(heads * dim), cache(), cache(), Operand::Rows(TOKENS)]))
        }));
        for norms in [false, true] {
            all.push(case(Some(format), move |rows, _| {
                Some(regions::attend_of(rows, format, norms, [heads, kv_heads, dim]))
            }));
        }
        all.push(case(Some(format), move |rows, _| {
            Some(Case::new(KvWrite, rows, &[cache(), values(kv_heads * dim), Operand::Rows(TOKENS)]))
        }));
    }
    let frequencies: Arc<[f64]> = (0..dim / 2).map(|i| 0.9f64.powi(i as i32)).collect();
    let rope = Rope { head_dim: dim, frequencies, magnitude: 1.0, pairs: Pairs::Halves };
    let norm = move || weight(DType::F32, 1, width);
    all.extend([
        case(None, move |rows, cols| Some(regions::norm_quantize(rows, Cols { x: width, ..cols }))),
        case(None, move |rows, _| Some(Case::new(RmsNorm { eps: 1e-5 }, rows, &[values(width), norm()]))),
        case(None, move |rows, _| Some(Case::new(LayerNorm { eps: 1e-5 }, rows, &[values(width), norm(), norm()]))),
        case(None, move |rows, _| Some(Case::new(rope.clone(), rows, &[values(heads * dim), Operand::Rows(TOKENS)]))),
        case(None, move |rows, _| Some(Case::new(map(&GATE), rows, &[values(width), values(width)]))),
        case(None, move |rows, _| Some(Case::new(map(&ADD), rows, &[values(width), values(width)]))),
        case(None, move |rows, _| Some(Case::new(Quantize { to: DType::Q8_A }, rows, &[values(width)]))),
        case(None, move |rows, _| few(rows).then(|| Case::new(GatherRows, rows, &[values(width)]))),
        case(None, move |rows, _| Some(Case::new(Columns { first: 0, count: width / 2 }, rows, &[values(width)]))),
        case(None, |rows, _| Some(Case::new(HistoryWrite, rows, &[Operand::History(TOKENS), Operand::Rows(TOKENS)]))),
        case(None, move |rows, _| {
            let logits = Operand::Values(Type::f32(Dim::LogitRows, vocabulary));
            let operands = [logits, Operand::Rows(TOKENS), Operand::History(TOKENS)];
            let chain = vec![Stage::TopK(40), Stage::TopP(0.9), Stage::Temperature(0.8)];
            few(rows).then(|| Case { chain: Chain::in_order(chain.clone()), ..Case::new(Sample, rows, &operands) })
        }),
    ]);
    all
}

fn map(terms: &[Term]) -> Map {
    Map(Expr::new(terms))
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

/// The same with fewer columns of results.
fn sampled(cols: Cols, rows: usize) -> Cols {
    let few = SAMPLED[usize::from(rows > 8)];
    Cols { x: cols.x, outs: cols.outs.map(|n| n.min(few)), encoded: cols.encoded.min(few) }
}

/// The columns of `of` that are compared if only `few` are: groups from the first to the last.
fn columns(of: usize, few: usize) -> Vec<usize> {
    let (groups, last) = (few / GROUP, of / GROUP - 1);
    if few == of || groups < 2 {
        return (0..few).collect();
    }
    (0..groups).flat_map(|i| (0..GROUP).map(move |c| i * last / (groups - 1) * GROUP + c)).collect()
}

/// A matrix with only these columns, which are whole blocks.
fn with_columns(array: &Array, columns: &[usize]) -> Array {
    let (block, bytes) = (array.dtype().block(), array.dtype().block_bytes());
    let row = |r| {
        let row = array.row_bytes_of(r);
        columns.iter().step_by(block).flat_map(move |c| row[c / block * bytes..][..bytes].iter().copied())
    };
    let all: Vec<u8> = (0..array.rows()).flat_map(row).collect();
    Array::from_bytes(array.dtype(), columns.len(), &all).expect("whole blocks")
}

/// A matrix with only these rows.
fn with_rows(array: &Array, rows: &[usize]) -> Array {
    let all: Vec<&[u8]> = rows.iter().map(|r| array.row_bytes_of(*r)).collect();
    Array::from_bytes(array.dtype(), array.cols(), &all.concat()).expect("whole rows")
}

/// A matrix of random rows, which repeat.
fn matrix(ty: &Type, random: &mut Random) -> Array {
    let rows = ty.rows.at(&Sizes::default());
    let few = random.array(&Type { rows: Dim::N(rows.min(DISTINCT)), ..*ty }, &Sizes::default());
    with_rows(&few, &(0..rows).map(|r| r % DISTINCT).collect::<Vec<_>>())
}

/// The part of an operand that a case of fewer columns has.
fn part(value: &Array, few: &Type) -> Array {
    match few.rows {
        Dim::N(rows) if rows != value.rows() => with_rows(value, &columns(value.rows(), rows)),
        _ if few.cols != value.cols() => with_columns(value, &columns(value.cols(), few.cols)),
        _ => value.clone(),
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
