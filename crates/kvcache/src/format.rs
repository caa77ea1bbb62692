//! The formats of keys and values.

use crate::Error;
use inkstone_tensor::DType;

/// A format of keys or values. Attention reads it in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// Its name in options.
    pub name: &'static str,
    /// Its dtype in memory.
    pub dtype: DType,
}

/// The formats, the default first.
pub static FORMATS: &[Format] = &[Format { name: "f16", dtype: DType::F16 }, Format { name: "f32", dtype: DType::F32 }];

impl Format {
    /// The format of this name.
    ///
    /// # Errors
    /// [`Error::UnknownFormat`] with the known names.
    pub fn named(name: &str) -> Result<Format, Error> {
        FORMATS.iter().find(|f| f.name == name).copied().ok_or_else(|| Error::UnknownFormat {
            name: name.to_owned(),
            known: FORMATS.iter().map(|f| f.name).collect::<Vec<_>>().join(", "),
        })
    }
}

impl Default for Format {
    fn default() -> Format {
        FORMATS[0]
    }
}
