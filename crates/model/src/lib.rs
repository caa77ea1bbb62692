//! Model architectures: one file each, written with the tracer. A model consists of graphs (body, head, select) and
//! the source of its weights. It does not depend on engines, batches or dtypes, except for the dtypes of its
//! caches.
//!
//! ```no_run
//! use inkstone_gguf::{Gguf, OpenOptions};
//! use inkstone_model::{KvFormats, ModelGraph, architectures};
//!
//! assert!(architectures().any(|name| name == "llama"));
//! let file = Gguf::open("model.gguf", &OpenOptions::default())?;
//! let model = ModelGraph::open(file.into(), KvFormats::default())?;
//! for (kind, graph) in &model.graphs {
//!     println!("{kind} of {} layers\n{graph}", model.config.layers);
//! }
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
mod windows;

pub use config::Config;
pub use error::Error;
pub use model_graph::{KvFormats, ModelGraph, architectures};
pub use positions::Positions;
pub use rope::{RopeConfig, Scaling};

pub(crate) use model_graph::weight_f32;
