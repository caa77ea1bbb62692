//! Text generation: options, the sampling chain of a request, stop rules, and the loop that serves every entry point.
//!
//! A [`Generator`] combines a traced model, a tokenizer and an engine. Every call becomes a sequence in its scheduler.
//! A step computes any mixture of prompts and decodes, and the result of a sequence does not depend on the other
//! sequences.

mod admission;
#[cfg(feature = "async")]
mod async_stream;
mod batch;
mod beams;
mod clock;
mod compose;
mod error;
mod flight;
mod footprint;
mod generator;
mod host;
mod inbox;
#[cfg(feature = "serde")]
mod json;
mod loaded;
mod memory;
mod metrics;
mod options;
mod output;
mod pace;
mod prefix;
mod profile;
mod question;
mod reply;
mod request;
mod runner;
mod scheduler;
mod sequence;
mod session;
mod steps;
mod stops;
mod stream;
mod traffic;

// The tests of the clock share a model with the tests in `tests`, which know this crate by its name.
#[cfg(test)]
extern crate self as inkstone_generate;

#[cfg(feature = "async")]
pub use async_stream::AsyncStream;
pub use batch::{Batch, BatchEnd, BatchEvent, BatchPiece, BatchStream, Prompt, Request};
pub use error::{Error, Result};
pub use footprint::Footprint;
pub use generator::{Generator, RunConfig};
pub use loaded::{Loaded, Unloaded};
pub use memory::{Needs, Windows};
pub use metrics::Metrics;
pub use options::{Cancel, Defaults, Limit, Options};
pub use profile::{PlanTimes, Runs};
pub use reply::{FinishReason, Flow, Piece, Reply, Timings, TokenScore, Usage};
pub use request::file_options;
pub use session::{MAX_EXTRA, Session, SessionError, SessionStream};
pub use steps::{PageOrder, Steps};
pub use stops::{MAX_STOP_BYTES, MAX_STOPS, StopRules};
pub use stream::Stream;
pub use traffic::{CacheTraffic, Traffic};
