//! Model architectures: one file each, written against the tracer. A model is three graphs (body, head, select) and the
//! source of its weights; it names no engine, no batch and, but for its caches, no dtype.

mod arch;
mod block;
mod config;
mod error;
mod fields;
mod model_graph;
mod rope;
mod select;

pub use config::Config;
pub use error::Error;
pub use model_graph::{KvFormats, ModelGraph, architectures};
pub use rope::{RopeConfig, Scaling};

pub(crate) use model_graph::weight_f32;
