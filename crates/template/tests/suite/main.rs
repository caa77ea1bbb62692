//! Tests of the interpreter through its public face.

mod bad_inputs;
mod common;
mod golden;
