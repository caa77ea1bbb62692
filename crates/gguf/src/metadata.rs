//! The key-value store of a file, with typed access.

use crate::Error;
use crate::name_index::NameIndex;
use crate::value::{Array, Strings, Value};
use std::borrow::Cow;
use std::collections::TryReserveError;
use std::fmt;

/// Keys and values in the order of the file. Each key occurs once.
///
/// The typed getters return `None` for a missing key. If the value can't be converted, they return an error with the
/// key, its type and the requested type. Integers of every width are accepted if the value fits.
#[derive(Clone, Default)]
pub struct Metadata {
    keys: Keys,
    values: Vec<Value>,
}

impl PartialEq for Metadata {
    fn eq(&self, other: &Metadata) -> bool {
        self.keys.text == other.keys.text && self.keys.ends == other.keys.ends && self.values == other.values
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Metadata {
    /// Metadata without keys.
    pub fn new() -> Metadata {
        Metadata::default()
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True if there are no keys.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.keys.find(key).and_then(|i| self.values.get(i))
    }

    /// Keys and values in the order of the file.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.values.iter().enumerate().map(|(i, v)| (self.keys.at(i), v))
    }

    /// Sets the value of a key. An existing key keeps its place and its old value is returned; a new key is added at
    /// the end. For writers and tests: like the standard collections it panics if an allocation fails.
    pub fn insert(&mut self, key: &str, value: impl Into<Value>) -> Option<Value> {
        let value = value.into();
        if let Some(old) = self.keys.find(key).and_then(|i| self.values.get_mut(i)) {
            return Some(std::mem::replace(old, value));
        }
        self.append(key, value).expect("memory for one more key");
        None
    }

    /// Index of a key.
    pub(crate) fn position(&self, key: &str) -> Option<usize> {
        self.keys.find(key)
    }

    /// Adds a new key at the end.
    pub(crate) fn append(&mut self, key: &str, value: Value) -> Result<(), TryReserveError> {
        self.values.try_reserve(1)?;
        self.keys.push(key)?;
        self.values.push(value);
        Ok(())
    }

    /// An integer that fits 32 bits without a sign.
    pub fn u32(&self, key: &str) -> Result<Option<u32>, Error> {
        self.integer(key, "u32")
    }

    /// An integer that fits 64 bits without a sign.
    pub fn u64(&self, key: &str) -> Result<Option<u64>, Error> {
        self.integer(key, "u64")
    }

    /// An integer that fits 32 bits with a sign.
    pub fn i32(&self, key: &str) -> Result<Option<i32>, Error> {
        self.integer(key, "i32")
    }

    /// An integer that fits 64 bits with a sign.
    pub fn i64(&self, key: &str) -> Result<Option<i64>, Error> {
        self.integer(key, "i64")
    }

    /// A float, rounded to `f32`, or an integer converted to one.
    pub fn f32(&self, key: &str) -> Result<Option<f32>, Error> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match *value {
            Value::F32(v) => Ok(Some(v)),
            Value::F64(v) => Ok(Some(v as f32)),
            _ => value.integer().map(|v| Some(v as f32)).ok_or_else(|| wrong_type(key, value, "f32")),
        }
    }

    /// A bool, or an integer that is 0 or 1.
    pub fn bool(&self, key: &str) -> Result<Option<bool>, Error> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match (value, value.integer()) {
            (Value::Bool(v), _) => Ok(Some(*v)),
            (_, Some(v @ (0 | 1))) => Ok(Some(v == 1)),
            (_, Some(v)) => Err(out_of_range(key, v, "bool")),
            _ => Err(wrong_type(key, value, "bool")),
        }
    }

    /// A text.
    pub fn str(&self, key: &str) -> Result<Option<&str>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(bytes)) => std::str::from_utf8(bytes).map(Some).map_err(|e| Error::ValueNotUtf8 {
                key: key.to_string(),
                at: e.valid_up_to(),
                len: bytes.len(),
            }),
            Some(value) => Err(wrong_type(key, value, "string")),
        }
    }

    /// Any array.
    pub fn array(&self, key: &str) -> Result<Option<&Array>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Array(array)) => Ok(Some(array)),
            Some(value) => Err(wrong_type(key, value, "array")),
        }
    }

    /// An array of strings. (A string need not be UTF-8: see [`Strings::str`].)
    pub fn strings(&self, key: &str) -> Result<Option<&Strings>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Array(Array::Strings(strings))) => Ok(Some(strings)),
            Some(value) => Err(wrong_type(key, value, "array of string")),
        }
    }

    /// An array of floats: borrowed if its items are `f32`, else converted from `f64` or integers.
    pub fn f32s(&self, key: &str) -> Result<Option<Cow<'_, [f32]>>, Error> {
        const WANTED: &str = "array of f32";
        let Some(value) = self.get(key) else { return Ok(None) };
        let items = match value {
            Value::Array(Array::F32(v)) => return Ok(Some(Cow::Borrowed(v))),
            Value::Array(Array::F64(v)) => convert(key, v.iter().map(|&v| Ok(v as f32)), WANTED)?,
            Value::Array(array) => match integers(array) {
                Some(v) => convert(key, v.map(|v| Ok(v as f32)), WANTED)?,
                None => return Err(wrong_type(key, value, WANTED)),
            },
            _ => return Err(wrong_type(key, value, WANTED)),
        };
        Ok(Some(Cow::Owned(items)))
    }

    /// An array of integers that fit `i32`: borrowed if its items are `i32`, else converted.
    pub fn i32s(&self, key: &str) -> Result<Option<Cow<'_, [i32]>>, Error> {
        match self.get(key) {
            Some(Value::Array(Array::I32(v))) => Ok(Some(Cow::Borrowed(v))),
            _ => self.integers(key, "array of i32").map(|v| v.map(Cow::Owned)),
        }
    }

    /// An array of integers that fit `u32`: borrowed if its items are `u32`, else converted.
    pub fn u32s(&self, key: &str) -> Result<Option<Cow<'_, [u32]>>, Error> {
        match self.get(key) {
            Some(Value::Array(Array::U32(v))) => Ok(Some(Cow::Borrowed(v))),
            _ => self.integers(key, "array of u32").map(|v| v.map(Cow::Owned)),
        }
    }

    /// An array of bools.
    pub fn bools(&self, key: &str) -> Result<Option<&[bool]>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Array(Array::Bool(v))) => Ok(Some(v)),
            Some(value) => Err(wrong_type(key, value, "array of bool")),
        }
    }

    fn integer<T: TryFrom<i128>>(&self, key: &str, wanted: &'static str) -> Result<Option<T>, Error> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let number = value.integer().ok_or_else(|| wrong_type(key, value, wanted))?;
        T::try_from(number).map(Some).map_err(|_| out_of_range(key, number, wanted))
    }

    fn integers<T: TryFrom<i128>>(&self, key: &str, wanted: &'static str) -> Result<Option<Vec<T>>, Error> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let Value::Array(array) = value else { return Err(wrong_type(key, value, wanted)) };
        let items = integers(array).ok_or_else(|| wrong_type(key, value, wanted))?;
        convert(key, items.map(|v| T::try_from(v).map_err(|_| v)), wanted).map(Some)
    }
}

/// The items of an array of integers of any width.
fn integers(array: &Array) -> Option<Box<dyn ExactSizeIterator<Item = i128> + '_>> {
    Some(match array {
        Array::U8(v) => Box::new(v.iter().map(|&v| v.into())),
        Array::I8(v) => Box::new(v.iter().map(|&v| v.into())),
        Array::U16(v) => Box::new(v.iter().map(|&v| v.into())),
        Array::I16(v) => Box::new(v.iter().map(|&v| v.into())),
        Array::U32(v) => Box::new(v.iter().map(|&v| v.into())),
        Array::I32(v) => Box::new(v.iter().map(|&v| v.into())),
        Array::U64(v) => Box::new(v.iter().map(|&v| v.into())),
        Array::I64(v) => Box::new(v.iter().map(|&v| v.into())),
        _ => return None,
    })
}

/// Converts the items of an array. The error names the first item that does not fit.
fn convert<T>(
    key: &str,
    items: impl ExactSizeIterator<Item = Result<T, i128>>,
    wanted: &'static str,
) -> Result<Vec<T>, Error> {
    let mut out = Vec::new();
    out.try_reserve_exact(items.len()).map_err(|_| Error::OutOfMemory {
        file: "metadata".to_string(),
        what: format!("key {key:?}"),
        bytes: items.len() as u128 * size_of::<T>() as u128,
    })?;
    for (i, item) in items.enumerate() {
        out.push(item.map_err(|v| out_of_range(&format!("{key}[{i}]"), v, wanted))?);
    }
    Ok(out)
}

fn wrong_type(key: &str, value: &Value, wanted: &'static str) -> Error {
    Error::WrongType { key: key.to_string(), found: value.describe_type(), wanted }
}

fn out_of_range(key: &str, value: i128, wanted: &'static str) -> Error {
    Error::OutOfRange { key: key.to_string(), value: value.to_string(), wanted }
}

/// The keys in one buffer, with an index of their positions.
#[derive(Clone, Default)]
struct Keys {
    text: String,
    ends: Vec<usize>,
    index: NameIndex,
}

impl Keys {
    fn at(&self, i: usize) -> &str {
        key_at(&self.text, &self.ends, i)
    }

    fn find(&self, key: &str) -> Option<usize> {
        self.index.find(key, |i| self.at(i as usize)).map(|i| i as usize)
    }

    fn push(&mut self, key: &str) -> Result<(), TryReserveError> {
        self.text.try_reserve(key.len())?;
        self.ends.try_reserve(1)?;
        self.index.reserve(|i| key_at(&self.text, &self.ends, i as usize))?;
        self.index.insert(key, self.ends.len() as u32);
        self.text.push_str(key);
        self.ends.push(self.text.len());
        Ok(())
    }
}

fn key_at<'a>(text: &'a str, ends: &[usize], i: usize) -> &'a str {
    let start = i.checked_sub(1).map_or(0, |i| ends[i]);
    &text[start..ends[i]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_accepted_where_they_fit() {
        let mut m = Metadata::new();
        m.insert("a", 7u8);
        m.insert("b", -1i64);
        m.insert("c", u64::MAX);
        m.insert("d", "x");
        assert_eq!(m.u32("a").unwrap(), Some(7));
        assert_eq!(m.f32("a").unwrap(), Some(7.0));
        assert_eq!(m.i32("b").unwrap(), Some(-1));
        assert_eq!(m.u64("c").unwrap(), Some(u64::MAX));
        assert_eq!(m.u32("missing").unwrap(), None);
        assert_eq!(m.u32("b").unwrap_err().to_string(), "key \"b\" is -1, wanted u32");
        assert_eq!(m.i64("c").unwrap_err().to_string(), "key \"c\" is 18446744073709551615, wanted i64");
        assert_eq!(m.u32("d").unwrap_err().to_string(), "key \"d\" is string, wanted u32");
    }

    #[test]
    fn arrays_are_borrowed_or_converted() {
        let mut m = Metadata::new();
        m.insert("f", vec![1.5f32]);
        m.insert("g", vec![1.5f64, 2.0]);
        m.insert("u", vec![1u32, u32::MAX]);
        m.insert("s", vec!["a", "", "bc"]);
        assert!(matches!(m.f32s("f").unwrap(), Some(Cow::Borrowed([v])) if *v == 1.5));
        assert_eq!(m.f32s("g").unwrap().unwrap().as_ref(), [1.5, 2.0]);
        assert_eq!(m.f32s("u").unwrap().unwrap().as_ref(), [1.0, u32::MAX as f32]);
        assert_eq!(m.i32s("u").unwrap_err().to_string(), "key \"u[1]\" is 4294967295, wanted array of i32");
        assert_eq!(m.f32s("s").unwrap_err().to_string(), "key \"s\" is an array of 3 string, wanted array of f32");
        assert_eq!(m.strings("s").unwrap().unwrap().iter().collect::<Vec<_>>(), [&b"a"[..], b"", b"bc"]);
        assert_eq!(m.strings("s").unwrap().unwrap().str(2), Some(Ok("bc")));
    }

    #[test]
    fn bools_and_texts_say_what_is_wrong() {
        let mut m = Metadata::new();
        m.insert("t", true);
        m.insert("one", 1u32);
        m.insert("two", 2u32);
        m.insert("text", Value::String(vec![b'a', 0xFF]));
        assert_eq!(m.bool("t").unwrap(), Some(true));
        assert_eq!(m.bool("one").unwrap(), Some(true));
        assert_eq!(m.bool("two").unwrap_err().to_string(), "key \"two\" is 2, wanted bool");
        assert_eq!(m.str("text").unwrap_err().to_string(), "key \"text\" is not UTF-8 at byte 1 of its 2");
        assert_eq!(m.str("t").unwrap_err().to_string(), "key \"t\" is bool, wanted string");
    }

    #[test]
    fn insert_keeps_the_place_of_a_key() {
        let mut m = Metadata::new();
        m.insert("a", 1u32);
        m.insert("b", 2u32);
        assert_eq!(m.insert("a", 3u32), Some(Value::U32(1)));
        assert_eq!(m.iter().collect::<Vec<_>>(), [("a", &Value::U32(3)), ("b", &Value::U32(2))]);
    }
}
