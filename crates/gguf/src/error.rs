//! The errors of the crate.

use inkstone_tensor::ErrorKind;
use std::io;

/// An error of reading or writing a file, or of looking up a key or tensor. Names that come from a file are quoted and
/// escaped, so that a message is always one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No file exists at the path.
    #[error("{file}: no such file")]
    NotFound {
        /// Path.
        file: String,
    },
    /// The path names a directory, a pipe or a device instead of a regular file.
    #[error("{file}: is {kind}, wanted a regular file")]
    NotAFile {
        /// Path.
        file: String,
        /// "a directory", "a FIFO", ...
        kind: &'static str,
    },
    /// The operating system reported an error.
    #[error("{file}: can't {action}: {source}")]
    Io {
        /// Path.
        file: String,
        /// The failed operation: "open the file", "read tensor \"output.weight\"".
        action: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The file has no bytes.
    #[error("{file}: is empty (it ends at byte 0), but a GGUF header needs it to go on to byte {needed}")]
    Empty {
        /// Name of the file.
        file: String,
        /// Bytes of the smallest file.
        needed: u64,
    },
    /// The first four bytes are not the magic number.
    #[error("{file}: not a GGUF file: it begins with {found}, wanted \"GGUF\"")]
    NotGguf {
        /// Name of the file.
        file: String,
        /// The first four bytes, and the format that begins with them if it is known.
        found: String,
    },
    /// The reader does not support this version of the format.
    #[error("{file}: version {version}, supported: 2, 3")]
    Version {
        /// Name of the file.
        file: String,
        /// The version.
        version: u32,
    },
    /// The file was written by a big-endian machine.
    #[error("{file}: big-endian, version {version}, supported: little-endian, version 2, 3")]
    BigEndian {
        /// Name of the file.
        file: String,
        /// The version, read as big-endian.
        version: u32,
    },
    /// The file is shorter than its head announces: it was cut, or a count, length or offset is wrong.
    #[error("{file}: ends at byte {size}, but {what} at byte {at} needs it to go on to byte {needed}")]
    Truncated {
        /// Name of the file.
        file: String,
        /// The item that does not fit, with its index and count or length.
        what: String,
        /// Offset of its first byte.
        at: u128,
        /// The smallest file length that would hold the whole item.
        needed: u128,
        /// Length of the file.
        size: u64,
    },
    /// A field has a value that the format does not allow.
    #[error("{file}: {what} at byte {at} is {found}, allowed: {allowed}")]
    Invalid {
        /// Name of the file.
        file: String,
        /// The field.
        what: String,
        /// Its offset in the file.
        at: u64,
        /// Its value.
        found: String,
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// A field exceeds a limit of [`Limits`](crate::Limits).
    #[error("{file}: {what} at byte {at} is {found}, allowed: at most {limit} (option {option})")]
    Limit {
        /// Name of the file.
        file: String,
        /// The field.
        what: String,
        /// Its offset in the file.
        at: u64,
        /// Its value.
        found: u64,
        /// The limit.
        limit: u64,
        /// Field of [`Limits`](crate::Limits) that sets it.
        option: &'static str,
    },
    /// A key or a tensor's name is not UTF-8.
    #[error("{file}: {what} is not UTF-8 at byte {at}")]
    NotUtf8 {
        /// Name of the file.
        file: String,
        /// The key, or the name and its tensor.
        what: String,
        /// Offset of the first invalid byte in the file.
        at: u64,
    },
    /// Two keys or two tensors have the same name.
    #[error("{file}: {kind} {name:?} is there twice, at bytes {first} and {second}")]
    Duplicate {
        /// Name of the file.
        file: String,
        /// "key" or "tensor".
        kind: &'static str,
        /// The name.
        name: String,
        /// Offset of the first entry.
        first: u64,
        /// Offset of the second entry.
        second: u64,
    },
    /// The value of `general.alignment` is not a valid alignment.
    #[error("{file}: general.alignment is {found}, allowed: a power of two from 8 to {max} (option alignment)")]
    Alignment {
        /// Name of the file.
        file: String,
        /// Its value or type.
        found: String,
        /// The largest alignment that is allowed.
        max: u64,
    },
    /// The size of a tensor does not fit in 64 bits.
    #[error("{file}: tensor {tensor:?}: {what} of {dims:?} is more than 64 bits can count")]
    Overflow {
        /// Name of the file.
        file: String,
        /// The tensor.
        tensor: String,
        /// The quantity that overflows: "the number of values", "the number of bytes", ...
        what: &'static str,
        /// Its dimensions.
        dims: Vec<u64>,
    },
    /// The rows of a tensor do not consist of whole blocks.
    #[error("{file}: tensor {tensor:?}: rows of {cols} values, but {dtype} has blocks of {block}")]
    RowNotBlocks {
        /// Name of the file.
        file: String,
        /// The tensor.
        tensor: String,
        /// Its type.
        dtype: &'static str,
        /// Values per row.
        cols: u64,
        /// Values per block.
        block: u64,
    },
    /// The offset of a tensor is not a multiple of the alignment.
    #[error("{file}: tensor {tensor:?}: offset {offset} is not a multiple of the alignment {alignment}")]
    Misaligned {
        /// Name of the file.
        file: String,
        /// The tensor.
        tensor: String,
        /// Its offset from the start of the data.
        offset: u64,
        /// The file's alignment.
        alignment: u64,
    },
    /// The bytes of two tensors overlap.
    #[error(
        "{file}: tensors {first:?} and {second:?} overlap: the first ends at byte {end}, the second begins at byte {start}"
    )]
    Overlap {
        /// Name of the file.
        file: String,
        /// The tensor with the smaller offset.
        first: String,
        /// The tensor that begins inside the first.
        second: String,
        /// End of the first tensor in the file.
        end: u64,
        /// Start of the second tensor in the file.
        start: u64,
    },
    /// An allocation whose size depends on the file failed.
    #[error("{file}: no memory for {what} ({bytes} bytes)")]
    OutOfMemory {
        /// Name of the file.
        file: String,
        /// The purpose of the memory.
        what: String,
        /// Bytes requested.
        bytes: u128,
    },
    /// The value of a key does not have the type that the caller asked for.
    #[error("key {key:?} is {found}, wanted {wanted}")]
    WrongType {
        /// The key.
        key: String,
        /// The type in the file.
        found: String,
        /// The types that the caller accepts.
        wanted: &'static str,
    },
    /// A number, or an item of an array, does not fit in the type that the caller asked for.
    #[error("key {key:?} is {value}, wanted {wanted}")]
    OutOfRange {
        /// The key, with the index of the item if it is an array.
        key: String,
        /// Its value.
        value: String,
        /// The type that the caller asked for.
        wanted: &'static str,
    },
    /// A string of the metadata was requested as text but is not UTF-8.
    #[error("key {key:?} is not UTF-8 at byte {at} of its {len}")]
    ValueNotUtf8 {
        /// The key.
        key: String,
        /// Offset of the first invalid byte in the string.
        at: usize,
        /// Length of the string in bytes.
        len: usize,
    },
    /// The file has no tensor of this name.
    #[error("{file}: no tensor {tensor:?}")]
    NoTensor {
        /// Name of the file.
        file: String,
        /// The name.
        tensor: String,
    },
    /// A tensor is listed in the file but has no usable data.
    #[error("{file}: tensor {tensor:?} can't be used: {reason}")]
    Unusable {
        /// Name of the file.
        file: String,
        /// The tensor.
        tensor: String,
        /// The reason: its type is unknown or has no definition, or it has no values.
        reason: String,
    },
    /// A [`Writer`](crate::Writer) refuses a file that the reader would refuse.
    #[error("can't write {what} of {found}, allowed: {allowed}")]
    Unwritable {
        /// The field, with the name of its key or tensor.
        what: String,
        /// Its value.
        found: String,
        /// The values that are allowed.
        allowed: String,
    },
    /// The sink of a [`Writer`](crate::Writer) reported an error.
    #[error("can't write the file: {source}")]
    Write {
        /// The error of the sink.
        #[from]
        source: io::Error,
    },
    /// A [`Writer`](crate::Writer) received more or less data than its tensors hold.
    #[error("{found} bytes of tensor data, but the tensors have {wanted}")]
    DataLength {
        /// Bytes received.
        found: u64,
        /// Bytes that the tensors hold.
        wanted: u64,
    },
}

impl Error {
    /// The kind of the error: how a program reacts to it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::NotFound { .. } | Error::NoTensor { .. } => ErrorKind::NotFound,
            Error::Io { source, .. } | Error::Write { source } => kind_of_io(source),
            Error::NotAFile { .. }
            | Error::Empty { .. }
            | Error::NotGguf { .. }
            | Error::Version { .. }
            | Error::BigEndian { .. }
            | Error::Truncated { .. }
            | Error::Invalid { .. }
            | Error::Limit { .. }
            | Error::NotUtf8 { .. }
            | Error::Duplicate { .. }
            | Error::Alignment { .. }
            | Error::Overflow { .. }
            | Error::RowNotBlocks { .. }
            | Error::Misaligned { .. }
            | Error::Overlap { .. }
            | Error::WrongType { .. }
            | Error::OutOfRange { .. }
            | Error::ValueNotUtf8 { .. }
            | Error::Unusable { .. } => ErrorKind::Unsupported,
            Error::OutOfMemory { .. } => ErrorKind::OutOfMemory,
            Error::Unwritable { .. } | Error::DataLength { .. } => ErrorKind::InvalidRequest,
        }
    }
}

fn kind_of_io(error: &io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::OutOfMemory => ErrorKind::OutOfMemory,
        _ => ErrorKind::Engine,
    }
}
