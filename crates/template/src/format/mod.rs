//! Python's ways to put values into texts: `format`, `%`, and the language of their fields.

mod braces;
mod field;
pub(crate) mod percent;

pub(crate) use braces::format;
