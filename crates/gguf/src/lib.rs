//! GGUF model files: a reader for hostile input and a streaming writer.
//!
//! A file is `header, metadata, tensor infos, padding, tensor data` ([format text][spec]). [`Gguf::open`] reads the
//! first three and checks every count, length, offset and product in them before it is used. The tensor data stay in
//! the file: they are mapped, or read on demand. [`Metadata`] is the typed key-value store, [`Gguf`] also implements the
//! [`WeightSource`](inkstone_tensor::WeightSource) that engines load from, and [`Writer`] writes files.
//!
//! ```
//! use inkstone_gguf::{Gguf, Metadata, TensorSpec, Writer};
//! use inkstone_tensor::DType;
//!
//! let mut metadata = Metadata::new();
//! metadata.insert("general.architecture", "llama");
//! let tensors = vec![TensorSpec::new("bias", DType::F32, &[2])];
//! let mut writer = Writer::new(Vec::new(), &metadata, tensors)?;
//! writer.data(&[0; 8])?;
//! let file = Gguf::from_bytes(std::sync::Arc::new(writer.finish()?), "example")?;
//! assert_eq!(file.metadata().str("general.architecture")?, Some("llama"));
//! assert_eq!(file.tensor_data("bias")?.as_slice(), [0; 8]);
//! # Ok::<(), inkstone_gguf::Error>(())
//! ```
//!
//! [spec]: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

mod cursor;
mod error;
mod file;
mod layout;
mod metadata;
mod name_index;
mod options;
mod parse;
mod platform;
mod storage;
mod tensor;
mod value;
mod weights;
mod writer;

pub use error::Error;
pub use file::Gguf;
pub use inkstone_tensor::ErrorKind;
pub use metadata::Metadata;
pub use options::{Limits, OpenOptions};
pub use tensor::{TensorInfo, TensorType};
pub use value::{Array, Strings, Value, ValueType};
pub use writer::{TensorSpec, Writer};
