//! The pool and the prefix tree, with random calls, against a model that keeps plain lists.

mod list;
mod memory;
mod random;
mod rng;
mod steps;
mod world;
