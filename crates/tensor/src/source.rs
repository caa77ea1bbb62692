//! Where weights come from, and who is told how far their loading is.

use crate::DType;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that stay where they are while somebody holds them: a mapped file, an embedded one, a vector.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// The encoded bytes of a tensor, without a copy where the source can avoid one.
#[derive(Clone)]
pub struct WeightBytes {
    /// The owner of the bytes.
    pub data: SharedBytes,
    /// Where the tensor begins in `data`.
    pub offset: usize,
    /// Its bytes.
    pub len: usize,
}

impl WeightBytes {
    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &(*self.data).as_ref()[self.offset..self.offset + self.len]
    }
}

/// Type and shape of a weight as a matrix: `rows` rows of `cols` values that are contiguous in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightInfo {
    /// Encoding of the values.
    pub dtype: DType,
    /// Dimensions in the order of the file: the first is the one whose values are neighbours (`cols`).
    pub dims: Vec<u64>,
}

/// A source of named tensors. A GGUF file is one; tests make theirs from numbers.
pub trait WeightSource: Send + Sync {
    /// Type and shape of a tensor, or `None` if there is no such tensor or its type is unknown.
    fn info(&self, name: &str) -> Option<WeightInfo>;

    /// Whether there is a tensor of this name, also one of a type that is in no table.
    fn has(&self, name: &str) -> bool {
        self.info(name).is_some()
    }

    /// Its bytes. The error is a line that names the tensor.
    fn bytes(&self, name: &str) -> Result<WeightBytes, SourceError>;

    /// The mapped file that contains all [`WeightBytes`], from its first byte, if the file is mapped.
    fn resident(&self) -> Option<Arc<dyn Resident>> {
        None
    }

    /// Fills `into` with its bytes from byte `offset` on: for who keeps a copy, and needs no more than a piece at a
    /// time. Called from several threads.
    fn read(&self, name: &str, offset: u64, into: &mut [u8]) -> Result<(), SourceError> {
        let bytes = self.bytes(name)?;
        let all = (*bytes.data).as_ref().get(bytes.offset..).unwrap_or(&[]);
        let all = all.get(..bytes.len).unwrap_or(all);
        let rest = usize::try_from(offset).ok().and_then(|from| all.get(from..)).unwrap_or(&[]);
        let piece = rest.get(..into.len()).ok_or_else(|| SourceError {
            tensor: name.to_owned(),
            reason: format!("{} bytes at {offset} of {}", into.len(), all.len()),
        })?;
        into.copy_from_slice(piece);
        Ok(())
    }
}

/// A file whose bytes are used where it is mapped: memory may hold only a part of it.
pub trait Resident: Send + Sync {
    /// Tells the system that memory does not hold all of it, and that it is read in order again and again: a wish to
    /// read ahead in large pieces.
    fn stream(&self);

    /// Keeps bytes in memory, once they are there; false if the system does not allow it.
    fn lock(&self, bytes: Range<usize>) -> bool;
}

/// Why a source can't give a tensor's bytes.
#[derive(Debug, thiserror::Error)]
#[error("tensor {tensor}: {reason}")]
pub struct SourceError {
    /// Its name.
    pub tensor: String,
    /// The reason: "not in the file", an I/O error.
    pub reason: String,
}

/// A source without tensors, for graphs that read none.
pub struct NoWeights;

impl WeightSource for NoWeights {
    fn info(&self, _name: &str) -> Option<WeightInfo> {
        None
    }
    fn bytes(&self, name: &str) -> Result<WeightBytes, SourceError> {
        Err(SourceError { tensor: name.to_owned(), reason: "the source has no tensors".to_owned() })
    }
}

/// Told how far a long piece of work is; may be called from several threads.
pub trait Progress: Send + Sync {
    /// `done` of `total` bytes.
    fn update(&self, done: u64, total: u64);
    /// True if the work should end early (Ctrl-C).
    fn cancelled(&self) -> bool {
        false
    }
}

/// Progress that nobody looks at.
pub struct NoProgress;

impl Progress for NoProgress {
    fn update(&self, _done: u64, _total: u64) {}
}
