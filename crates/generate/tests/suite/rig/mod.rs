//! A model without layers that hashes the tokens so far instead of sampling, and the outcome of a request by the
//! description of its options alone.
#![allow(dead_code, unused_imports)] // the unit tests of the clock use a part

mod attention;
mod engine;
mod hash;
mod leaves;
mod model;
mod outcome;
mod plain_search;
mod rng;

pub use engine::Gate;
pub use hash::{fails, next_token};
pub use leaves::Leaves;
pub use model::{AHEAD, BOS, BUDGET, EOS, PIECES, Setup, VOCAB, WINDOW, logit};
pub use outcome::{Outcome, Reader, Request};
pub use plain_search::PlainSearch;
pub use rng::Rng;
