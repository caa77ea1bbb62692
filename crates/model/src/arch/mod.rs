//! Architectures: one file each, and one line here.

mod gpt2;
mod llama;
mod qwen2;
mod qwen3;

use crate::{Config, Error, KvFormats};
use inkstone_gguf::Metadata;
use inkstone_graph::Graph;
use inkstone_tensor::WeightSource;

/// What an architecture's file gives.
#[derive(Clone, Copy)]
pub(crate) struct Arch {
    /// As `general.architecture` names it.
    pub name: &'static str,
    pub config: fn(&Metadata, &dyn WeightSource) -> Result<Config, Error>,
    /// Tokens to hidden rows.
    pub body: fn(&Config, &dyn WeightSource, KvFormats) -> Result<Graph, Error>,
    /// Hidden rows to logits.
    pub head: fn(&Config, &dyn WeightSource) -> Result<Graph, Error>,
}

pub(crate) static ARCHS: &[Arch] = &[
    Arch { name: "llama", config: llama::config, body: llama::body, head: llama::head },
    Arch { name: "qwen2", config: qwen2::config, body: qwen2::body, head: qwen2::head },
    Arch { name: "qwen3", config: qwen3::config, body: qwen3::body, head: qwen3::head },
    Arch { name: "gpt2", config: gpt2::config, body: gpt2::body, head: gpt2::head },
];
