//! The shared work before a step, which all workers do together and only its tiles use: the steps that have it, and the
//! place of its results.

use crate::isa::Set;
use crate::kernels::{Before, ENCODED, FEW, before};
use crate::memory::{Memory, Place, Shape};
use crate::verify::products;
use inkstone_compute::{Budget, Grid, Plan, Registry, Result, Step};
use inkstone_tensor::{DType, Dim, Type};
use std::sync::Arc;

/// The number of places, used in turn: the results for a step are written while the previous step still reads its own.
pub(crate) const PLACES: usize = 2;

/// The shared work before each step of a plan.
pub(crate) struct Made {
    steps: Vec<Option<Part>>,
    /// Keeps the places alive.
    _memory: Option<[Memory; PLACES]>,
}

/// The shared work before one step.
pub(crate) struct Part {
    pub(crate) before: Before,
    /// The operand that it is made of.
    pub(crate) x: usize,
    pub(crate) place: Place,
    /// One row of words.
    pub(crate) shape: Shape,
}

impl Made {
    /// Of a plan that was checked.
    pub(crate) fn new(plan: &Plan, registry: &Registry, budget: &Arc<Budget>) -> Result<Made> {
        let rows = plan.bucket.rows;
        let found: Vec<_> = plan.steps.iter().map(|step| of(step, rows, registry)).collect();
        let words = found.iter().flatten().map(|(before, _)| before.words(rows)).max();
        let Some(words) = words else { return Ok(Made { steps: Vec::new(), _memory: None }) };
        let bytes = 4 * words as u64;
        let memory = || Memory::new(budget, bytes, "activations of a step");
        let memory: [Memory; PLACES] = [memory()?, memory()?];
        let shape = Shape::of(Type::new(DType::U32, Dim::N(1), words));
        let (mut steps, mut count) = (Vec::with_capacity(found.len()), 0);
        for found in found {
            let place = Place::of(&memory[count % PLACES], 0, bytes)?;
            count += usize::from(found.is_some());
            steps.push(found.map(|(before, x)| Part { before, x, place, shape }));
        }
        Ok(Made { steps, _memory: Some(memory) })
    }

    /// The shared work before a step, if it has some.
    pub(crate) fn of(&self, step: usize) -> Option<&Part> {
        self.steps.get(step)?.as_ref()
    }
}

/// The shared work before a step, with the index of its operand. Steps of few rows do this work themselves. All steps
/// with shared work have the rows of the plan, so that either all or none of them have tiles.
fn of(step: &Step, rows: usize, registry: &Registry) -> Option<(Before, usize)> {
    let kernel = registry.get(&step.kernel).filter(|kernel| !registry.is_outside(kernel))?;
    let Grid { rows: Dim::Rows, row_block: usize::MAX, .. } = step.grid else { return None };
    if rows <= FEW {
        return None;
    }
    let set = Set::ALL.into_iter().find(|set| kernel.requires.contains(&set.name()))?;
    let products = products(step);
    let x = products.first()?.x;
    if !ENCODED.contains(&x) || products.iter().any(|product| product.x != x) {
        return None;
    }
    let (at, ty) = step.ins().map(|a| a.ty).enumerate().find(|(_, ty)| ty.dtype == x && ty.rows == Dim::Rows)?;
    let weights = products.iter().filter_map(|product| step.ins().nth(product.weight?));
    Some((before(set, ty, weights.map(|a| a.ty.dtype)), at))
}
