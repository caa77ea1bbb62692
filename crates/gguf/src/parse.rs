//! Parses everything before the data: header, metadata and tensor infos of versions 2 and 3.

use crate::cursor::Cursor;
use crate::name_index::NameIndex;
use crate::tensor::TensorType;
use crate::value::{Array, Strings, Value, ValueType};
use crate::{Error, Limits, Metadata};
use std::fmt::Display;
use std::io::BufRead;

const MAGIC: [u8; 4] = *b"GGUF";
const VERSIONS: [u32; 2] = [2, 3];
/// Magic, version and the two counts.
const HEADER_BYTES: u64 = 24;
/// Bytes of the smallest entry: a key of one byte (length 8, text 1), the type of its value (4), a value of one byte.
const LEAST_KEY: u64 = 14;
/// Bytes of the smallest entry: a name of one byte (9), number of dimensions (4), type (4), offset (8).
const LEAST_TENSOR: u64 = 25;

/// The head of a file. The tensors are as declared: their sizes and offsets have not been checked.
pub(crate) struct Head {
    pub(crate) version: u32,
    pub(crate) metadata: Metadata,
    pub(crate) tensors: Vec<RawTensor>,
    /// The first byte after the tensor infos.
    pub(crate) end: u64,
}

/// An entry of the tensor infos.
pub(crate) struct RawTensor {
    pub(crate) name: String,
    pub(crate) dims: Vec<u64>,
    pub(crate) dtype: TensorType,
    pub(crate) offset: u64,
    /// Offset of the entry in the file.
    pub(crate) at: u64,
}

/// Reads a file up to its data.
pub(crate) fn head<R: BufRead>(input: R, file: &str, size: u64, limits: &Limits) -> Result<Head, Error> {
    let mut cursor = Cursor::new(input, file, size, limits.head);
    let version = magic_and_version(&mut cursor)?;
    let tensor_count: u64 = cursor.number(&"the number of tensors")?;
    let key_count: u64 = cursor.number(&"the number of keys")?;
    for (count, least, what) in [(key_count, LEAST_KEY, "keys"), (tensor_count, LEAST_TENSOR, "tensors")] {
        cursor.expect(count, least, &format_args!("a list of {count} {what}"))?;
        if count > NameIndex::MAX as u64 {
            let (what, found) = (format!("the number of {what}"), count.to_string());
            return Err(Error::Invalid { file: cursor.file(), what, at: 8, found, allowed: "0 to 4294967295" });
        }
    }
    let metadata = metadata(&mut cursor, key_count, limits)?;
    cursor.expect(tensor_count, LEAST_TENSOR, &format_args!("a list of {tensor_count} tensors"))?;
    let mut tensors = Vec::new();
    for i in 0..tensor_count {
        cursor.room(1, |n| tensors.try_reserve(n), size_of::<RawTensor>(), &"the list of tensors")?;
        tensors.push(tensor(&mut cursor, i, limits)?);
    }
    Ok(Head { version, metadata, tensors, end: cursor.position() })
}

fn magic_and_version<R: BufRead>(cursor: &mut Cursor<'_, R>) -> Result<u32, Error> {
    if cursor.size() == 0 {
        return Err(Error::Empty { file: cursor.file(), needed: HEADER_BYTES });
    }
    let present = cursor.size().min(4);
    let magic: Vec<u8> = cursor.numbers(present, &"the magic number")?;
    if !MAGIC.starts_with(&magic) {
        return Err(Error::NotGguf { file: cursor.file(), found: describe_start(&magic) });
    }
    if cursor.size() < HEADER_BYTES {
        return Err(Error::Truncated {
            file: cursor.file(),
            what: "the header".to_string(),
            at: 0,
            needed: HEADER_BYTES.into(),
            size: cursor.size(),
        });
    }
    let version: u32 = cursor.number(&"the version")?;
    if VERSIONS.contains(&version) {
        Ok(version)
    } else if VERSIONS.contains(&version.swap_bytes()) {
        Err(Error::BigEndian { file: cursor.file(), version: version.swap_bytes() })
    } else {
        Err(Error::Version { file: cursor.file(), version })
    }
}

/// Formats that are mistaken for GGUF, with their first bytes.
const OTHER_FORMATS: &[(&[u8], &str)] = &[
    (b"FUGG", "GGUF written backwards, by a big-endian machine"),
    (b"lmgg", "GGML of before 2023, without a version"),
    (b"fmgg", "GGML of before 2023"),
    (b"tjgg", "GGJT of before 2023"),
    (b"PK\x03\x04", "a zip or PyTorch file"),
    (b"\x1f\x8b", "a gzip file"),
    (b"\x93NUM", "a NumPy file"),
    (b"vers", "a text file, perhaps a pointer of Git LFS"),
];

fn describe_start(start: &[u8]) -> String {
    let kind = match OTHER_FORMATS.iter().find(|(magic, _)| start.starts_with(magic)) {
        Some((_, kind)) => kind,
        None if start.iter().all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace()) => "a text file",
        None => return format!("\"{}\"", start.escape_ascii()),
    };
    format!("\"{}\" ({kind})", start.escape_ascii())
}

fn metadata<R: BufRead>(cursor: &mut Cursor<'_, R>, count: u64, limits: &Limits) -> Result<Metadata, Error> {
    let mut metadata = Metadata::new();
    // The offset of each key, for the error about a duplicate key.
    let mut positions = Vec::new();
    for i in 0..count {
        let at = cursor.position();
        let key = name(cursor, &format_args!("key {i}"), limits.key, "key")?;
        if let Some(first) = metadata.position(&key) {
            let first = positions.get(first).copied().unwrap_or(at);
            return Err(Error::Duplicate { file: cursor.file(), kind: "key", name: key, first, second: at });
        }
        let value = value(cursor, &format_args!("the value of key {i} {key:?}"), limits)?;
        cursor.room(1, |n| positions.try_reserve(n), size_of::<u64>(), &"the list of keys")?;
        positions.push(at);
        cursor.room(1, |_| metadata.append(&key, value), size_of::<Value>(), &"the list of keys")?;
    }
    Ok(metadata)
}

/// Reads a key or the name of a tensor: UTF-8, not empty, within a limit.
fn name<R: BufRead>(
    cursor: &mut Cursor<'_, R>,
    what: &dyn Display,
    limit: u64,
    option: &'static str,
) -> Result<String, Error> {
    let at = cursor.position();
    let len = cursor.string_length(what)?;
    if len == 0 {
        return Err(Error::Invalid {
            file: cursor.file(),
            what: format!("the length of {what}"),
            at,
            found: len.to_string(),
            allowed: "1 or more",
        });
    }
    if len > limit {
        let what = format!("the length of {what}");
        return Err(Error::Limit { file: cursor.file(), what, at, found: len, limit, option });
    }
    let mut bytes = Vec::new();
    cursor.append(&mut bytes, len, what)?;
    String::from_utf8(bytes).map_err(|e| Error::NotUtf8 {
        file: cursor.file(),
        what: what.to_string(),
        at: at + 8 + e.utf8_error().valid_up_to() as u64,
    })
}

fn value_type<R: BufRead>(cursor: &mut Cursor<'_, R>, what: &dyn Display) -> Result<ValueType, Error> {
    let at = cursor.position();
    let id: u32 = cursor.number(&format_args!("the type of {what}"))?;
    ValueType::from_id(id).ok_or_else(|| Error::Invalid {
        file: cursor.file(),
        what: format!("the type of {what}"),
        at,
        found: id.to_string(),
        allowed: "0 to 12",
    })
}

fn value<R: BufRead>(cursor: &mut Cursor<'_, R>, what: &dyn Display, limits: &Limits) -> Result<Value, Error> {
    Ok(match value_type(cursor, what)? {
        ValueType::U8 => Value::U8(cursor.number(what)?),
        ValueType::I8 => Value::I8(cursor.number(what)?),
        ValueType::U16 => Value::U16(cursor.number(what)?),
        ValueType::I16 => Value::I16(cursor.number(what)?),
        ValueType::U32 => Value::U32(cursor.number(what)?),
        ValueType::I32 => Value::I32(cursor.number(what)?),
        ValueType::F32 => Value::F32(cursor.number(what)?),
        ValueType::U64 => Value::U64(cursor.number(what)?),
        ValueType::I64 => Value::I64(cursor.number(what)?),
        ValueType::F64 => Value::F64(cursor.number(what)?),
        ValueType::Bool => match bools(cursor, 1, what)?.first() {
            Some(&v) => Value::Bool(v),
            None => Value::Bool(false),
        },
        ValueType::String => {
            let mut bytes = Vec::new();
            cursor.string(&mut bytes, what)?;
            Value::String(bytes)
        }
        ValueType::Array => Value::Array(array(cursor, what, limits)?),
    })
}

/// An array of arrays that is not complete yet.
struct Open {
    items: Vec<Array>,
    left: u64,
}

/// Reads an array. Nested arrays are kept on an explicit stack, so that the depth does not use the stack of the thread.
fn array<R: BufRead>(cursor: &mut Cursor<'_, R>, what: &dyn Display, limits: &Limits) -> Result<Array, Error> {
    let mut open: Vec<Open> = Vec::new();
    loop {
        let at = cursor.position();
        let item_type = value_type(cursor, &format_args!("the items of {what}"))?;
        let count: u64 = cursor.number(&format_args!("the length of {what}"))?;
        cursor.expect(count, item_type.least_bytes(), &format_args!("{what}, an array of {count} {item_type},"))?;
        if open.len() >= usize::from(limits.nesting) {
            return Err(Error::Limit {
                file: cursor.file(),
                what: format!("the nesting of arrays in {what}"),
                at,
                found: open.len() as u64 + 1,
                limit: limits.nesting.into(),
                option: "nesting",
            });
        }
        let mut done = if item_type == ValueType::Array {
            if count > 0 {
                open.push(Open { items: Vec::new(), left: count });
                continue;
            }
            Array::Arrays(Vec::new())
        } else {
            items(cursor, item_type, count, what)?
        };
        // A complete array is added to the array around it, which may thereby become complete as well.
        loop {
            let Some(around) = open.last_mut() else { return Ok(done) };
            cursor.room(1, |n| around.items.try_reserve(n), size_of::<Array>(), what)?;
            around.items.push(done);
            around.left -= 1;
            if around.left > 0 {
                break;
            }
            done = Array::Arrays(std::mem::take(&mut around.items));
            open.pop();
        }
    }
}

/// Reads the items of an array that holds no arrays. The caller has checked that they fit in the file.
fn items<R: BufRead>(
    cursor: &mut Cursor<'_, R>,
    item_type: ValueType,
    count: u64,
    what: &dyn Display,
) -> Result<Array, Error> {
    Ok(match item_type {
        ValueType::U8 => Array::U8(cursor.numbers(count, what)?),
        ValueType::I8 => Array::I8(cursor.numbers(count, what)?),
        ValueType::U16 => Array::U16(cursor.numbers(count, what)?),
        ValueType::I16 => Array::I16(cursor.numbers(count, what)?),
        ValueType::U32 => Array::U32(cursor.numbers(count, what)?),
        ValueType::I32 => Array::I32(cursor.numbers(count, what)?),
        ValueType::F32 => Array::F32(cursor.numbers(count, what)?),
        ValueType::U64 => Array::U64(cursor.numbers(count, what)?),
        ValueType::I64 => Array::I64(cursor.numbers(count, what)?),
        ValueType::F64 => Array::F64(cursor.numbers(count, what)?),
        ValueType::Bool => Array::Bool(bools(cursor, count, what)?),
        ValueType::String => Array::Strings(strings(cursor, count, what)?),
        ValueType::Array => Array::Arrays(Vec::new()),
    })
}

fn bools<R: BufRead>(cursor: &mut Cursor<'_, R>, count: u64, what: &dyn Display) -> Result<Vec<bool>, Error> {
    let at = cursor.position();
    let bytes: Vec<u8> = cursor.numbers(count, what)?;
    if let Some(i) = bytes.iter().position(|&b| b > 1) {
        return Err(Error::Invalid {
            file: cursor.file(),
            what: format!("a bool of {what}"),
            at: at + i as u64,
            found: bytes[i].to_string(),
            allowed: "0 or 1",
        });
    }
    let mut bools = Vec::new();
    cursor.room(count, |n| bools.try_reserve_exact(n), 1, what)?;
    bools.extend(bytes.iter().map(|&b| b == 1));
    Ok(bools)
}

fn strings<R: BufRead>(cursor: &mut Cursor<'_, R>, count: u64, what: &dyn Display) -> Result<Strings, Error> {
    let mut strings = Strings::new();
    cursor.room(count, |n| strings.ends.try_reserve_exact(n), size_of::<usize>(), what)?;
    let mut i = 0;
    while i < count {
        i += cursor.strings_at_hand(count - i, |text| {
            let room = strings.bytes.try_reserve(text.len()).is_ok();
            if room {
                strings.push(text);
            }
            room
        });
        // A string that extends beyond the buffer, or an invalid one.
        if i < count {
            cursor.string(&mut strings.bytes, &format_args!("string {i} of {what}"))?;
            strings.ends.push(strings.bytes.len());
            i += 1;
        }
    }
    Ok(strings)
}

fn tensor<R: BufRead>(cursor: &mut Cursor<'_, R>, index: u64, limits: &Limits) -> Result<RawTensor, Error> {
    let at = cursor.position();
    let name = name(cursor, &format_args!("the name of tensor {index}"), limits.name, "name")?;
    let dims_at = cursor.position();
    let what = format_args!("the number of dimensions of tensor {index} {name:?}");
    let count: u32 = cursor.number(&what)?;
    if count > limits.dims {
        return Err(Error::Limit {
            file: cursor.file(),
            what: what.to_string(),
            at: dims_at,
            found: count.into(),
            limit: limits.dims.into(),
            option: "dims",
        });
    }
    let dims: Vec<u64> = cursor.numbers(count.into(), &format_args!("the dimensions of tensor {index} {name:?}"))?;
    if let Some(i) = dims.iter().position(|&d| d > i64::MAX as u64) {
        return Err(Error::Invalid {
            file: cursor.file(),
            what: format!("dimension {i} of tensor {index} {name:?}"),
            at: dims_at + 4 + 8 * i as u64,
            found: dims[i].to_string(),
            allowed: "0 to 9223372036854775807",
        });
    }
    let dtype = cursor.number(&format_args!("the type of tensor {index} {name:?}"))?;
    let offset = cursor.number(&format_args!("the offset of tensor {index} {name:?}"))?;
    Ok(RawTensor { name, dims, dtype: TensorType::from_id(dtype), offset, at })
}
