//! Buffers, which count against the budget of their engine.

use inkstone::compute::{Budget, Charge, Error, Result};
use inkstone::tensor::{Array, DType, NoMemory};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A buffer. A step that changes a state takes it and puts it back, so that it is never copied.
pub struct Memory {
    words: Mutex<Array>,
    bytes: u64,
    _charge: Charge,
}

impl Memory {
    /// Zeroed memory; `what` it is for is told in errors.
    pub fn new(budget: &Arc<Budget>, bytes: u64, what: &'static str) -> Result<Memory> {
        let charge = budget.charge(bytes, what)?;
        let words = usize::try_from(bytes.div_ceil(4)).map_err(|_| NoMemory { bytes });
        let words = words.and_then(|words| Array::zeros(DType::U32, words, 1));
        let words = words.map_err(|source| Error::NoMemory { what, source })?;
        Ok(Memory { words: Mutex::new(words), bytes, _charge: charge })
    }

    fn lock(&self) -> MutexGuard<'_, Array> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The words, to be read.
    pub fn words(&self) -> Array {
        self.lock().clone()
    }

    /// The words, to be changed; until they are put back the memory is empty.
    pub fn take(&self) -> Array {
        std::mem::replace(&mut *self.lock(), Array::from_u32(1, Vec::new()))
    }

    /// Stores the result of a step in the words.
    pub fn put_back(&self, state: Array) {
        *self.lock() = state;
    }

    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        let mut words = self.lock();
        let part = words.bytes_mut().get_mut(offset..).and_then(|rest| rest.get_mut(..bytes.len()));
        part.ok_or_else(|| self.out(offset, bytes.len()))?.copy_from_slice(bytes);
        Ok(())
    }

    pub fn read(&self, offset: usize, into: &mut [u8]) -> Result<()> {
        let words = self.lock();
        let part = words.bytes().get(offset..).and_then(|rest| rest.get(..into.len()));
        into.copy_from_slice(part.ok_or_else(|| self.out(offset, into.len()))?);
        Ok(())
    }

    fn out(&self, offset: usize, len: usize) -> Error {
        Error::OutOfBuffer { offset: offset as u64, end: offset.saturating_add(len) as u64, bytes: self.bytes }
    }
}
