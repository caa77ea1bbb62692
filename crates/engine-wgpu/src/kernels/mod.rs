//! The kernels: the chains and ops that they take, and their texts.

pub mod sample;
