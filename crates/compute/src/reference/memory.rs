//! Memory of the reference engine: words that an op can take and give back.

use crate::{Budget, Charge, Error, Result};
use inkstone_tensor::NoMemory;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A buffer. An op that updates a state takes the words and gives them back, so that they are never copied.
#[derive(Debug)]
pub(super) struct Memory {
    words: Mutex<Arc<Vec<u32>>>,
    bytes: u64,
    what: &'static str,
    _charge: Charge,
}

/// Zeroed words; the system commits them when they are touched.
fn zeroed(bytes: u64, what: &'static str) -> Result<Arc<Vec<u32>>> {
    let none = || Error::NoMemory { what, source: NoMemory { bytes } };
    let words = usize::try_from(bytes.div_ceil(4)).map_err(|_| none())?;
    let words = bytemuck::allocation::try_zeroed_slice_box::<u32>(words).map_err(|()| none())?;
    Ok(Arc::new(words.into_vec()))
}

impl Memory {
    /// Zeroed memory; `what` it is for is told in errors.
    pub(super) fn new(budget: &Arc<Budget>, bytes: u64, what: &'static str) -> Result<Memory> {
        let charge = budget.charge(bytes, what)?;
        Ok(Memory { words: Mutex::new(zeroed(bytes, what)?), bytes, what, _charge: charge })
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Vec<u32>>> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The words, to be read.
    pub(super) fn words(&self) -> Arc<Vec<u32>> {
        self.lock().clone()
    }

    /// The words, to be changed. Until they are given back the memory is empty.
    pub(super) fn take(&self) -> Taken<'_> {
        Taken { words: std::mem::take(&mut *self.lock()), memory: self, given_back: false }
    }

    pub(super) fn write(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        let mut words = self.lock();
        let all: &mut [u8] = bytemuck::cast_slice_mut(Arc::make_mut(&mut words).as_mut_slice());
        self.range(offset, bytes.len(), all.len())?;
        all[offset..offset + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    pub(super) fn read(&self, offset: usize, into: &mut [u8]) -> Result<()> {
        let words = self.lock();
        let all: &[u8] = bytemuck::cast_slice(words.as_slice());
        self.range(offset, into.len(), all.len())?;
        into.copy_from_slice(&all[offset..offset + into.len()]);
        Ok(())
    }

    fn range(&self, offset: usize, len: usize, bytes: usize) -> Result<()> {
        let end = offset.saturating_add(len);
        if end <= bytes {
            return Ok(());
        }
        Err(Error::OutOfBuffer { offset: offset as u64, end: end as u64, bytes: bytes as u64 })
    }
}

/// Words that were taken. If they are not given back, because the step that had them panicked or failed, their memory
/// is replaced by zeros of the same size.
pub(super) struct Taken<'a> {
    memory: &'a Memory,
    words: Arc<Vec<u32>>,
    given_back: bool,
}

impl Taken<'_> {
    /// The words, in which the state is computed.
    pub(super) fn words(&mut self) -> Arc<Vec<u32>> {
        std::mem::take(&mut self.words)
    }

    /// Whether these words can replace the words that were taken.
    pub(super) fn fits(&self, words: &[u32]) -> bool {
        words.len() as u64 >= self.memory.bytes.div_ceil(4)
    }

    pub(super) fn give_back(mut self, words: Arc<Vec<u32>>) {
        *self.memory.lock() = words;
        self.given_back = true;
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if self.given_back {
            return;
        }
        let words = std::mem::take(&mut self.words);
        let words =
            if self.fits(&words) { words } else { zeroed(self.memory.bytes, self.memory.what).unwrap_or(words) };
        *self.memory.lock() = words;
    }
}
