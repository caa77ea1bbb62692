//! From prompts to text: options, the sampling chain of a request, stop rules, and the one loop that serves every entry
//! point.
//!
//! [`Generator`] puts a traced model, a tokenizer and an engine together. Every call becomes a sequence in its scheduler;
//! a step takes any mixture of prompts and decodes, and what a sequence gets does not depend on the others.

#[cfg(feature = "async")]
mod async_stream;
mod error;
mod footprint;
mod generator;
#[cfg(feature = "serde")]
mod json;
mod loaded;
mod options;
mod output;
mod profile;
mod reply;
mod request;
mod runner;
mod scheduler;
mod sequence;
mod steps;
mod stops;
mod stream;
mod traffic;

#[cfg(feature = "async")]
pub use async_stream::AsyncStream;
pub use error::{Error, Result};
pub use footprint::Footprint;
pub use generator::{Generator, RunConfig};
pub use loaded::Loaded;
pub use options::{Cancel, Defaults, Limit, Options};
pub use profile::{PlanTimes, Runs};
pub use reply::{FinishReason, Flow, Piece, Reply, Timings, TokenScore, Usage};
pub use request::file_options;
pub use steps::Steps;
pub use stops::{MAX_STOP_BYTES, MAX_STOPS, StopRules};
pub use stream::Stream;
pub use traffic::Traffic;
