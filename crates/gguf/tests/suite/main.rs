//! Tests of reader and writer.

mod bad_inputs;
#[path = "../common/mod.rs"]
mod common;
mod corpus;
#[path = "../../../../fuzz/checks/gguf_reader.rs"]
mod gguf_reader;
mod round_trip;
mod scale;
