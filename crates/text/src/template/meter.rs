//! What the values that a template makes take together. The interpreter limits steps, and one step can double a text; so
//! every value is counted when it is made, with all that is in it, before the next step can use it. What is dropped is not
//! given back: a count is a bound of what is there, whatever is still reached.
//!
//! What one operation makes is there before it is counted: at most 100 MB where a text is repeated, else a few times what
//! was counted before.

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes of values that a template may make: texts, and `VALUE` for each value in a list or an object.
pub const MAX_MEMORY: usize = 32 << 20;

/// A value without its text.
pub(super) const VALUE: usize = 64;

/// The bytes that are left.
#[derive(Clone)]
pub(super) struct Meter(Arc<AtomicUsize>);

/// That nothing is left; the source of an interpreter's error.
#[derive(Debug)]
pub(super) struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "values of more than {MAX_MEMORY} bytes")
    }
}

impl std::error::Error for Full {}

fn full() -> Error {
    Error::new(ErrorKind::InvalidOperation, "out of memory").with_source(Full)
}

impl Meter {
    pub(super) fn new() -> Meter {
        Meter(Arc::new(AtomicUsize::new(MAX_MEMORY)))
    }

    /// That so many bytes are left, for what takes them at once.
    pub(super) fn room(&self, bytes: usize) -> Result<(), Error> {
        if bytes <= self.0.load(Relaxed) { Ok(()) } else { Err(full()) }
    }

    /// Counts a value that was made. A lazy list becomes one that is there, so that it can be counted.
    pub(super) fn made(&self, value: Value) -> Result<Value, Error> {
        not_a_namespace(&value)?;
        let lazy = value.kind() == ValueKind::Iterable;
        let value = if lazy { Value::from(items(&value, self.0.load(Relaxed))?) } else { value };
        self.count(&value)?;
        Ok(value)
    }

    /// Counts a value with all that is in it, each time that it is in it.
    pub(super) fn count(&self, value: &Value) -> Result<(), Error> {
        let left = self.0.load(Relaxed);
        let (mut bytes, mut inside) = (text_bytes(value), items(value, left)?);
        while let Some(value) = inside.pop() {
            not_a_namespace(&value)?;
            bytes += VALUE + text_bytes(&value);
            inside.append(&mut items(&value, left.saturating_sub(bytes))?);
            if bytes + inside.len() * VALUE > left {
                return Err(full());
            }
        }
        self.room(bytes)?;
        self.0.store(left - bytes, Relaxed);
        Ok(())
    }
}

fn text_bytes(value: &Value) -> usize {
    value.as_str().map(str::len).or(value.as_bytes().map(<[u8]>::len)).unwrap_or(0)
}

/// What is directly in a value, if it has room in `left` bytes.
fn items(value: &Value, left: usize) -> Result<Vec<Value>, Error> {
    let mut items = Vec::new();
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map) {
        return Ok(items);
    }
    for item in value.try_iter()? {
        if value.kind() == ValueKind::Map {
            items.push(value.get_item(&item)?);
        }
        items.push(item);
        if items.len() * VALUE > left {
            return Err(full());
        }
    }
    Ok(items)
}

/// A namespace is the one value that changes after it was made, and so after what holds it was counted.
fn not_a_namespace(value: &Value) -> Result<(), Error> {
    if value.as_object().is_some_and(|object| object.type_name().ends_with("::Namespace")) {
        return Err(Error::new(ErrorKind::InvalidOperation, "a namespace can't be in another value"));
    }
    Ok(())
}
