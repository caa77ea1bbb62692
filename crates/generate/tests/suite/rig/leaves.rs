//! What an engine leaves to the host.

use inkstone_compute::{Kernel, Pattern, ReferenceKernel, Registry};
use inkstone_tensor::op::Arrays;
use inkstone_tensor::sampling::ChainRef;
use inkstone_tensor::step::record::Record;
use inkstone_tensor::step::{self, Row, Sampler, StepView};
use inkstone_tensor::{Op, fnv1a};
use std::sync::Arc;

/// What an engine leaves to the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Leaves {
    Nothing,
    /// The draws by about one of two chains, which the engine refuses.
    Chains,
    /// Every draw: it refuses all chains.
    EveryChain,
    /// Some draws, at random, after the device has tried.
    Some,
    /// Every draw, after the device has tried.
    Every,
    /// The op of this name: there is no kernel.
    Op(&'static str),
}

impl Leaves {
    pub const ALL: [Leaves; 6] =
        [Leaves::Chains, Leaves::EveryChain, Leaves::Some, Leaves::Every, Leaves::Op("sample"), Leaves::Op("score")];

    /// Whether the engine draws by a chain.
    pub fn draws(self, chain: ChainRef) -> bool {
        match self {
            Leaves::Chains => fnv1a(chain.to_string().bytes()).is_multiple_of(2),
            Leaves::EveryChain => false,
            _ => true,
        }
    }

    /// The kernel that draws, if the device leaves draws to the host.
    pub(super) fn kernel(self) -> Option<Kernel> {
        let entry: ReferenceKernel = match self {
            Leaves::Some => {
                |op, step, ins| left(op, step, ins, |draw| fnv1a(draw.to_string().bytes()).is_multiple_of(3))
            }
            Leaves::Every => |op, step, ins| left(op, step, ins, |_| true),
            _ => return None,
        };
        Some(Kernel::by_definition("undecided", Pattern::Named("sample"), Arc::new(entry)))
    }

    /// The kernels that are left of a registry.
    pub(super) fn registry(self, registry: &Registry) -> Registry {
        let Leaves::Op(without) = self else { return registry.clone() };
        let named = |kernel: &Kernel| match kernel.implements {
            Pattern::Named(_) => vec![kernel.clone()],
            Pattern::AnyOp => OPS.map(|op| Kernel { implements: Pattern::Named(op), ..kernel.clone() }).to_vec(),
        };
        let kernels = registry.kernels.iter().flat_map(named);
        let kernels = kernels.filter(|kernel| kernel.implements != Pattern::Named(without)).collect();
        Registry { kernels, ..registry.clone() }
    }
}

/// The ops of a model.
const OPS: [&str; 16] = [
    "begin_step",
    "history_write",
    "embed",
    "rms_norm",
    "linear",
    "rope",
    "kv_write",
    "kv_copy",
    "attend",
    "add",
    "map",
    "advance",
    "gather_rows",
    "accept",
    "sample",
    "score",
];

/// The records of the definition, of which some say that the host draws. Which ones follows from seed and index.
fn left(op: &Op, step: &StepView, ins: Arrays, leaves: impl Fn(u64) -> bool) -> Arrays {
    let rows: Vec<Row> = step::rows(ins[1].all()).collect();
    let mut outs = op.eval(step, ins);
    for (logits, record) in step.logits.iter().zip(outs[0].all_mut::<u32>()) {
        let row = rows[logits.row as usize];
        let Some(words) = step.sampler(row.seq as usize) else { continue };
        let sampler = Sampler::decode(words).expect("a sampler");
        if leaves(sampler.seed << 8 | sampler.draw_after(row.position as usize).index) {
            *record = Record::Host.encode();
        }
    }
    outs
}
