//! The ground of Inkstone: data types and block formats, shapes, operations with their definitions, the records of a
//! step, and the one definition of sampling. It knows nothing of files, engines or text.

mod dtype;
mod source;

pub use dtype::{DTYPES, DType, DTypeInfo, Decode, Encode};
pub use source::{NoProgress, Progress, SharedBytes, SourceError, WeightBytes, WeightInfo, WeightSource};
