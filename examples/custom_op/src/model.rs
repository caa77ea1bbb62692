//! The model: a file's own, but that the op stands behind its head.

use crate::soft_cap::SoftCap;
use inkstone::arch::{Config, KvFormats, ModelGraph};
use inkstone::compute::Engine;
use inkstone::gguf::{Gguf, OpenOptions};
use inkstone::graph::{Graph, Kind, Port, Tracer};
use inkstone::tensor::{Dim, Type, WeightSource};
use inkstone::text::Tokenizer;
use inkstone::{Generator, Options, RunConfig};
use std::error::Error;
use std::sync::Arc;

/// Tokens that a sequence can have.
const CONTEXT: usize = 256;

/// The model of `path` on `engine`; with a cap its logits are capped.
///
/// # Errors
/// What is wrong with the file, or why the engine can't run the model.
pub fn generator(path: &str, engine: Arc<dyn Engine>, cap: Option<SoftCap>) -> Result<Generator, Box<dyn Error>> {
    let file = Arc::new(Gguf::open(path, &OpenOptions::default())?);
    let tokenizer = Arc::new(Tokenizer::from_metadata(file.metadata())?);
    let mut graph = ModelGraph::open(file, KvFormats::default())?;
    if let Some(cap) = cap {
        graph.set_graph(Kind::HEAD, head(&graph.config, &*graph.weights, cap)?)?;
    }
    Ok(Generator::new(Arc::new(graph), tokenizer, engine, RunConfig::new(CONTEXT), Options::default())?)
}

/// The graph from selected rows to logits, as in Llama except for the last line.
fn head(c: &Config, weights: &dyn WeightSource, cap: SoftCap) -> Result<Graph, inkstone::graph::Error> {
    let t = Tracer::new("head", weights);
    let x = t.gather_rows(t.input(Port::HIDDEN, Type::f32(Dim::Rows, c.width)))?;
    let h = t.rms_norm(x, t.vector("output_norm.weight", c.width)?, c.eps)?;
    let table = if t.has("output.weight") { "output.weight" } else { "token_embd.weight" };
    let logits = t.linear(h, t.weight(table, c.vocab, c.width)?, None)?;
    t.output(Port::LOGITS, t.custom(Arc::new(cap), &[logits])?);
    t.finish()
}
