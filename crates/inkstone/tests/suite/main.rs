//! The library with the story model inside.
#![cfg(feature = "embedded-model")]

#[cfg(feature = "async")]
mod async_stream;
mod bench;
mod dialogue;
mod embedded;
mod explain;
mod float_mode;
mod model;
mod profile;
