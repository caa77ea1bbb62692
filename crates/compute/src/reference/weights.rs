//! Weights of the reference engine: the bytes of their source where they are, read row by row.

use crate::engine::Weights;
use crate::plan::WeightSlot;
use crate::{Budget, Charge, Error, Result};
use inkstone_tensor::{Array, NoMemory, Progress, SourceError, WeightSource};
use std::sync::Arc;

/// A weight of each slot, in order.
pub(super) struct Loaded {
    pub(super) slots: Vec<WeightSlot>,
    pub(super) arrays: Vec<Array>,
    _charges: Vec<Charge>,
}

pub(super) fn load(
    budget: &Arc<Budget>,
    source: &dyn WeightSource,
    slots: &[WeightSlot],
    progress: &dyn Progress,
) -> Result<Weights> {
    let bytes = |s: &WeightSlot| s.ty.bytes(&Default::default());
    let total = slots.iter().map(bytes).fold(0, u64::saturating_add);
    let (mut arrays, mut charges, mut copied, mut done) = (Vec::new(), Vec::new(), 0u64, 0u64);
    for slot in slots {
        if progress.cancelled() {
            return Err(Error::Cancelled);
        }
        let mut array = weight(source, slot)?;
        // Definitions read words in place where they find them aligned, which a source need not promise.
        if slot.ty.dtype.block_bytes() == 4 && bytemuck::try_cast_slice::<u8, u32>(array.bytes()).is_err() {
            charges.push(budget.charge(array.bytes().len() as u64, "a weight")?);
            copied = copied.saturating_add(array.bytes().len() as u64);
            array = aligned(&array)?;
        }
        arrays.push(array);
        done = done.saturating_add(bytes(slot));
        progress.update(done, total);
    }
    Ok(Weights::new(Arc::new(Loaded { slots: slots.to_vec(), arrays, _charges: charges }), copied))
}

/// The weight in the layout of its source.
fn weight(source: &dyn WeightSource, slot: &WeightSlot) -> Result<Array> {
    let bytes = slot.read(source)?;
    let rows = slot.ty.rows.at(&Default::default());
    let rest = || SourceError { tensor: slot.name.to_string(), reason: "no whole rows".to_owned() };
    Ok(Array::shared(slot.ty.dtype, rows, slot.ty.cols, bytes).ok_or_else(rest)?)
}

fn aligned(array: &Array) -> Result<Array> {
    let no_memory = |source: NoMemory| Error::NoMemory { what: "a weight", source };
    let mut copy = Array::zeros(array.dtype(), array.rows(), array.cols()).map_err(no_memory)?;
    copy.bytes_mut().copy_from_slice(array.bytes());
    Ok(copy)
}
