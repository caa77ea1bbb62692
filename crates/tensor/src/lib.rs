//! The ground of Inkstone: data types and block formats, shapes, operations with their definitions, the records of a
//! step, and the one definition of sampling. It knows nothing of files, engines or text.

mod array;
mod block;
pub mod body;
mod custom;
mod dtype;
pub mod math;
pub mod op;
pub mod ops;
pub mod sampling;
mod shape;
mod source;
pub mod step;

pub use array::{Array, NoMemory};
pub use custom::CustomOp;
pub use dtype::{DTYPES, DType, DTypeInfo, Decode, Encode};
pub use op::Op;
pub use shape::{Dim, Sizes, Type};
pub use source::{NoProgress, Progress, SharedBytes, SourceError, WeightBytes, WeightInfo, WeightSource};
