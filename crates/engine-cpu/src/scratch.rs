//! The scratch memory of a worker. It gets the size that plans need when they are prepared, so that no step allocates,
//! even if a worker runs a kernel for the first time.

use inkstone_compute::{Plan, Region};
use inkstone_tensor::ops::HISTORY;
use inkstone_tensor::sampling::Workspace;
use inkstone_tensor::{NoMemory, Op, Sizes};
use std::any::Any;

/// Rows of a step up to which nothing is allocated; larger ones are chunks of prompts, which may let memory grow.
const ROWS: usize = 8;
/// Floats that every kernel can have: a block of attention with the widest heads is not more.
const LEAST: usize = 1 << 16;

/// Floats in one cache line, so that each load of a whole vector touches only one line.
#[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Line([f32; LINE]);

/// Floats of a line.
const LINE: usize = 16;

/// Memory that a worker keeps between tiles. In the next run another worker may use it, and if
/// [`Tile::first`](crate::Tile::first) is true, its content is left over from an arbitrary step.
#[derive(Default)]
pub struct Scratch {
    floats: Vec<Line>,
    /// Memory of kernels, one value of each type.
    slots: Vec<Box<dyn Any + Send>>,
    /// Of sampling.
    pub(crate) sampling: Workspace,
    /// Tokens of a sequence.
    pub(crate) ids: Vec<u32>,
}

/// The memory that the steps of a plan need.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Need {
    floats: usize,
    /// Tokens of the vocabulary, and positions of a sequence, where rows are sampled.
    tokens: usize,
    positions: usize,
}

impl Need {
    /// Floats of one step.
    pub(crate) fn floats(&self) -> usize {
        self.floats
    }

    /// The need of a plan: the number of floats of all operands and results of a step, except for weights and states,
    /// of which it includes some rows.
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
                need.positions = HISTORY.rows.at(&bucket);
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

    /// Memory of a type that a kernel defines, for more than [`Scratch::floats`]. The value is made when the worker
    /// first asks for it.
    pub fn get<T: Any + Default + Send>(&mut self) -> &mut T {
        let found = self.slots.iter().position(|slot| slot.is::<T>());
        let at = found.unwrap_or_else(|| {
            self.slots.push(Box::new(T::default()));
            self.slots.len() - 1
        });
        let slot = self.slots[at].downcast_mut();
        slot.unwrap_or_else(|| unreachable!("a slot is found by its type"))
    }

    /// Reserves the memory that a plan needs, except for the memory of kernels.
    pub(crate) fn reserve(&mut self, need: &Need) -> Result<(), NoMemory> {
        room(&mut self.floats, need.floats.div_ceil(LINE))?;
        room(&mut self.ids, need.positions)?;
        self.sampling.reserve(need.tokens, need.positions)
    }
}

/// Capacity for `n` elements; the system gives memory for those that are touched.
pub(crate) fn room<T>(values: &mut Vec<T>, n: usize) -> Result<(), NoMemory> {
    let more = n.saturating_sub(values.len());
    values.try_reserve_exact(more).map_err(|_| NoMemory { bytes: n.saturating_mul(size_of::<T>()) as u64 })
}
