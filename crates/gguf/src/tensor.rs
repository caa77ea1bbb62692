//! The description of a tensor in a file.

use inkstone_tensor::DType;
use std::fmt;

/// The type of a tensor's values, as declared in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TensorType {
    /// A type of the table.
    Known(DType),
    /// An id that is not in the table: it belongs to a newer version of the format, or was removed.
    Unknown(u32),
}

/// Types that occur in files of 2023 and 2024 and were removed from the format.
const REMOVED: &[(u32, &str)] = &[
    (4, "Q4_2"),
    (5, "Q4_3"),
    (31, "Q4_0_4_4"),
    (32, "Q4_0_4_8"),
    (33, "Q4_0_8_8"),
    (36, "IQ4_NL_4_4"),
    (37, "IQ4_NL_4_8"),
    (38, "IQ4_NL_8_8"),
];

impl TensorType {
    /// The type with this id in a file.
    pub fn from_id(id: u32) -> TensorType {
        DType::from_gguf(id).map_or(TensorType::Unknown(id), TensorType::Known)
    }

    /// The type in the table, if it is known.
    pub fn known(self) -> Option<DType> {
        match self {
            TensorType::Known(dtype) => Some(dtype),
            TensorType::Unknown(_) => None,
        }
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            TensorType::Known(dtype) => f.pad(dtype.name()),
            TensorType::Unknown(id) => match REMOVED.iter().find(|r| r.0 == id) {
                Some((_, name)) => f.pad(&format!("type {id} ({name}, removed)")),
                None => f.pad(&format!("type {id} (unknown)")),
            },
        }
    }
}

/// A tensor of a file. A [`Gguf`](crate::Gguf) has checked that its bytes are inside the file and belong to no other
/// tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorInfo {
    /// Its name.
    pub name: String,
    /// Type of its values.
    pub dtype: TensorType,
    /// Dimensions; values that differ only in the first one are adjacent. A scalar has no dimensions. A dimension may
    /// be 0.
    pub dims: Vec<u64>,
    /// Offset of its first byte from the start of the data ([`Gguf::data_start`](crate::Gguf::data_start)).
    pub offset: u64,
    /// Its size in bytes; `None` if the type is unknown.
    pub bytes: Option<u64>,
}

impl TensorInfo {
    /// Number of values. (The reader has checked that it does not overflow.)
    pub fn values(&self) -> u64 {
        self.dims.iter().product()
    }
}
