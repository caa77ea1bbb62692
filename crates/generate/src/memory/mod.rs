//! The memory that a model needs in its engine, known before anything is allocated, and memory whose size depends on a
//! request.

mod buckets;
mod needs;
mod windows;

pub(crate) use buckets::compile_to_fit;
pub use needs::Needs;
pub(crate) use windows::CHECKPOINTS;
pub use windows::Windows;

use crate::{Error, Result};
use inkstone_tensor::NoMemory;

/// Reserves memory for more values.
pub(crate) fn reserve<T>(values: &mut Vec<T>, more: usize, what: &'static str) -> Result<()> {
    let bytes = more.saturating_mul(size_of::<T>()) as u64;
    values.try_reserve(more).map_err(|_| Error::NoMemory { what, source: NoMemory { bytes } })
}

/// A saturating sum.
pub(crate) fn sum(bytes: impl IntoIterator<Item = u64>) -> u64 {
    bytes.into_iter().fold(0, u64::saturating_add)
}
