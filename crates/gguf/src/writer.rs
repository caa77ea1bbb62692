//! A streaming writer: it writes the whole head first, then the data in pieces of any size.

use crate::layout;
use crate::name_index::NameIndex;
use crate::tensor::TensorType;
use crate::value::{Array, Strings, Value};
use crate::{Error, Limits, Metadata};
use bytemuck::Pod;
use inkstone_tensor::DType;
use std::io::{self, Write};
use std::ops::RangeInclusive;

/// A tensor to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorSpec {
    /// Its name: 1 to 255 bytes, unique in the file.
    pub name: String,
    /// Type of its values, which must have an id in the format.
    pub dtype: DType,
    /// Dimensions; values that differ only in the first one are adjacent. A scalar has no dimensions.
    pub dims: Vec<u64>,
}

impl TensorSpec {
    /// A tensor with this name, type and dimensions.
    pub fn new(name: impl Into<String>, dtype: DType, dims: &[u64]) -> TensorSpec {
        TensorSpec { name: name.into(), dtype, dims: dims.to_vec() }
    }
}

/// The version that is written. Version 2 differs only in the meaning of big-endian files.
const VERSION: u32 = 3;

/// Writes a file to any sink of bytes.
///
/// [`new`](Writer::new) writes the metadata and the list of tensors, [`data`](Writer::data) writes the bytes of the
/// tensors in order, and [`finish`](Writer::finish) checks that no byte is missing. The writer adds the padding and
/// does not buffer data, so a file may be larger than memory.
pub struct Writer<W> {
    out: W,
    /// Bytes of the tensors, in order.
    sizes: Vec<u64>,
    /// The index of the tensor that the next byte belongs to.
    current: usize,
    /// Bytes of this tensor that are written.
    written: u64,
    alignment: u64,
}

impl<W: Write> Writer<W> {
    /// Checks names and shapes, then writes everything before the data. A file that the reader would refuse with its
    /// default limits is an error. The alignment is the value of the key `general.alignment`, or 32.
    pub fn new(mut out: W, metadata: &Metadata, tensors: Vec<TensorSpec>) -> Result<Writer<W>, Error> {
        let limits = Limits::default();
        let alignment = layout::alignment(metadata, FILE, &limits)?;
        let sizes = check(metadata, &tensors, alignment, &limits)?;
        let mut head = Head { out: &mut out, bytes: 0 };
        head.put(b"GGUF")?;
        head.number(VERSION)?;
        head.number(tensors.len() as u64)?;
        head.number(metadata.len() as u64)?;
        for (key, value) in metadata.iter() {
            head.string(key.as_bytes())?;
            head.value(value)?;
        }
        let mut offset = 0u64;
        for (t, bytes) in tensors.iter().zip(&sizes) {
            head.string(t.name.as_bytes())?;
            head.number(t.dims.len() as u32)?;
            t.dims.iter().try_for_each(|&d| head.number(d))?;
            head.number(id(t)?)?;
            head.number(offset)?;
            let next = bytes.checked_next_multiple_of(alignment).and_then(|b| offset.checked_add(b));
            offset = next.ok_or_else(|| Error::Overflow {
                file: FILE.to_string(),
                tensor: t.name.clone(),
                what: "the offset after it, with dimensions",
                dims: t.dims.clone(),
            })?;
        }
        let bytes = head.bytes;
        pad(&mut out, bytes, alignment)?;
        Ok(Writer { out, sizes, current: 0, written: 0, alignment })
    }

    /// Writes the next bytes of the tensors. A call may write part of a tensor, or several tensors.
    pub fn data(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let Some(&size) = self.sizes.get(self.current) else {
                return Err(self.data_length(bytes.len() as u64));
            };
            let left = usize::try_from(size - self.written).unwrap_or(usize::MAX).min(bytes.len());
            let (now, later) = bytes.split_at(left);
            self.out.write_all(now)?;
            self.written += now.len() as u64;
            bytes = later;
            if self.written == size {
                pad(&mut self.out, size, self.alignment)?;
                self.current += 1;
                self.written = 0;
            }
        }
        Ok(())
    }

    /// Checks that all tensors are complete, flushes the sink and returns it.
    pub fn finish(mut self) -> Result<W, Error> {
        if self.sizes.iter().skip(self.current).any(|&size| size > self.written) {
            return Err(self.data_length(0));
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn data_length(&self, more: u64) -> Error {
        let whole: u64 = self.sizes.iter().take(self.current).sum();
        Error::DataLength { found: whole + self.written + more, wanted: self.sizes.iter().sum() }
    }
}

/// The name of the file in the errors of a writer.
const FILE: &str = "file to write";

fn id(t: &TensorSpec) -> Result<u32, Error> {
    let unwritable = || unwritable(format!("tensor {:?}", t.name), t.dtype.name(), "types with an id in files");
    t.dtype.info().gguf.ok_or_else(unwritable)
}

/// Makes the checks of the reader. Returns the bytes of each tensor.
fn check(metadata: &Metadata, tensors: &[TensorSpec], alignment: u64, limits: &Limits) -> Result<Vec<u64>, Error> {
    for (key, value) in metadata.iter() {
        check_number(|| format!("key {key:?} with a length"), key.len() as u64, 1..=limits.key)?;
        if let Value::Array(array) = value {
            check_nesting(key, array, 1, limits)?;
        }
    }
    let mut names = NameIndex::default();
    let mut sizes = Vec::new();
    let name_at = |i: u32| tensors[i as usize].name.as_str();
    check_number(|| "a number of tensors".to_string(), tensors.len() as u64, 0..=NameIndex::MAX as u64)?;
    for (i, t) in tensors.iter().enumerate() {
        check_number(|| format!("tensor {:?} with a name length", t.name), t.name.len() as u64, 1..=limits.name)?;
        let dims = 0..=limits.dims.into();
        check_number(|| format!("tensor {:?} with a number of dimensions", t.name), t.dims.len() as u64, dims)?;
        if names.find(&t.name, name_at).is_some() {
            return Err(unwritable("tensors".to_string(), &format!("the name {:?}, twice", t.name), "one of a name"));
        }
        names.reserve(name_at).map_err(|_| Error::OutOfMemory {
            file: FILE.to_string(),
            what: "the names of tensors".to_string(),
            bytes: tensors.len() as u128 * 8,
        })?;
        names.insert(&t.name, i as u32);
        id(t)?;
        let largest = 0..=i64::MAX as u64;
        t.dims
            .iter()
            .try_for_each(|&d| check_number(|| format!("tensor {:?} with a dimension", t.name), d, largest.clone()))?;
        let bytes = layout::bytes(FILE, &t.name, TensorType::Known(t.dtype), &t.dims, alignment)?;
        sizes.push(bytes.unwrap_or(0));
    }
    Ok(sizes)
}

fn unwritable(what: String, found: &str, allowed: &str) -> Error {
    Error::Unwritable { what, found: found.to_string(), allowed: allowed.to_string() }
}

fn check_number(what: impl FnOnce() -> String, found: u64, allowed: RangeInclusive<u64>) -> Result<(), Error> {
    if allowed.contains(&found) {
        return Ok(());
    }
    Err(unwritable(what(), &found.to_string(), &format!("{} to {}", allowed.start(), allowed.end())))
}

/// Checks the nesting depth of arrays. The recursion ends at the limit.
fn check_nesting(key: &str, array: &Array, depth: u64, limits: &Limits) -> Result<(), Error> {
    check_number(|| format!("key {key:?} with a nesting of arrays"), depth, 1..=limits.nesting.into())?;
    match array {
        Array::Arrays(items) => items.iter().try_for_each(|a| check_nesting(key, a, depth + 1, limits)),
        _ => Ok(()),
    }
}

/// Zeros from `position` up to the next multiple of `alignment`.
fn pad(out: &mut impl Write, position: u64, alignment: u64) -> io::Result<()> {
    let mut left = alignment - 1 - (position + alignment - 1) % alignment;
    let zeros = [0u8; 256];
    while left > 0 {
        let now = left.min(zeros.len() as u64);
        out.write_all(&zeros[..now as usize])?;
        left -= now;
    }
    Ok(())
}

/// Writes the parts of a head and counts its bytes.
struct Head<'a, W> {
    out: &'a mut W,
    bytes: u64,
}

impl<W: Write> Head<'_, W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn number<T: crate::cursor::Number>(&mut self, number: T) -> io::Result<()> {
        self.put(bytemuck::bytes_of(&number.little_endian()))
    }

    fn numbers<T: crate::cursor::Number + Pod>(&mut self, numbers: &[T]) -> io::Result<()> {
        if cfg!(target_endian = "little") {
            return self.put(bytemuck::cast_slice(numbers));
        }
        numbers.iter().try_for_each(|&n| self.number(n))
    }

    fn string(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.number(bytes.len() as u64)?;
        self.put(bytes)
    }

    fn value(&mut self, value: &Value) -> io::Result<()> {
        self.number(value.value_type().id())?;
        match value {
            Value::U8(v) => self.number(*v),
            Value::I8(v) => self.number(*v),
            Value::U16(v) => self.number(*v),
            Value::I16(v) => self.number(*v),
            Value::U32(v) => self.number(*v),
            Value::I32(v) => self.number(*v),
            Value::F32(v) => self.number(*v),
            Value::Bool(v) => self.number(u8::from(*v)),
            Value::String(v) => self.string(v),
            Value::Array(v) => self.array(v),
            Value::U64(v) => self.number(*v),
            Value::I64(v) => self.number(*v),
            Value::F64(v) => self.number(*v),
        }
    }

    fn array(&mut self, array: &Array) -> io::Result<()> {
        self.number(array.item_type().id())?;
        self.number(array.len() as u64)?;
        match array {
            Array::U8(v) => self.numbers(v),
            Array::I8(v) => self.numbers(v),
            Array::U16(v) => self.numbers(v),
            Array::I16(v) => self.numbers(v),
            Array::U32(v) => self.numbers(v),
            Array::I32(v) => self.numbers(v),
            Array::F32(v) => self.numbers(v),
            Array::Bool(v) => v.iter().try_for_each(|&v| self.number(u8::from(v))),
            Array::Strings(v) => self.strings(v),
            Array::Arrays(v) => v.iter().try_for_each(|v| self.array(v)),
            Array::U64(v) => self.numbers(v),
            Array::I64(v) => self.numbers(v),
            Array::F64(v) => self.numbers(v),
        }
    }

    fn strings(&mut self, strings: &Strings) -> io::Result<()> {
        strings.iter().try_for_each(|s| self.string(s))
    }
}
