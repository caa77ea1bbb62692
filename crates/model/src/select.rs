//! The graph from logits to tokens, which all architectures share.

use crate::Error;
use inkstone_graph::{Graph, Port, Tracer};
use inkstone_tensor::step::ROWS;
use inkstone_tensor::{Dim, NoWeights, Type};

/// The graph that draws tokens. With `scored` it also computes log-probabilities, which never changes the tokens.
pub(crate) fn select(vocab: usize, scored: bool) -> Result<Graph, Error> {
    let t = Tracer::new(if scored { "select+score" } else { "select" }, &NoWeights);
    let logits = t.input(Port::LOGITS, Type::f32(Dim::LogitRows, vocab));
    let rows = t.input(Port::ROWS, ROWS);
    let history = t.history();
    let records = t.sample(logits, rows, &history)?;
    t.keep(history);
    t.keep(t.accept(t.carry(), records)?);
    if scored {
        t.output(Port::SCORES, t.score(logits, records)?);
    }
    t.output(Port::RECORDS, records);
    Ok(t.finish()?)
}
