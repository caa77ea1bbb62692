//! Model architectures: one file each, written against the tracer. A model is three graphs (body, head, select) and the
//! source of its weights; it names no engine, no batch and, but for its caches, no dtype.
//!
//! ```no_run
//! use inkstone_gguf::{Gguf, OpenOptions};
//! use inkstone_model::{KvFormats, ModelGraph, architectures};
//!
//! assert!(architectures().any(|name| name == "llama"));
//! let file = Gguf::open("model.gguf", &OpenOptions::default())?;
//! let model = ModelGraph::open(file.into(), KvFormats::default())?;
//! println!("{} layers\n{}", model.config.layers, model.body);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arch;
mod block;
mod config;
mod error;
mod fields;
mod frame;
mod model_graph;
mod positions;
mod rope;
mod select;

pub use config::Config;
pub use error::Error;
pub use model_graph::{KvFormats, ModelGraph, architectures};
pub use positions::Positions;
pub use rope::{RopeConfig, Scaling};

pub(crate) use model_graph::weight_f32;
