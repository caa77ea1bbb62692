//! The beginning and end of the bodies and heads of all architectures.

use crate::config::EMBEDDING;
use crate::{Config, Error};
use inkstone_graph::{Graph, Port, Result, Tracer, Value};
use inkstone_tensor::{Dim, Type, WeightSource};

/// Traces the graph from tokens to hidden rows. `layers` computes them from the rows of the step.
pub(crate) fn body(
    source: &dyn WeightSource,
    layers: impl FnOnce(&Tracer, Value) -> Result<Value>,
) -> Result<Graph, Error> {
    let t = Tracer::new("body", source);
    let carry = t.carry();
    let rows = t.begin_step(&carry)?;
    t.keep(t.history_write(t.history(), rows)?);
    let x = layers(&t, rows)?;
    t.keep(t.advance(carry, rows)?);
    t.output(Port::ROWS, rows);
    t.output(Port::HIDDEN, x);
    Ok(t.finish()?)
}

/// Traces the graph from selected rows to logits, after the last norm. In a file without a head, the head is tied to
/// the embedding.
pub(crate) fn head(
    c: &Config,
    source: &dyn WeightSource,
    norm: impl FnOnce(&Tracer, Value) -> Result<Value>,
) -> Result<Graph, Error> {
    let t = Tracer::new("head", source);
    let x = t.gather_rows(t.input(Port::HIDDEN, Type::f32(Dim::Rows, c.width)))?;
    let h = norm(&t, x)?;
    let name = if t.has("output.weight") { "output.weight" } else { EMBEDDING };
    t.output(Port::LOGITS, t.linear(h, t.weight(name, c.vocab, c.width)?, None)?);
    Ok(t.finish()?)
}
