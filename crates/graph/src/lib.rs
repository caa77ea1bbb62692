//! Models to plans. A model file is written against [`Tracer`], which types each op at once and knows states as linear
//! values; the result is a [`Graph`], whose meaning is [`Graph::interpret`]. [`compile()`] makes [plans] of the graphs of a
//! model for one engine's kernels. It knows no device: kernels are data in a registry.
//!
//! ```
//! use inkstone_compute::Port;
//! use inkstone_graph::{Result, Tracer};
//! use inkstone_tensor::{Dim, Type, WeightSource};
//!
//! /// Gives the square of each hidden value.
//! fn square(weights: &dyn WeightSource) -> Result<inkstone_graph::Graph> {
//!     let t = Tracer::new("head", weights);
//!     let x = t.input(Port::HIDDEN, Type::f32(Dim::Rows, 64));
//!     t.output(Port::LOGITS, t.mul(x, x)?);
//!     t.finish()
//! }
//! ```
//!
//! [plans]: inkstone_compute::Plan

mod check;
mod compile;
mod copies;
mod error;
pub mod fuse;
mod graph;
mod kind;
pub mod passes;
#[cfg(test)]
mod test_support;
mod tracer;
mod verify;

pub use check::check;
pub use compile::{Compiled, compile};
pub use copies::copies;
pub use error::{Error, Result};
pub use fuse::fusions;
pub use graph::{Graph, Source};
pub use inkstone_compute::{Port, What};
pub use kind::{Kind, Kinds, Part, Variants, Wants};
pub use passes::{Context, Report};
pub use tracer::{State, Tracer, Value};
pub use verify::Fault;
