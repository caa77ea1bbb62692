//! What is computed, from outside.

mod chains;
mod history;
mod math;
mod quants;
mod samplers;
mod sampling;
mod top_p;
mod windows;
