//! Text generation with models from GGUF files.
//!
//! ```no_run
//! use inkstone::{Message, Model, Options};
//!
//! let model = Model::open("model.gguf")?;
//! let reply = model.generate("Once upon a time", &Options::default().temperature(0.7).max_tokens(64))?;
//! println!("{} ({:?})", reply.text, reply.finish);
//! for piece in model.stream("Tell me a story.", &Options::default())? {
//!     print!("{}", piece?.text);
//! }
//! let reply = model.chat(&[Message::user("Who wrote Faust?")], &Options::default())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Model`] is the high-level interface. [`Generator`] combines a graph, a tokenizer and an engine. Each of the
//! re-exported crates can be used on its own.

#[cfg(feature = "async")]
mod async_stream;
pub mod bench;
mod chat;
mod context;
mod dialogue;
#[cfg(feature = "embedded-model")]
mod embedded;
pub mod engines;
mod error;
mod explain;
mod load;
mod model;
mod model_options;
mod profile;
mod slow_build;
mod vocabulary;

#[cfg(feature = "async")]
pub use async_stream::AsyncStream;
pub use dialogue::{Dialogue, Turn};
#[cfg(feature = "embedded-model")]
pub use embedded::story as embedded_file;
pub use error::{Error, Result};
pub use explain::{ExplainedStep, ExplainedWeight, Explanation, Phase};
pub use model::Model;
pub use model_options::ModelOptions;
pub use profile::{KernelProfile, PlanProfile};

pub use inkstone_compute as compute;
pub use inkstone_compute::Accuracy;
pub use inkstone_generate as generate;
pub use inkstone_gguf as gguf;
pub use inkstone_graph as graph;
pub use inkstone_kvcache as kvcache;
pub use inkstone_model as arch;
pub use inkstone_tensor as tensor;
pub use inkstone_tensor::ErrorKind;
pub use inkstone_text as text;

pub use inkstone_generate::{
    Batch, BatchEnd, BatchEvent, BatchPiece, BatchStream, Cancel, Defaults, FinishReason, Flow, Generator, Limit,
    Metrics, Options, Piece, Prompt, Reply, Request, RunConfig, Session, SessionError, SessionStream, Stream, Timings,
    TokenScore, Usage,
};
pub use inkstone_text::{ChatTemplate, Conversation, Message};
