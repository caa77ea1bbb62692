//! Sampling, defined once: from the logits of a row, the tokens so far and a [`Chain`] of stages to the tokens that
//! survive, their probabilities, and the draw.
//!
//! Everything is computed in `f64` with the functions of [`math`](crate::math), so the same row gives the same token
//! on every machine. Where an order matters, a higher logit comes first, then a lower id; sums run in that order. A
//! draw depends on its seed, its index and the surviving logits only: the noise of a token comes from a counter.
//!
//! ```
//! use inkstone_tensor::sampling::{Chain, Draw, Stage, sample, survivors};
//!
//! let chain = Chain::in_order([Stage::TopK(2), Stage::Temperature(0.5)]);
//! assert_eq!(chain.to_string(), "temperature 0.5 | top-k 2 | draw");
//! chain.check(4)?;
//! let (logits, history) = ([1.0, 3.0, 2.0, -1.0], [2, 0]);
//! let left = survivors(&logits, &history, 1, &chain)?;
//! assert_eq!((left[0].0, left[1].0), (1, 2));
//! let token = sample(&logits, &history, 1, &chain, Draw { seed: 7, index: 0 })?;
//! assert!(token == 1 || token == 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chain;
mod draw;
mod edit;
mod error;
mod log_probs;
mod nucleus;
mod philox;
mod row;
mod run;
mod stage;
mod truncate;
mod words;

pub use chain::Chain;
pub use draw::{Draw, gumbel};
pub use error::{ChainError, SampleError};
pub(crate) use log_probs::log_probs_in;
pub use log_probs::{LogProbs, log_probs};
pub use philox::philox4x32_10;
pub use row::Workspace;
pub use run::{sample, sample_in, survivors};
pub use stage::{Stage, StageRef, TokenBias};
pub use words::{ChainRef, StageRefs};
