//! What is computed, from outside.

mod chains;
mod math;
mod quants;
mod samplers;
mod sampling;
mod top_p;
