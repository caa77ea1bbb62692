//! The explanation of a plan: its steps, the kernel of each step, and the reasons why other kernels were rejected.

use crate::{Error, Model, Result};
use inkstone_compute::{Caps, Kernel, Layout, Plan, Region, Registry, Step, WeightSlot, huge_pages};
use inkstone_generate::{Footprint, Needs};
use inkstone_graph::{Report, Wants};
use inkstone_tensor::{DType, Group, Op, Sizes, Slots, Type};

/// Ops that all engines share: bookkeeping of a few words, and sampling, which has a single definition.
const SHARED: &[&str] = &["begin_step", "sample", "score", "accept", "advance"];

/// The plan to explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// A step in which this number of sequences draw one token each.
    Decode(usize),
    /// A step with this number of prompt tokens.
    Prefill(usize),
}

/// The explanation of a plan. Its figures apply to the given sizes, with a full context.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// The capabilities of the engine: name, instruction sets, threads, memory.
    pub engine: Caps,
    /// Bytes of this process in huge pages, if the system reports them.
    pub huge_pages: Option<u64>,
    /// The memory of the model.
    pub memory: Footprint,
    /// The memory that the model was found to need before anything was allocated, which determines the following sizes.
    pub needs: Needs,
    /// The largest step: its rows and logit rows, and the tokens of the cache, which all sequences share.
    pub largest: Sizes,
    /// The positions that the caches of each layer group keep. `largest` and `sizes` have the places of each group.
    pub groups: Vec<Group>,
    /// The tokens and logits of a step, and the tokens in the caches.
    pub sizes: Sizes,
    /// The plan itself.
    pub plan: Plan,
    /// Its steps, in order.
    pub steps: Vec<ExplainedStep>,
    /// The changes that the passes of the compiler made for this plan, and the reasons for changes that were not made.
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
    /// The kernel that computes it.
    pub kernel: String,
    /// The instruction set that the kernel is compiled for. `None` for copies, bookkeeping and kernels without vector
    /// code.
    pub isa: Option<&'static str>,
    /// The arithmetic of the result; for a region, of each kind of member.
    pub numerics: Vec<&'static str>,
    /// Bytes read and written at least once.
    pub bytes: u64,
    /// Additions and multiplications.
    pub flops: u64,
    /// Tiles that threads can compute in parallel.
    pub tiles: usize,
    /// Tiles of its first phase, which leave their results in the scratch before these tiles; 0: it has none.
    pub first_tiles: usize,
    /// Bytes of its scratch.
    pub scratch: u64,
    /// The rejected kernels, with reasons.
    pub refused: Vec<String>,
    /// Whether the step computes with a kernel without vector instructions although the engine has some.
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
    /// Its layout in memory.
    pub layout: Layout,
    /// Whether it has more than one row: a vector has no layout to choose.
    pub matrix: bool,
}

impl Model {
    /// Explains the plan of a step of this kind.
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
    /// The number of sequences or tokens is 0 or exceeds the limit of a step.
    pub fn explain(&self, phase: Phase) -> Result<Explanation> {
        let compiled = self.generator().compiled();
        let most = compiled.largest();
        let (rows, logit_rows, room, wants) = match phase {
            Phase::Decode(n) => (n, n, most.rows.min(most.logit_rows), compiled.decodes()),
            Phase::Prefill(n) => (n, 0, most.rows, Wants::CHUNK),
        };
        if rows == 0 || rows > room {
            let (option, allowed) = ("rows", format!("1 to {room}"));
            return Err(Error::Option { option, value: rows.to_string(), allowed });
        }
        let plan = compiled.step(rows, logit_rows, &wants.kinds()).map_err(inkstone_generate::Error::from)?;
        let sizes = Sizes { rows, logit_rows, slots: Slots::every_group(self.config().context) };
        let engine = self.engine().caps().clone();
        Ok(Explanation {
            huge_pages: huge_pages(),
            memory: self.generator().footprint(),
            needs: self.generator().needs().clone(),
            largest: most,
            groups: self.graph().config.groups(),
            steps: steps(&plan, &sizes, self.engine().registry(), &engine),
            report: compiled.report_of(&plan, &wants.kinds()),
            whole_report: compiled.report().clone(),
            engine,
            sizes,
            plan,
        })
    }
}

fn steps(plan: &Plan, sizes: &Sizes, registry: &Registry, caps: &Caps) -> Vec<ExplainedStep> {
    let mut layer = None;
    let has_sets = registry.kernels.iter().any(|kernel| !kernel.requires.is_empty());
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
            first_tiles: step.first.map_or(0, |first| first.tiles(sizes)),
            scratch: step.scratch.end.saturating_sub(step.scratch.start),
            refused: step.refused.clone(),
            scalar: isa.is_none() && has_sets && cost.flops > 0 && !SHARED.contains(&step.op.name()),
        }
    });
    explained.collect()
}

/// The weights among the operands of a step.
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

/// The distinct numerics of the op, or of the members of a region.
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

/// The layer of a step, taken from the names of its weights and states; `None` if they do not belong to a layer. A step
/// without weights and states belongs to the layer of the previous step.
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
