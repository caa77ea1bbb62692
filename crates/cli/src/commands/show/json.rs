//! `show --json`: one object.

use super::check::{Check, FaultKind};
use super::summary::Summary;
use inkstone::gguf::{Array, Metadata, TensorInfo, Value};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::io::{self, Write};

/// The number of items of an array that are shown.
const SHOWN_ITEMS: usize = 8;

pub(super) fn write(out: &mut impl Write, summary: &Summary, check: Option<&Check>) -> io::Result<()> {
    let gguf = summary.gguf;
    let object = Object {
        file: gguf.name(),
        version: gguf.version(),
        bytes: gguf.size(),
        alignment: gguf.alignment(),
        architecture: summary.architecture,
        parameters: summary.parameters,
        context: summary.context,
        trailing_bytes: gguf.trailing_bytes(),
        metadata: Keys(gguf.metadata()),
        tensors: gguf.tensors().iter().map(Tensor::from).collect(),
        unusable: summary.unusable.iter().map(|(name, reason)| Unusable { name, reason }).collect(),
        runs: summary.unused.is_ok(),
        reason: summary.unused.as_ref().err().map(String::as_str),
        unused: summary.unused.as_deref().unwrap_or_default(),
        check: check.map(CheckObject::from),
    };
    serde_json::to_writer(&mut *out, &object)?;
    out.write_all(b"\n")
}

#[derive(Serialize)]
struct Object<'a> {
    file: &'a str,
    version: u32,
    bytes: u64,
    alignment: u64,
    architecture: Option<&'a str>,
    parameters: u128,
    context: Option<u64>,
    trailing_bytes: u64,
    metadata: Keys<'a>,
    tensors: Vec<Tensor<'a>>,
    unusable: Vec<Unusable<'a>>,
    runs: bool,
    reason: Option<&'a str>,
    unused: &'a [&'a str],
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<CheckObject<'a>>,
}

#[derive(Serialize)]
struct Tensor<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    dtype: String,
    shape: &'a [u64],
    offset: u64,
    bytes: Option<u64>,
}

impl<'a> From<&'a TensorInfo> for Tensor<'a> {
    fn from(t: &'a TensorInfo) -> Tensor<'a> {
        Tensor { name: &t.name, dtype: t.dtype.to_string(), shape: &t.dims, offset: t.offset, bytes: t.bytes }
    }
}

#[derive(Serialize)]
struct Unusable<'a> {
    name: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
struct CheckObject<'a> {
    faults: Vec<FaultObject<'a>>,
    unchecked: &'a [&'a str],
}

impl<'a> From<&'a Check<'a>> for CheckObject<'a> {
    fn from(check: &'a Check<'a>) -> CheckObject<'a> {
        let fault = |fault: &'a super::check::Fault<'a>| match &fault.kind {
            FaultKind::Values { nan, infinite, first } => {
                let (nan, infinite, first) = (Some(*nan), Some(*infinite), Some(*first));
                FaultObject { name: fault.tensor, nan, infinite, first, error: None }
            }
            FaultKind::Unreadable(e) => {
                FaultObject { name: fault.tensor, nan: None, infinite: None, first: None, error: Some(e.to_string()) }
            }
        };
        CheckObject { faults: check.faults.iter().map(fault).collect(), unchecked: &check.unchecked }
    }
}

#[derive(Serialize)]
struct FaultObject<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    nan: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    infinite: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// All keys; arrays as type, length and first items.
struct Keys<'a>(&'a Metadata);

impl Serialize for Keys<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in self.0.iter() {
            map.serialize_entry(key, &ValueObject(value))?;
        }
        map.end()
    }
}

struct ValueObject<'a>(&'a Value);

impl Serialize for ValueObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::U8(v) => v.serialize(serializer),
            Value::I8(v) => v.serialize(serializer),
            Value::U16(v) => v.serialize(serializer),
            Value::I16(v) => v.serialize(serializer),
            Value::U32(v) => v.serialize(serializer),
            Value::I32(v) => v.serialize(serializer),
            Value::U64(v) => v.serialize(serializer),
            Value::I64(v) => v.serialize(serializer),
            Value::F32(v) => v.serialize(serializer),
            Value::F64(v) => v.serialize(serializer),
            Value::Bool(v) => v.serialize(serializer),
            Value::String(bytes) => lossy(bytes).serialize(serializer),
            Value::Array(array) => ArrayObject(array).serialize(serializer),
        }
    }
}

struct ArrayObject<'a>(&'a Array);

impl Serialize for ArrayObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("array_of", self.0.item_type().name())?;
        map.serialize_entry("length", &self.0.len())?;
        map.serialize_entry("first", &First(self.0))?;
        map.end()
    }
}

struct First<'a>(&'a Array);

impl Serialize for First<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fn first<T: Serialize, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
            values[..values.len().min(SHOWN_ITEMS)].serialize(serializer)
        }
        match self.0 {
            Array::U8(v) => first(v, serializer),
            Array::I8(v) => first(v, serializer),
            Array::U16(v) => first(v, serializer),
            Array::I16(v) => first(v, serializer),
            Array::U32(v) => first(v, serializer),
            Array::I32(v) => first(v, serializer),
            Array::U64(v) => first(v, serializer),
            Array::I64(v) => first(v, serializer),
            Array::F32(v) => first(v, serializer),
            Array::F64(v) => first(v, serializer),
            Array::Bool(v) => first(v, serializer),
            Array::Strings(strings) => {
                let mut list = serializer.serialize_seq(None)?;
                for bytes in strings.iter().take(SHOWN_ITEMS) {
                    list.serialize_element(&lossy(bytes))?;
                }
                list.end()
            }
            Array::Arrays(arrays) => {
                let mut list = serializer.serialize_seq(None)?;
                for array in arrays.iter().take(SHOWN_ITEMS) {
                    list.serialize_element(&ArrayObject(array))?;
                }
                list.end()
            }
        }
    }
}

/// Bytes as text. Invalid UTF-8 becomes U+FFFD.
fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
