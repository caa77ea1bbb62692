//! Engines against what others computed. A program of its own, because `cargo xtask test no-eval` runs it where definitions are
//! forbidden in the whole process.

mod archs;
mod models;
mod perplexity;
mod real;
mod story;
