//! Architectures: one file each, and one line in the table of this file.

mod gemma3;
mod gpt2;
mod llama;
mod qwen2;
mod qwen3;

use crate::{Config, Error, KvFormats};
use inkstone_gguf::Metadata;
use inkstone_graph::Graph;
use inkstone_tensor::WeightSource;

/// A row of the table, which the file of an architecture defines.
#[derive(Clone, Copy)]
pub(crate) struct Arch {
    /// The name in `general.architecture`.
    pub name: &'static str,
    pub config: fn(&Metadata, &dyn WeightSource) -> Result<Config, Error>,
    /// Traces the graph from tokens to hidden rows.
    pub body: fn(&Config, &dyn WeightSource, KvFormats) -> Result<Graph, Error>,
    /// Traces the graph from hidden rows to logits.
    pub head: fn(&Config, &dyn WeightSource) -> Result<Graph, Error>,
}

pub(crate) static ARCHS: &[Arch] = &[
    Arch { name: "llama", config: llama::config, body: llama::body, head: llama::head },
    Arch { name: "qwen2", config: qwen2::config, body: qwen2::body, head: qwen2::head },
    Arch { name: "qwen3", config: qwen3::config, body: qwen3::body, head: qwen3::head },
    Arch { name: "gpt2", config: gpt2::config, body: gpt2::body, head: gpt2::head },
    Arch { name: "gemma3", config: gemma3::config, body: gemma3::body, head: gemma3::head },
];
