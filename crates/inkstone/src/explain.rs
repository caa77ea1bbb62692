//! What a model runs as: the steps of a plan, the kernel of each and why others were refused.

use crate::{Error, Model, Result};
use inkstone_compute::{Caps, Kernel, Layout, Plan, Region, Registry, Step, WeightSlot, huge_pages};
use inkstone_generate::Footprint;
use inkstone_graph::{Kind, Report};
use inkstone_tensor::{DType, Op, Sizes, Type};

/// Ops that all engines share, by design: bookkeeping of a few words, and sampling, which has one definition.
const SHARED: &[&str] = &["begin_step", "sample", "score", "accept", "advance"];

/// Which plan is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// So many sequences draw a token each.
    Decode(usize),
    /// So many tokens of a prompt.
    Prefill(usize),
}

/// What a model runs as. Figures are for the sizes, with the context full.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// What the engine can do: name, instruction sets, threads, memory.
    pub engine: Caps,
    /// Bytes of this process that lie in huge pages, where the system says so.
    pub huge_pages: Option<u64>,
    /// Bytes that the model takes.
    pub memory: Footprint,
    /// Tokens and logits of a step, and tokens in the caches.
    pub sizes: Sizes,
    /// The plan itself.
    pub plan: Plan,
    /// Its steps, in order.
    pub steps: Vec<ExplainedStep>,
    /// What the passes of the compiler did for this plan, and why they did not do more.
    pub report: Report,
    /// The same over all plans of the model.
    pub whole_report: Report,
}

/// A step of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ExplainedStep {
    /// The op or region.
    pub op: String,
    /// Index of the layer that it belongs to; none before the first and after the last.
    pub layer: Option<usize>,
    /// The weights that it reads.
    pub weights: Vec<ExplainedWeight>,
    /// The kernel that does it.
    pub kernel: String,
    /// The instruction set that the kernel is compiled for; none: copies, bookkeeping, and what is a fault of the kernel.
    pub isa: Option<&'static str>,
    /// The arithmetic of the result; of a region that of each kind of member.
    pub numerics: Vec<&'static str>,
    /// Bytes read and written at least once.
    pub bytes: u64,
    /// Additions and multiplications.
    pub flops: u64,
    /// Pieces that threads can do at once.
    pub tiles: usize,
    /// Kernels that were refused, and why.
    pub refused: Vec<String>,
    /// It computes, and its kernel uses no instruction set although the engine has one.
    pub scalar: bool,
}

/// A weight that a step reads.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ExplainedWeight {
    /// Its name in the file.
    pub name: String,
    /// Its format.
    pub dtype: DType,
    /// How it lies in memory.
    pub layout: Layout,
    /// Whether it has more than one row: a vector has no layout to choose.
    pub matrix: bool,
}

impl Model {
    /// What a step of this kind runs as.
    ///
    /// ```no_run
    /// let model = inkstone::Model::open("model.gguf")?;
    /// for step in model.explain(inkstone::Phase::Decode(1))?.steps {
    ///     println!("{} by {}: {} bytes", step.op, step.kernel, step.bytes);
    /// }
    /// # Ok::<(), inkstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// More sequences or tokens than a step has room for, or none.
    pub fn explain(&self, phase: Phase) -> Result<Explanation> {
        let compiled = self.generator().compiled();
        let most = compiled.largest();
        let (rows, logit_rows, room, kinds) = match phase {
            Phase::Decode(n) => (n, n, most.rows.min(most.logit_rows), Kind::DRAW),
            Phase::Prefill(n) => (n, 0, most.rows, Kind::CHUNK),
        };
        if rows == 0 || rows > room {
            let (option, allowed) = ("rows", format!("1 to {room}"));
            return Err(Error::Option { option, value: rows.to_string(), allowed });
        }
        let plan = compiled.step(rows, logit_rows, kinds).map_err(inkstone_generate::Error::from)?;
        let sizes = Sizes { rows, logit_rows, slots: self.config().context };
        let engine = self.engine().caps().clone();
        Ok(Explanation {
            huge_pages: huge_pages(),
            memory: self.generator().footprint(),
            steps: steps(&plan, &sizes, self.engine().registry(), &engine),
            report: compiled.report_of(&plan, kinds),
            whole_report: compiled.report().clone(),
            engine,
            sizes,
            plan,
        })
    }
}

fn steps(plan: &Plan, sizes: &Sizes, registry: &Registry, caps: &Caps) -> Vec<ExplainedStep> {
    let mut layer = None;
    let explained = plan.steps.iter().map(|step| {
        layer = self::layer(plan, step, layer);
        let kernel = registry.get(&step.kernel);
        let isa = kernel.and_then(|k| k.requires.iter().copied().find(|f| caps.features.contains(f)));
        let types = |write| step.args.iter().filter(move |a| a.write == write).map(|a| a.ty);
        let (ins, outs): (Vec<Type>, Vec<Type>) = (types(false).collect(), types(true).collect());
        let cost = step.op.cost(&ins, &outs, sizes);
        ExplainedStep {
            op: step.op.name().to_owned(),
            layer,
            weights: slots(plan, step).map(explained_weight).collect(),
            kernel: step.kernel.clone(),
            isa,
            numerics: kernel.map_or_else(Vec::new, |k| numerics(k, &step.op)),
            bytes: cost.bytes,
            flops: cost.flops,
            tiles: step.grid.tiles(sizes),
            refused: step.refused.clone(),
            scalar: isa.is_none() && !caps.features.is_empty() && cost.flops > 0 && !SHARED.contains(&step.op.name()),
        }
    });
    explained.collect()
}

/// The weights among a step's operands.
fn slots<'p>(plan: &'p Plan, step: &'p Step) -> impl Iterator<Item = &'p WeightSlot> {
    step.ins().filter_map(|a| match a.region {
        Region::Weight(id) => plan.interface.weights.get(id as usize),
        _ => None,
    })
}

fn explained_weight(slot: &WeightSlot) -> ExplainedWeight {
    let WeightSlot { name, ty, layout, .. } = slot;
    let matrix = ty.rows != inkstone_tensor::Dim::N(1);
    ExplainedWeight { name: name.to_string(), dtype: ty.dtype, layout: *layout, matrix }
}

/// That of the op, or of the members of a region, each once.
fn numerics(kernel: &Kernel, op: &Op) -> Vec<&'static str> {
    let Op::Region(region) = op else { return vec![kernel.numerics.0] };
    let mut all: Vec<&'static str> = Vec::new();
    for node in &region.body.nodes {
        let own = kernel.member(node.op.name()).unwrap_or(kernel.numerics).0;
        if !all.contains(&own) {
            all.push(own);
        }
    }
    all
}

/// The layer of a step: that of the weights and states that it names, none if these are of no layer. A step that names
/// nothing belongs to the layer before it.
fn layer(plan: &Plan, step: &Step, before: Option<usize>) -> Option<usize> {
    let states = step.args.iter().filter_map(|a| match a.region {
        Region::State(id) => plan.interface.states.get(id as usize).map(|s| &*s.name),
        _ => None,
    });
    let names: Vec<&str> = slots(plan, step).map(|w| &*w.name).chain(states).collect();
    if names.is_empty() { before } else { names.into_iter().find_map(layer_of) }
}

/// The number in a name: 3 of `blk.3.attn_q.weight`.
fn layer_of(name: &str) -> Option<usize> {
    name.split('.').nth(1)?.parse().ok()
}
