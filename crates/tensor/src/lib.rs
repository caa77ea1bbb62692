//! The ground of Inkstone: data types and block formats, shapes, operations with their definitions, the records of a
//! step, and the one definition of sampling. It knows nothing of files, engines or text.
//!
//! ```
//! use inkstone_tensor::{Array, DType};
//!
//! let mut matrix = Array::zeros(DType::Q8_0, 2, 64)?;
//! matrix.encode_row(1, &[0.5; 64]);
//! let mut row = [0.0; 64];
//! matrix.decode_row(1, &mut row);
//! assert!((row[63] - 0.5).abs() < 1e-3);
//! assert_eq!(matrix.bytes().len(), 2 * 2 * DType::Q8_0.block_bytes());
//! # Ok::<(), inkstone_tensor::NoMemory>(())
//! ```

mod array;
mod block;
pub mod body;
pub mod cache;
mod custom;
mod dtype;
mod error_kind;
mod group;
mod hash;
pub mod math;
pub mod op;
pub mod ops;
pub mod sampling;
mod shape;
mod source;
pub mod step;
mod visible;

pub use array::{Array, NoMemory};
pub use custom::CustomOp;
pub use dtype::{DTYPES, DType, DTypeInfo, Decode, Encode};
pub use error_kind::ErrorKind;
pub use group::{Group, RESERVE};
pub use hash::fnv1a;
pub use op::{Op, forbid_eval};
pub use shape::{Dim, Sizes, Slots, Type};
pub use source::{
    NoProgress, NoWeights, Progress, Resident, SharedBytes, SourceError, WeightBytes, WeightInfo, WeightSource,
};
pub use visible::Visible;
