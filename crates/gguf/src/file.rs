//! An open file.

use crate::layout::{self, Layout};
use crate::parse;
use crate::platform;
use crate::storage::{Failure, Reads, Storage};
use crate::tensor::TensorInfo;
use crate::{Error, Limits, Metadata, OpenOptions};
use inkstone_tensor::{Resident, SharedBytes, WeightBytes};
use std::fmt;
use std::io::{self, BufReader};
use std::path::Path;
use std::sync::Arc;

/// Bytes of the buffer through which the head of a file is read.
const READ_BUFFER: usize = 64 << 10;

/// An open GGUF file: its head has been read and checked, its tensor data can be read.
///
/// The head is kept in memory, the data stay in the file. If another program truncates a *mapped* file, an access to
/// the lost part ends this program with a signal; [`OpenOptions::mmap`] switches the map off.
pub struct Gguf {
    name: String,
    size: u64,
    version: u32,
    alignment: u64,
    metadata: Metadata,
    layout: Layout,
    storage: Storage,
}

impl fmt::Debug for Gguf {
    /// Name, counts and storage; not the megabytes of metadata.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, keys, tensors) = (&self.name, self.metadata.len(), self.tensors().len());
        write!(f, "Gguf({name:?}, version {}, {keys} keys, {tensors} tensors, {:?})", self.version, self.storage)
    }
}

impl Gguf {
    /// Opens a file. For any other kind of path, such as a directory or a FIFO, the call returns an error without
    /// waiting.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Gguf, Error> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let file = platform::open(path).map_err(|e| open_error(path, &name, e))?;
        let io_error = |action: &str| {
            let (file, action) = (name.clone(), action.to_string());
            move |source| Error::Io { file, action, source }
        };
        let kind = file.metadata().map_err(io_error("ask for the size"))?;
        if let Some(kind) = platform::special_kind(kind.file_type()) {
            return Err(Error::NotAFile { file: name, kind });
        }
        let size = kind.len();
        let input = BufReader::with_capacity(READ_BUFFER, &file);
        let (metadata, layout, version, alignment) = read(input, &name, size, &options.limits)?;
        let map = if options.mmap { platform::map(&file).map_err(io_error("map the file"))? } else { None };
        let storage = match map {
            Some(map) => Storage::Shared { bytes: map.clone(), map: Some(map) },
            None => Storage::File(Reads::new(file, layout.tensors.len()).map_err(|_| Error::OutOfMemory {
                file: name.clone(),
                what: "the list of tensors".to_string(),
                bytes: layout.tensors.len() as u128 * size_of::<TensorInfo>() as u128,
            })?),
        };
        Ok(Gguf { name, size, version, alignment, metadata, layout, storage })
    }

    /// Reads a file that is in memory, such as an embedded one, with the default limits. The data are not copied, so
    /// the bytes should be aligned to the vectors that kernels load (64 bytes suffice). Errors call the file `name`.
    pub fn from_bytes(bytes: SharedBytes, name: &str) -> Result<Gguf, Error> {
        Gguf::from_bytes_with(bytes, name, &Limits::default())
    }

    /// Like [`from_bytes`](Self::from_bytes), with other limits.
    pub fn from_bytes_with(bytes: SharedBytes, name: &str, limits: &Limits) -> Result<Gguf, Error> {
        let all = (*bytes).as_ref();
        let size = all.len() as u64;
        let (metadata, layout, version, alignment) = read(all, name, size, limits)?;
        let storage = Storage::Shared { bytes, map: None };
        Ok(Gguf { name: name.to_string(), size, version, alignment, metadata, layout, storage })
    }

    /// The path or name that errors show.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Version of the format: 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Bytes of the whole file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The alignment in bytes: the offset of every tensor is a multiple of it.
    pub fn alignment(&self) -> u64 {
        self.alignment
    }

    /// The keys and their values.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The tensors, in the order in which the file lists them.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.layout.tensors
    }

    /// The tensor with this name.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.position(name).and_then(|i| self.tensors().get(i))
    }

    /// The offset of the tensor data in the file. Offsets of tensors count from here.
    pub fn data_start(&self) -> u64 {
        self.layout.data_start
    }

    /// The offset of the first byte after the last tensor, or after the head if the file has no tensors. If the type of
    /// the last tensor is unknown, it extends to the end of the file.
    pub fn end_of_data(&self) -> u64 {
        self.layout.data_end
    }

    /// The number of bytes after the last tensor and its padding.
    pub fn trailing_bytes(&self) -> u64 {
        let padded = self.end_of_data().checked_next_multiple_of(self.alignment).unwrap_or(u64::MAX);
        self.size.saturating_sub(padded)
    }

    /// True if the tensor data are mapped.
    pub fn is_mapped(&self) -> bool {
        self.map().is_some()
    }

    /// The map, if the tensor data are mapped.
    pub(crate) fn map(&self) -> Option<&Arc<dyn Resident>> {
        if let Storage::Shared { map, .. } = &self.storage { map.as_ref() } else { None }
    }

    /// The bytes of a tensor of any type with a known size: a view of the map or the memory, or a copy read from the
    /// file. A copy that a caller still holds is shared instead of read again.
    pub fn tensor_data(&self, name: &str) -> Result<WeightBytes, Error> {
        let (index, start, bytes) = self.place(name)?;
        self.storage.bytes(index, start, bytes).map_err(|failure| self.failed(failure, name, start, bytes))
    }

    /// Fills `into` with the bytes of a tensor, starting at its byte `offset`. Without a map each call reads the file.
    pub fn read_tensor(&self, name: &str, offset: u64, into: &mut [u8]) -> Result<(), Error> {
        let (_, start, bytes) = self.place(name)?;
        let len = into.len() as u64;
        if offset.checked_add(len).is_none_or(|end| end > bytes) {
            let source =
                io::Error::other(format!("the tensor has {bytes} bytes, and {len} from {offset} on are asked for"));
            return Err(self.failed(Failure::Io(source), name, start, len));
        }
        let at = start.saturating_add(offset);
        self.storage.read(at, into).map_err(|failure| self.failed(failure, name, at, len))
    }

    /// The index of a tensor, the offset of its bytes in the file, and their number.
    fn place(&self, name: &str) -> Result<(usize, u64, u64), Error> {
        let index = self.position(name).ok_or_else(|| self.no_tensor(name))?;
        let info = self.tensors().get(index).ok_or_else(|| self.no_tensor(name))?;
        let bytes = info.bytes.ok_or_else(|| self.unusable(info, format!("its type is {}", info.dtype)))?;
        if bytes == 0 {
            return Err(self.unusable(info, format!("its dimensions {:?} hold no values", info.dims)));
        }
        // The sum was checked against the size of the file when it was opened.
        Ok((index, self.data_start().saturating_add(info.offset), bytes))
    }

    fn failed(&self, failure: Failure, name: &str, start: u64, bytes: u64) -> Error {
        let file = self.name.clone();
        match failure {
            Failure::Io(source) => Error::Io { file, action: format!("read tensor {name:?} at byte {start}"), source },
            Failure::OutOfMemory => Error::OutOfMemory { file, what: format!("tensor {name:?}"), bytes: bytes.into() },
        }
    }

    pub(crate) fn no_tensor(&self, name: &str) -> Error {
        Error::NoTensor { file: self.name.clone(), tensor: name.to_string() }
    }

    pub(crate) fn unusable(&self, info: &TensorInfo, reason: String) -> Error {
        Error::Unusable { file: self.name.clone(), tensor: info.name.clone(), reason }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.layout.names.find(name, |i| &self.layout.tensors[i as usize].name).map(|i| i as usize)
    }
}

/// Reads and checks a head: metadata, tensors, version, alignment.
fn read(
    input: impl io::BufRead,
    name: &str,
    size: u64,
    limits: &Limits,
) -> Result<(Metadata, Layout, u32, u64), Error> {
    let head = parse::head(input, name, size, limits)?;
    let alignment = layout::alignment(&head.metadata, name, limits)?;
    let layout = layout::check(head.tensors, head.end, alignment, size, name)?;
    Ok((head.metadata, layout, head.version, alignment))
}

/// The error for a path that can't be opened.
fn open_error(path: &Path, name: &str, source: io::Error) -> Error {
    let file = name.to_string();
    let special = std::fs::metadata(path).ok().and_then(|m| platform::special_kind(m.file_type()));
    match (special, source.kind()) {
        (Some(kind), _) => Error::NotAFile { file, kind },
        (None, io::ErrorKind::NotFound) => Error::NotFound { file },
        (None, _) => Error::Io { file, action: "open the file".to_string(), source },
    }
}
