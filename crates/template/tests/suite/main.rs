//! Tests of the interpreter through its public face.

mod bad_inputs;
mod common;
mod corpus;
mod golden;
mod runs;

#[path = "../../../../fuzz/checks/template.rs"]
mod fuzzed;
