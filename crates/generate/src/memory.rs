//! Memory whose size depends on a request.

use crate::{Error, Result};
use inkstone_tensor::NoMemory;

/// Reserves memory for more values.
pub(crate) fn reserve<T>(values: &mut Vec<T>, more: usize, what: &'static str) -> Result<()> {
    let bytes = more.saturating_mul(size_of::<T>()) as u64;
    values.try_reserve(more).map_err(|_| Error::NoMemory { what, source: NoMemory { bytes } })
}
