//! Tests of the interpreter through its public face.

mod common;
mod golden;
