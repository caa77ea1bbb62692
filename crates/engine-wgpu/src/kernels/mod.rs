//! The kernels: what they take, and the texts that they consist of.

pub mod sample;
