//! Memory of a worker. It is made as large as the plans need when they are prepared, so that no step allocates, whichever
//! worker comes to run a kernel for the first time.

use crate::kernels::Buffers;
use inkstone_compute::{Plan, Region};
use inkstone_tensor::sampling::Workspace;
use inkstone_tensor::{NoMemory, Op, Sizes};

/// Rows of a step up to which nothing is allocated; larger ones are chunks of prompts, which may let memory grow.
const ROWS: usize = 8;
/// Floats that every kernel can have: a block of attention with the widest heads is not more.
const LEAST: usize = 1 << 16;

/// Floats that lie in one line of the cache: loads of whole vectors then touch one line each.
#[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Line([f32; LINE]);

/// Floats of a line.
const LINE: usize = 16;

/// Memory that a worker keeps between tiles. It is another worker's in the next run, and what it holds when
/// [`Tile::first`](crate::Tile::first) is true is left over from any step.
#[derive(Default)]
pub struct Scratch {
    floats: Vec<Line>,
    /// Of products.
    pub(crate) products: Buffers,
    /// Of sampling.
    pub(crate) sampling: Workspace,
    /// Tokens of a sequence.
    pub(crate) ids: Vec<u32>,
}

/// What the steps of a plan need.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Need {
    floats: usize,
    /// Tokens of the vocabulary, and positions of a sequence, where rows are sampled.
    tokens: usize,
    positions: usize,
}

impl Need {
    /// Of a plan: as many floats as all that a step reads and writes but for weights and states, with some of their rows.
    pub(crate) fn of(plan: &Plan) -> Need {
        let bucket = plan.bucket;
        let few = Sizes { rows: bucket.rows.min(ROWS), logit_rows: bucket.logit_rows.min(ROWS), ..bucket };
        let mut need = Need { floats: LEAST, ..Need::default() };
        for step in &plan.steps {
            let floats = step.args.iter().filter(|a| !a.ty.state).map(|a| match a.region {
                Region::Weight(_) => a.ty.cols.saturating_mul(ROWS),
                _ => (a.ty.bytes(&few) / 4) as usize,
            });
            need.floats = need.floats.max(floats.fold(LEAST, usize::saturating_add));
            if let Op::Sample(_) = step.op {
                need.tokens = need.tokens.max(step.args.first().map_or(0, |a| a.ty.cols));
                need.positions = bucket.slots;
            }
        }
        need
    }
}

impl Scratch {
    /// `n` floats of any value; they begin at a line of the cache.
    pub fn floats(&mut self, n: usize) -> &mut [f32] {
        let lines = n.div_ceil(LINE);
        if self.floats.len() < lines {
            self.floats.resize(lines, Line::default());
        }
        &mut bytemuck::cast_slice_mut(&mut self.floats)[..n]
    }

    /// Room for what a plan needs.
    pub(crate) fn reserve(&mut self, need: &Need) -> Result<(), NoMemory> {
        room(&mut self.floats, need.floats.div_ceil(LINE))?;
        self.products.reserve(need.floats)?;
        room(&mut self.ids, need.positions)?;
        self.sampling.reserve(need.tokens, need.positions)
    }
}

/// Capacity for `n` elements; the system gives memory for those that are touched.
pub(crate) fn room<T>(values: &mut Vec<T>, n: usize) -> Result<(), NoMemory> {
    let more = n.saturating_sub(values.len());
    values.try_reserve_exact(more).map_err(|_| NoMemory { bytes: n.saturating_mul(size_of::<T>()) as u64 })
}
