//! The storage of the tensor data: a map, memory, or a file that is read on demand.

use crate::platform;
use bytemuck::{Pod, Zeroable};
use inkstone_tensor::{Resident, SharedBytes, WeightBytes};
use std::collections::TryReserveError;
use std::fmt;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The bytes behind a [`Gguf`](crate::Gguf).
pub(crate) enum Storage {
    /// The whole file: a map, or memory of the caller.
    Shared { bytes: SharedBytes, map: Option<Arc<dyn Resident>> },
    /// A file that is read one tensor at a time.
    File(Reads),
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Storage::Shared { map: Some(_), .. } => "mapped",
            Storage::Shared { map: None, .. } => "in memory",
            Storage::File(_) => "read on demand",
        })
    }
}

/// The reason why bytes can't be read.
pub(crate) enum Failure {
    Io(io::Error),
    OutOfMemory,
}

impl Storage {
    /// The bytes of tensor number `index`: `len` bytes from offset `start`, a range that was inside the file when it
    /// was opened.
    pub(crate) fn bytes(&self, index: usize, start: u64, len: u64) -> Result<WeightBytes, Failure> {
        let (Ok(offset), Ok(len)) = (usize::try_from(start), usize::try_from(len)) else {
            return Err(Failure::OutOfMemory);
        };
        match self {
            Storage::Shared { bytes, .. } => {
                let size = (**bytes).as_ref().len();
                if offset.checked_add(len).is_none_or(|end| end > size) {
                    return Err(Failure::Io(io::Error::other(format!("the bytes end at {size} now"))));
                }
                Ok(WeightBytes { data: bytes.clone(), offset, len })
            }
            Storage::File(reads) => Ok(WeightBytes { data: reads.tensor(index, start, len)?, offset: 0, len }),
        }
    }

    /// Fills `into` with the bytes of the file from offset `start` on.
    pub(crate) fn read(&self, start: u64, into: &mut [u8]) -> Result<(), Failure> {
        match self {
            Storage::Shared { .. } => {
                into.copy_from_slice(self.bytes(0, start, into.len() as u64)?.as_slice());
                Ok(())
            }
            Storage::File(reads) => platform::read_exact_at(&reads.file, into, start).map_err(Failure::Io),
        }
    }
}

/// A file and the tensors read from it. A tensor that is still held is shared, so that a weight is in memory once.
pub(crate) struct Reads {
    file: File,
    /// One lock per tensor: two callers that read the same tensor wait for each other and share the bytes.
    held: Vec<Mutex<Weak<Aligned>>>,
}

impl Reads {
    /// Prepares reads from a file with this number of tensors.
    pub(crate) fn new(file: File, tensors: usize) -> Result<Reads, TryReserveError> {
        let mut held = Vec::new();
        held.try_reserve_exact(tensors)?;
        held.resize_with(tensors, Mutex::default);
        Ok(Reads { file, held })
    }

    fn tensor(&self, index: usize, start: u64, len: usize) -> Result<SharedBytes, Failure> {
        let held = self.held.get(index).ok_or_else(|| Failure::Io(io::Error::other("no such tensor")))?;
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = held.upgrade() {
            return Ok(bytes);
        }
        let mut bytes = Aligned::zeroed(len).ok_or(Failure::OutOfMemory)?;
        platform::read_exact_at(&self.file, bytes.as_mut(), start).map_err(Failure::Io)?;
        let bytes = Arc::new(bytes);
        *held = Arc::downgrade(&bytes);
        Ok(bytes)
    }
}

/// Bytes at an address that is a multiple of 64, the width of the widest vector that a kernel loads.
struct Aligned {
    lines: Vec<Line>,
    len: usize,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Aligned {
    /// `None` if the allocation fails.
    fn zeroed(len: usize) -> Option<Aligned> {
        let count = len.div_ceil(size_of::<Line>());
        let mut lines = Vec::new();
        lines.try_reserve_exact(count).ok()?;
        lines.resize(count, Line::zeroed());
        Some(Aligned { lines, len })
    }

    fn as_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

impl AsRef<[u8]> for Aligned {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }
}
