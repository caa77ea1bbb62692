//! Values of the metadata.

use std::fmt;
use std::str::Utf8Error;

macro_rules! value_types {
    ($($id:literal $variant:ident $name:literal $bytes:literal;)+) => {
        /// Type of a value, or of the items of an array.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ValueType {
            $(#[doc = concat!("`", $name, "`, id ", stringify!($id), ".")] $variant = $id,)+
        }

        impl ValueType {
            /// The type with this id in a file.
            pub fn from_id(id: u32) -> Option<ValueType> {
                match id {
                    $($id => Some(ValueType::$variant),)+
                    _ => None,
                }
            }

            /// The name in the specification of the format, in lower case.
            pub fn name(self) -> &'static str {
                match self {
                    $(ValueType::$variant => $name,)+
                }
            }

            /// The fewest bytes of a value in a file: the size of a number, the length field of a string, type and
            /// length of an array.
            pub(crate) fn least_bytes(self) -> u64 {
                match self {
                    $(ValueType::$variant => $bytes,)+
                }
            }
        }
    };
}

value_types! {
    0 U8 "u8" 1;
    1 I8 "i8" 1;
    2 U16 "u16" 2;
    3 I16 "i16" 2;
    4 U32 "u32" 4;
    5 I32 "i32" 4;
    6 F32 "f32" 4;
    7 Bool "bool" 1;
    8 String "string" 8;
    9 Array "array" 12;
    10 U64 "u64" 8;
    11 I64 "i64" 8;
    12 F64 "f64" 8;
}

impl ValueType {
    /// The id of the type in a file.
    pub fn id(self) -> u32 {
        self as u32
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A value of the metadata.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // the variants are the types of the format
pub enum Value {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    /// Bytes that should be UTF-8 but are not checked: see [`Metadata::str`](crate::Metadata::str).
    String(Vec<u8>),
    Array(Array),
    U64(u64),
    I64(i64),
    F64(f64),
}

/// An array of the metadata, stored as a vector of its item type.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // the variants are the types of the format
pub enum Array {
    U8(Vec<u8>),
    I8(Vec<i8>),
    U16(Vec<u16>),
    I16(Vec<i16>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    F32(Vec<f32>),
    Bool(Vec<bool>),
    Strings(Strings),
    Arrays(Vec<Array>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F64(Vec<f64>),
}

/// Evaluates `$body` with `$items` bound to the vector (or [`Strings`]) of the variant of `$array`.
macro_rules! each_array {
    ($array:expr, $items:ident => $body:expr) => {
        match $array {
            Array::U8($items) => $body,
            Array::I8($items) => $body,
            Array::U16($items) => $body,
            Array::I16($items) => $body,
            Array::U32($items) => $body,
            Array::I32($items) => $body,
            Array::F32($items) => $body,
            Array::Bool($items) => $body,
            Array::Strings($items) => $body,
            Array::Arrays($items) => $body,
            Array::U64($items) => $body,
            Array::I64($items) => $body,
            Array::F64($items) => $body,
        }
    };
}

impl Array {
    /// Number of items.
    pub fn len(&self) -> usize {
        each_array!(self, items => items.len())
    }

    /// True if there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Type of the items.
    pub fn item_type(&self) -> ValueType {
        match self {
            Array::U8(_) => ValueType::U8,
            Array::I8(_) => ValueType::I8,
            Array::U16(_) => ValueType::U16,
            Array::I16(_) => ValueType::I16,
            Array::U32(_) => ValueType::U32,
            Array::I32(_) => ValueType::I32,
            Array::F32(_) => ValueType::F32,
            Array::Bool(_) => ValueType::Bool,
            Array::Strings(_) => ValueType::String,
            Array::Arrays(_) => ValueType::Array,
            Array::U64(_) => ValueType::U64,
            Array::I64(_) => ValueType::I64,
            Array::F64(_) => ValueType::F64,
        }
    }
}

impl Value {
    /// Its type.
    pub fn value_type(&self) -> ValueType {
        match self {
            Value::U8(_) => ValueType::U8,
            Value::I8(_) => ValueType::I8,
            Value::U16(_) => ValueType::U16,
            Value::I16(_) => ValueType::I16,
            Value::U32(_) => ValueType::U32,
            Value::I32(_) => ValueType::I32,
            Value::F32(_) => ValueType::F32,
            Value::Bool(_) => ValueType::Bool,
            Value::String(_) => ValueType::String,
            Value::Array(_) => ValueType::Array,
            Value::U64(_) => ValueType::U64,
            Value::I64(_) => ValueType::I64,
            Value::F64(_) => ValueType::F64,
        }
    }

    /// The number, if it is an integer of any width.
    pub fn integer(&self) -> Option<i128> {
        match *self {
            Value::U8(v) => Some(v.into()),
            Value::I8(v) => Some(v.into()),
            Value::U16(v) => Some(v.into()),
            Value::I16(v) => Some(v.into()),
            Value::U32(v) => Some(v.into()),
            Value::I32(v) => Some(v.into()),
            Value::U64(v) => Some(v.into()),
            Value::I64(v) => Some(v.into()),
            _ => None,
        }
    }

    /// The type as shown in errors: "u32", "an array of 3 string".
    pub(crate) fn describe_type(&self) -> String {
        match self {
            Value::Array(a) => format!("an array of {} {}", a.len(), a.item_type()),
            v => v.value_type().name().to_string(),
        }
    }
}

/// Strings in one buffer: half a million tokens take two allocations. They are bytes, because tokens of a vocabulary
/// need not be UTF-8.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Strings {
    pub(crate) bytes: Vec<u8>,
    /// The end of each string in `bytes`, where the next one begins. The ends ascend and are at most `bytes.len()`.
    pub(crate) ends: Vec<usize>,
}

impl Strings {
    /// A list without strings.
    pub fn new() -> Strings {
        Strings::default()
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The string at an index.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |i| self.ends[i]);
        self.bytes.get(start..end)
    }

    /// The string at an index as text.
    pub fn str(&self, index: usize) -> Option<Result<&str, Utf8Error>> {
        self.get(index).map(std::str::from_utf8)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + '_ {
        (0..self.len()).map(|i| self.get(i).unwrap_or_default())
    }

    /// Appends a string.
    pub fn push(&mut self, string: impl AsRef<[u8]>) {
        self.bytes.extend_from_slice(string.as_ref());
        self.ends.push(self.bytes.len());
    }
}

impl fmt::Debug for Strings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|s| format!("{}", s.escape_ascii()))).finish()
    }
}

impl<S: AsRef<[u8]>> FromIterator<S> for Strings {
    fn from_iter<I: IntoIterator<Item = S>>(items: I) -> Strings {
        let mut strings = Strings::new();
        items.into_iter().for_each(|s| strings.push(s));
        strings
    }
}

macro_rules! value_from {
    ($($from:ty, $v:ident => $value:expr;)+) => {
        $(impl From<$from> for Value {
            fn from($v: $from) -> Value {
                $value
            }
        })+
    };
}

value_from! {
    u8, v => Value::U8(v);
    i8, v => Value::I8(v);
    u16, v => Value::U16(v);
    i16, v => Value::I16(v);
    u32, v => Value::U32(v);
    i32, v => Value::I32(v);
    f32, v => Value::F32(v);
    bool, v => Value::Bool(v);
    u64, v => Value::U64(v);
    i64, v => Value::I64(v);
    f64, v => Value::F64(v);
    &str, v => Value::String(v.as_bytes().to_vec());
    String, v => Value::String(v.into_bytes());
    Array, v => Value::Array(v);
    Strings, v => Value::Array(Array::Strings(v));
    Vec<u8>, v => Value::Array(Array::U8(v));
    Vec<i8>, v => Value::Array(Array::I8(v));
    Vec<u16>, v => Value::Array(Array::U16(v));
    Vec<i16>, v => Value::Array(Array::I16(v));
    Vec<u32>, v => Value::Array(Array::U32(v));
    Vec<i32>, v => Value::Array(Array::I32(v));
    Vec<f32>, v => Value::Array(Array::F32(v));
    Vec<bool>, v => Value::Array(Array::Bool(v));
    Vec<u64>, v => Value::Array(Array::U64(v));
    Vec<i64>, v => Value::Array(Array::I64(v));
    Vec<f64>, v => Value::Array(Array::F64(v));
    Vec<&str>, v => Value::Array(Array::Strings(v.into_iter().collect()));
    Vec<String>, v => Value::Array(Array::Strings(v.into_iter().collect()));
}
