//! From prompts to text: options, the sampling chain of a request, stop rules, and the one loop that serves every entry
//! point.

mod options;
mod reply;

pub use options::{Cancel, Defaults, Limit, Options};
pub use reply::{FinishReason, Flow, Piece, Reply, Timings, TokenScore, Usage};
