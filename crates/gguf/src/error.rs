//! What can be wrong with a file, a key or a tensor.

use std::io;

/// Why a file can't be read or written, or a key or tensor can't be had. Names that come from a file are quoted and
/// escaped, so that a message is always one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is nothing at the path.
    #[error("{file}: no such file")]
    NotFound {
        /// Path.
        file: String,
    },
    /// The path leads to something that has no bytes at fixed places.
    #[error("{file}: is {kind}, wanted a regular file")]
    NotAFile {
        /// Path.
        file: String,
        /// "a directory", "a FIFO", ...
        kind: &'static str,
    },
    /// The operating system refused.
    #[error("{file}: can't {action}: {source}")]
    Io {
        /// Path.
        file: String,
        /// What was tried: "open the file", "read tensor \"output.weight\"".
        action: String,
        /// The system's answer.
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
        /// What is there, with a guess at the kind of file.
        found: String,
    },
    /// A version that this reader doesn't know.
    #[error("{file}: version {version}, supported: 2, 3")]
    Version {
        /// Name of the file.
        file: String,
        /// The version.
        version: u32,
    },
    /// A file of a big-endian machine.
    #[error("{file}: big-endian, version {version}, supported: little-endian, version 2, 3")]
    BigEndian {
        /// Name of the file.
        file: String,
        /// The version, read as big-endian.
        version: u32,
    },
    /// The file ends before what it announces: cut short, or a count, length or offset is wrong.
    #[error("{file}: ends at byte {size}, but {what} at byte {at} needs it to go on to byte {needed}")]
    Truncated {
        /// Name of the file.
        file: String,
        /// What doesn't fit, with its index and count or length.
        what: String,
        /// Where it begins.
        at: u128,
        /// The least length of a file that has all of it.
        needed: u128,
        /// Length of the file.
        size: u64,
    },
    /// A field has a value that the format doesn't allow.
    #[error("{file}: {what} at byte {at} is {found}, allowed: {allowed}")]
    Invalid {
        /// Name of the file.
        file: String,
        /// The field.
        what: String,
        /// Where it is.
        at: u64,
        /// Its value.
        found: String,
        /// What it may be.
        allowed: &'static str,
    },
    /// A field is above a limit of [`Limits`](crate::Limits).
    #[error("{file}: {what} at byte {at} is {found}, allowed: at most {limit} (option {option})")]
    Limit {
        /// Name of the file.
        file: String,
        /// The field.
        what: String,
        /// Where it is.
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
        /// Which key or name.
        what: String,
        /// The first byte that is wrong.
        at: u64,
    },
    /// Two keys or two tensors of one name.
    #[error("{file}: {kind} {name:?} is there twice, at bytes {first} and {second}")]
    Duplicate {
        /// Name of the file.
        file: String,
        /// "key" or "tensor".
        kind: &'static str,
        /// The name.
        name: String,
        /// Where the first is.
        first: u64,
        /// Where the second is.
        second: u64,
    },
    /// `general.alignment` is no alignment.
    #[error("{file}: general.alignment is {found}, allowed: a power of two from 8 to {max} (option alignment)")]
    Alignment {
        /// Name of the file.
        file: String,
        /// Its value or type.
        found: String,
        /// The largest that is allowed.
        max: u64,
    },
    /// The size of a tensor is no 64-bit number.
    #[error("{file}: tensor {tensor:?}: {what} of {dims:?} is more than 64 bits can count")]
    Overflow {
        /// Name of the file.
        file: String,
        /// The tensor.
        tensor: String,
        /// What overflows: "the number of values", "the number of bytes", ...
        what: &'static str,
        /// Its dimensions.
        dims: Vec<u64>,
    },
    /// A row that ends inside a block.
    #[error("{file}: tensor {tensor:?}: rows of {cols} values, but {dtype} has blocks of {block}")]
    RowNotBlocks {
        /// Name of the file.
        file: String,
        /// The tensor.
        tensor: String,
        /// Its type.
        dtype: &'static str,
        /// Values a row.
        cols: u64,
        /// Values a block.
        block: u64,
    },
    /// A tensor doesn't begin at a multiple of the alignment.
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
    /// Two tensors share bytes.
    #[error(
        "{file}: tensors {first:?} and {second:?} overlap: the first ends at byte {end}, the second begins at byte {start}"
    )]
    Overlap {
        /// Name of the file.
        file: String,
        /// The one that begins first.
        first: String,
        /// The one that begins inside it.
        second: String,
        /// End of the first in the file.
        end: u64,
        /// Begin of the second in the file.
        start: u64,
    },
    /// Memory for something in the file can't be had.
    #[error("{file}: no memory for {what} ({bytes} bytes)")]
    OutOfMemory {
        /// Name of the file.
        file: String,
        /// What it was for.
        what: String,
        /// Bytes asked for.
        bytes: u128,
    },
    /// A key has another type than the caller can use.
    #[error("key {key:?} is {found}, wanted {wanted}")]
    WrongType {
        /// The key.
        key: String,
        /// Type in the file.
        found: String,
        /// Types that would do.
        wanted: &'static str,
    },
    /// A number, or an item of an array, doesn't fit the type that the caller can use.
    #[error("key {key:?} is {value}, wanted {wanted}")]
    OutOfRange {
        /// The key, with the index of the item if it is an array.
        key: String,
        /// Its value.
        value: String,
        /// What would do.
        wanted: &'static str,
    },
    /// A string of the metadata that should be text is not.
    #[error("key {key:?} is not UTF-8 at byte {at} of its {len}")]
    ValueNotUtf8 {
        /// The key.
        key: String,
        /// The first wrong byte, counted in the string.
        at: usize,
        /// Bytes of the string.
        len: usize,
    },
    /// No tensor has the name.
    #[error("{file}: no tensor {tensor:?}")]
    NoTensor {
        /// Name of the file.
        file: String,
        /// The name.
        tensor: String,
    },
    /// A tensor that can be listed but not used.
    #[error("{file}: tensor {tensor:?} can't be used: {reason}")]
    Unusable {
        /// Name of the file.
        file: String,
        /// The tensor.
        tensor: String,
        /// Why: its type is unknown or has no definition, or it has no values.
        reason: String,
    },
    /// A file can't have this: a [`Writer`](crate::Writer) refuses what the reader would.
    #[error("can't write {what} of {found}, allowed: {allowed}")]
    Unwritable {
        /// The field, with the name of its key or tensor.
        what: String,
        /// Its value.
        found: String,
        /// What it may be.
        allowed: String,
    },
    /// The sink of a [`Writer`](crate::Writer) refused.
    #[error("can't write the file: {source}")]
    Write {
        /// The sink's answer.
        #[from]
        source: io::Error,
    },
    /// A [`Writer`](crate::Writer) got more or less data than its tensors have.
    #[error("{found} bytes of tensor data, but the tensors have {wanted}")]
    DataLength {
        /// Bytes given.
        found: u64,
        /// Bytes that the tensors have.
        wanted: u64,
    },
}
