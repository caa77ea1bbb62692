//! Weights: the bytes of their source where they are.

use inkstone_compute::{Error, Result, WeightSlot, Weights};
use inkstone_tensor::{Progress, WeightBytes, WeightSource};
use std::sync::Arc;

/// A weight of each slot, in order.
pub(crate) struct Loaded {
    pub(crate) slots: Vec<WeightSlot>,
    pub(crate) bytes: Vec<WeightBytes>,
}

pub(crate) fn load(source: &dyn WeightSource, slots: &[WeightSlot], progress: &dyn Progress) -> Result<Weights> {
    let size = |s: &WeightSlot| s.ty.bytes(&Default::default());
    let total = slots.iter().map(size).fold(0, u64::saturating_add);
    let (mut bytes, mut done) = (Vec::with_capacity(slots.len()), 0u64);
    for slot in slots {
        if progress.cancelled() {
            return Err(Error::Cancelled);
        }
        bytes.push(slot.read(source)?);
        done = done.saturating_add(size(slot));
        progress.update(done, total);
    }
    Ok(Weights::new(Arc::new(Loaded { slots: slots.to_vec(), bytes }), 0))
}
