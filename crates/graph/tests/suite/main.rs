//! From models to plans.

mod common;
mod copies;
mod fuse;
mod fuse_random;
mod phases;
mod plan;
mod random;
mod trace;
mod two_models;
mod whole_random;
