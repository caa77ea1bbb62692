//! Weights: the bytes of their source where they are.

use inkstone_compute::{Error, Result, WeightSlot, Weights};
use inkstone_tensor::{Dim, Progress, SourceError, WeightBytes, WeightInfo, WeightSource};
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
        bytes.push(weight(source, slot)?);
        done = done.saturating_add(size(slot));
        progress.update(done, total);
    }
    Ok(Weights::new(Arc::new(Loaded { slots: slots.to_vec(), bytes }), 0))
}

/// The weight as it lies in its source, if it is of the slot's type.
fn weight(source: &dyn WeightSource, slot: &WeightSlot) -> Result<WeightBytes> {
    let unreadable = |reason: String| SourceError { tensor: slot.name.to_string(), reason };
    let info = source.info(&slot.name).ok_or_else(|| unreadable("not in the source".to_owned()))?;
    let Dim::N(rows) = slot.ty.rows else { return Err(mismatch(slot, &info)) };
    let cols = info.dims.first() == Some(&(slot.ty.cols as u64));
    let product = info.dims.iter().skip(1).try_fold(1u64, |product, dim| product.checked_mul(*dim));
    if info.dtype != slot.ty.dtype || !cols || product != Some(rows as u64) || slot.ty.state {
        return Err(mismatch(slot, &info));
    }
    let bytes = source.bytes(&slot.name)?;
    let (held, expected) = ((*bytes.data).as_ref().len(), slot.ty.bytes(&Default::default()));
    let end = bytes.offset.checked_add(bytes.len).filter(|end| *end <= held);
    if bytes.len as u64 != expected || end.is_none() {
        return Err(
            unreadable(format!("{} bytes at {} of {held}, expected {expected}", bytes.len, bytes.offset)).into()
        );
    }
    Ok(bytes)
}

fn mismatch(slot: &WeightSlot, info: &WeightInfo) -> Error {
    let dims: Vec<String> = info.dims.iter().rev().map(u64::to_string).collect();
    let found = format!("{}[{}]", info.dtype.name().to_ascii_lowercase(), dims.join(", "));
    Error::WeightType { tensor: slot.name.to_string(), found, expected: slot.ty.to_string() }
}
