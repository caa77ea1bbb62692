//! Cases of one op: a plan of one step, its operands in ports, states and weights, its results in ports and states. The
//! op may be a region; then a second plan has a step for each of its members.

use super::cases::{Case, Operand};
use super::host::settle;
use super::plan::{How, Place, PlanBuilder};
use super::rig::{MadeWeights, Rig};
use super::values::{Random, difference};
use super::{CaseResult, Outcome, Stop, bucket, candidates, regions, rounding, stepwise};
use crate::Result;
use crate::engine::Engine;
use crate::kernel::{Kernel, Layout, Numerics};
use crate::plan::{Port, Region};
use inkstone_tensor::body::{Body, Node, ValueId};
use inkstone_tensor::op::{Arrays, Mismatch};
use inkstone_tensor::ops::HISTORY;
use inkstone_tensor::step::{LogitWish, NONE, ROWS, Row, Sampler, SeqStep, StepBuffer, StepView};
use inkstone_tensor::{Array, Dim, Op, Sizes, Slots, Type};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The ports for operands that are neither weights nor states, then for results.
const PORTS: [Port; 5] = [Port::HIDDEN, Port::LOGITS, Port::RECORDS, Port::ROWS, Port::SCORES];
/// Positions that rows are made up for.
const POSITIONS: usize = 5000;
/// Tokens per page: each of the sequences has one page.
const PAGE: usize = 8192;
const SEQUENCES: usize = 3;

/// The results of all kernels that take the case.
pub(super) fn run(engine: &dyn Engine, case: &Case) -> Vec<CaseResult> {
    let name = case.name();
    let seed = Random::seed(&name);
    let result = |kernels: &str, outcome| {
        let (case, kernels) = (name.clone(), kernels.to_owned());
        CaseResult { case, kernels, seed, host: 0, outcome }
    };
    let Some(bucket) = sizes(engine, case.rows) else {
        let most = engine.caps().rows.iter().max().copied().unwrap_or(0);
        return vec![result("", Outcome::Skipped(format!("{} rows > {most}", case.rows)))];
    };
    let weights: Vec<Type> =
        case.operands.iter().filter(|o| matches!(o, Operand::Weight(_))).map(Operand::ty).collect();
    let ins: Vec<Type> = case.operands.iter().map(Operand::ty).collect();
    let (mut found, refusals) = candidates(engine, &case.op, &ins, &weights, bucket.rows);
    if let Op::Region(region) = &case.op {
        // Regions dissolve where no kernel does them.
        found.retain(|(kernel, _)| regions::fits(kernel, &region.body));
    } else if found.is_empty() {
        return vec![result("", Outcome::Skipped(refusals))];
    }
    // The first results of each numerics, and whose they are.
    let mut firsts: Vec<(Numerics, String, Vec<Array>)> = Vec::new();
    let matrices = weights.iter().any(|w| w.rows != Dim::N(1));
    let by_kernel = found.iter().map(|(kernel, layout)| {
        let who = if matrices { format!("{} in {layout}", kernel.name) } else { kernel.name.to_owned() };
        let asked = Asked { engine, case, kernel, layout: *layout, bucket, seed };
        let mut host = 0;
        let compared = asked.results(&mut host).and_then(|results| {
            let numerics = kernel.numerics;
            match firsts.iter().find(|(n, ..)| *n == numerics && !matches!(case.op, Op::Region(_))) {
                Some((_, first, wanted)) => equal(first, wanted, &results),
                None => {
                    firsts.push((numerics, who.clone(), results));
                    Ok(())
                }
            }
        });
        CaseResult { host, ..result(&who, compared.err().map_or(Outcome::Passed, Stop::outcome)) }
    });
    by_kernel.collect()
}

/// The same bits as another kernel's.
fn equal(first: &str, wanted: &[Array], found: &[Array]) -> Result<(), Stop> {
    let fault = wanted.iter().zip(found).find_map(|(a, b)| difference(a, b, 0.0));
    fault.map_or(Ok(()), |fault| Err(Stop::Failed(format!("other bits than {first}, of one numerics: {fault}"))))
}

/// The bucket of a case. Every row may want logits.
pub(super) fn sizes(engine: &dyn Engine, rows: usize) -> Option<Sizes> {
    let caps = engine.caps();
    let (rows, logit_rows) = (bucket(&caps.rows, rows)?, bucket(&caps.logit_rows, rows)?);
    // A page more in group 1, so that the places of one group are not those of the other.
    let slots = Slots::new([SEQUENCES * PAGE, (SEQUENCES + 1) * PAGE, 0, 0]);
    Some(Sizes { rows, logit_rows, slots })
}

/// A kernel that is asked a case.
pub(super) struct Asked<'a> {
    pub(super) engine: &'a dyn Engine,
    pub(super) case: &'a Case,
    pub(super) kernel: &'a Kernel,
    pub(super) layout: Layout,
    pub(super) bucket: Sizes,
    pub(super) seed: u64,
}

/// A plan without steps, and what its operands are.
struct Setup {
    plan: PlanBuilder,
    weights: MadeWeights,
    inputs: Vec<(Region, Array)>,
    places: Vec<Place>,
    values: Arrays,
    ports: std::array::IntoIter<Port, 5>,
    words: Vec<u32>,
}

impl Asked<'_> {
    /// How the case ends on the kernel.
    pub(super) fn result(&self) -> CaseResult {
        let mut host = 0;
        let outcome = self.results(&mut host).err().map_or(Outcome::Passed, Stop::outcome);
        CaseResult { case: self.case.name(), kernels: self.kernel.name.to_owned(), seed: self.seed, host, outcome }
    }

    /// The results of the kernel for the case. They must be within the tolerance of the definition; the results of a
    /// region must have the bits of the kernels of its members. Counts the draws that the kernel leaves to the host, whose
    /// results are the definition's.
    pub(super) fn results(&self, host: &mut usize) -> Result<Vec<Array>, Stop> {
        let setup = self.setup()?;
        let (words, values) = (setup.words.clone(), setup.values.clone());
        let body = alone(&self.case.op, &setup.places)?;
        let mut found = setup.run(self, &body, &[self.kernel])?;
        let expected = self.case.op.eval(&StepView::new(&words)?, values);
        *host += settle(&self.case.op, &expected, &mut found);
        let tolerance = stepwise::bound(self.kernel);
        for (expected, found) in expected.iter().zip(&found) {
            let rounding = if tolerance > 0.0 { rounding(expected.dtype()) } else { 0.0 };
            if let Some(fault) = difference(expected, found, tolerance.max(rounding)) {
                return Err(Stop::Failed(fault));
            }
        }
        if let Op::Region(region) = &self.case.op
            && let Some(members) = regions::members(self.engine, self.kernel, self.layout, &region.body, self.bucket)
        {
            equal("its members", &self.setup()?.run(self, &region.body, &members)?, &found)?;
        }
        Ok(found)
    }

    /// The case on the kernel, ready to run, and the words of its step.
    pub(super) fn rig(&self) -> Result<(Rig, Vec<u32>), Stop> {
        let setup = self.setup()?;
        let words = setup.words.clone();
        let body = alone(&self.case.op, &setup.places)?;
        let (rig, _) = setup.rig(self, &body, &[self.kernel])?;
        Ok((rig, words))
    }

    fn setup(&self) -> Result<Setup, Stop> {
        let Asked { case, kernel, layout, bucket, seed, .. } = *self;
        let mut random = Random::new(seed);
        let words = step(case, &mut random);
        let view = StepView::new(&words)?;
        let sizes = view.sizes(bucket.slots);

        let mut plan = PlanBuilder::new("case", bucket);
        let (mut weights, mut inputs, mut places, mut values) = (MadeWeights::default(), vec![], vec![], Arrays::new());
        let mut ports = PORTS.into_iter();
        for (i, operand) in case.operands.iter().enumerate() {
            let mut ty = operand.ty();
            let mut value = fill(operand, &view, &sizes, &mut random);
            if let Operand::Weight(ty) = operand {
                let name = format!("w{i}");
                let layout = if value.rows() == 1 { Layout::FILE } else { layout };
                weights.insert(&name, &value);
                places.push(plan.weight(&name, *ty, layout, kernel.member("linear").unwrap_or(kernel.numerics)));
            } else if ty.state {
                let place = plan.state(&format!("state{i}"), ty);
                places.push(place);
                inputs.push((place.region, value.clone()));
            } else {
                // A kernel that wants its activations in another dtype gets them so, as a compiler would do it.
                if let Some(to) = kernel.activations.filter(|_| i == 0 && matches!(case.op, Op::Linear(_))) {
                    if to.row_bytes(ty.cols).is_none() || to.info().encode.is_none() {
                        return Err(Stop::Skipped(format!("rows of {} are not whole blocks of {to}", ty.cols)));
                    }
                    (ty, value) = (Type { dtype: to, ..ty }, encoded(&value, to));
                }
                let port = next(&mut ports)?;
                places.push(plan.port(port, ty));
                inputs.push((Region::Port(port), value.clone()));
            }
            values.push(value);
        }
        Ok(Setup { plan, weights, inputs, places, values, ports, words })
    }
}

fn next(ports: &mut impl Iterator<Item = Port>) -> Result<Port, Stop> {
    ports.next().ok_or_else(|| Stop::Skipped(format!("more than {} operands and results", PORTS.len())))
}

/// An op as a body of one node.
fn alone(op: &Op, operands: &[Place]) -> Result<Body, Mismatch> {
    let types: Vec<Type> = operands.iter().map(|p| p.ty).collect();
    let mut body = Body::default();
    body.inputs = types.iter().map(|ty| body.value(*ty)).collect();
    body.outputs = op.infer(&types)?.iter().map(|ty| body.value(*ty)).collect();
    let (ins, outs) = (body.inputs.iter().copied().collect(), body.outputs.iter().copied().collect());
    body.nodes.push(Node { op: op.clone(), ins, outs });
    Ok(body)
}

impl Setup {
    /// The outputs of a body whose inputs are the operands, each of its nodes by a kernel.
    fn run(self, asked: &Asked, body: &Body, kernels: &[&Kernel]) -> Result<Vec<Array>, Stop> {
        let words = self.words.clone();
        let (mut rig, at) = self.rig(asked, body, kernels)?;
        rig.submit(&words)?;
        let sizes = StepView::new(&words)?.sizes(asked.bucket.slots);
        body.outputs.iter().map(|v| Ok(rig.read(at[v].region, &body.ty(*v), &sizes)?)).collect()
    }

    /// The prepared plan, with the places of its values.
    fn rig(mut self, asked: &Asked, body: &Body, kernels: &[&Kernel]) -> Result<(Rig, BTreeMap<ValueId, Place>), Stop> {
        let mut at: BTreeMap<ValueId, Place> = body.inputs.iter().copied().zip(self.places).collect();
        for v in body.outputs.iter().filter(|v| !body.ty(**v).state) {
            at.insert(*v, self.plan.port(next(&mut self.ports)?, body.ty(*v)));
        }
        for (node, kernel) in body.nodes.iter().zip(kernels) {
            let ins: Vec<Place> = node.ins.iter().map(|v| at[v]).collect();
            let types: Vec<Type> = ins.iter().map(|p| p.ty).collect();
            // Results that are not states come first.
            let into: Vec<Place> = node.outs.iter().map_while(|v| at.get(v).copied()).collect();
            let how = How::by(kernel, &node.op, &types, asked.bucket, asked.engine.caps())?;
            let made = self.plan.step(how, node.op.clone(), &ins, &into)?;
            at.extend(node.outs.iter().copied().zip(made));
        }
        let mut rig = Rig::new(asked.engine, &Arc::new(self.plan.finish()), &self.weights)?;
        self.inputs.iter().try_for_each(|(region, value)| rig.write(*region, value))?;
        Ok((rig, at))
    }
}

pub(super) fn encoded(value: &Array, to: inkstone_tensor::DType) -> Array {
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
            let tables = [1, 2].map(|next| [((slot + next) % (SEQUENCES + next - 1)) as u32]);
            buffer.push(&SeqStep {
                slot,
                tokens: &tokens,
                tables: &tables.each_ref().map(|t| &t[..]),
                logits,
                sampler: Some(&sampler),
            });
        }
    }
    let logits = buffer.logits().len();
    let first = random.below(logits);
    let count = 1 + random.below(logits - first);
    buffer.encode(first, count).to_vec()
}

fn fill(operand: &Operand, view: &StepView, sizes: &Sizes, random: &mut Random) -> Array {
    match *operand {
        Operand::Weight(ty) | Operand::Values(ty) => random.array(&ty, sizes),
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
            Array::from_u32(1, (0..HISTORY.rows.at(sizes)).map(|_| random.below(vocabulary) as u32).collect())
        }
        // One record is none, as of a row that draws nothing.
        Operand::Records(n) => {
            let record = |i| if i == 0 { NONE } else { random.below(n) as u32 };
            Array::from_u32(1, (0..sizes.logit_rows).map(record).collect())
        }
    }
}
