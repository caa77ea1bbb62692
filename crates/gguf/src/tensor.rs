//! What a file says about a tensor.

use inkstone_tensor::DType;
use std::fmt;

/// Type of a tensor's values as the file has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TensorType {
    /// A type of the table.
    Known(DType),
    /// An id that is not in the table: of a newer format, or removed.
    Unknown(u32),
}

/// Types that files of 2023 and 2024 have and that the format dropped.
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

/// A tensor of a file. Those that a [`Gguf`](crate::Gguf) gives are checked: the bytes lie in the file and belong to
/// no other tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorInfo {
    /// Its name.
    pub name: String,
    /// Type of its values.
    pub dtype: TensorType,
    /// Dimensions, the first is the one whose values are neighbours. None: a scalar. One may be 0.
    pub dims: Vec<u64>,
    /// Where its bytes begin, counted from the start of the data ([`Gguf::data_start`](crate::Gguf::data_start)).
    pub offset: u64,
    /// Its bytes; `None` where the type is unknown.
    pub bytes: Option<u64>,
}

impl TensorInfo {
    /// Number of values. (The reader has checked that it is one.)
    pub fn values(&self) -> u64 {
        self.dims.iter().product()
    }
}
