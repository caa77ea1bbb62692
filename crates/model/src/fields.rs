//! Checked access to the metadata keys of an architecture.

use crate::Error;
use inkstone_gguf::Metadata;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Shortens a text from a file, which may have any length, for a message.
pub(crate) fn shorten(text: &str) -> String {
    const CHARS: usize = 64;
    let mut short: String = text.chars().take(CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The keys of one architecture: `block_count` is read from `llama.block_count`.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    pub metadata: &'a Metadata,
    pub arch: &'a str,
}

impl Fields<'_> {
    pub fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.arch)
    }

    /// A count within bounds; `None` if the key is missing.
    pub fn count(&self, name: &str, allowed: RangeInclusive<u64>) -> Result<Option<usize>, Error> {
        let key = self.key(name);
        let Some(value) = self.metadata.u64(&key)? else { return Ok(None) };
        if allowed.contains(&value) {
            return Ok(usize::try_from(value).ok());
        }
        let (least, most) = allowed.into_inner();
        Err(self.bad(name, value, &format!("{least} to {most}")))
    }

    /// A required count.
    pub fn needed(&self, name: &str, allowed: RangeInclusive<u64>, what: &'static str) -> Result<usize, Error> {
        self.count(name, allowed)?.ok_or_else(|| Error::MissingKey { key: self.key(name), what })
    }

    /// A number for which `ok` returns true; `None` if the key is missing.
    pub fn number(&self, name: &str, allowed: &str, ok: impl Fn(f64) -> bool) -> Result<Option<f64>, Error> {
        let Some(value) = self.metadata.f32(&self.key(name))? else { return Ok(None) };
        if ok(f64::from(value)) { Ok(Some(f64::from(value))) } else { Err(self.bad(name, value, allowed)) }
    }

    /// A number above zero.
    pub fn positive(&self, name: &str) -> Result<Option<f64>, Error> {
        self.number(name, "a finite number above 0", |x| x.is_finite() && x > 0.0)
    }

    pub fn bad(&self, name: &str, value: impl Display, allowed: &str) -> Error {
        Error::BadValue { key: self.key(name), value: value.to_string(), allowed: allowed.to_owned() }
    }
}
