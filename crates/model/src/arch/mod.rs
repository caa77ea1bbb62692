//! Architectures: one file each, and one line here.

mod llama;

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

pub(crate) static ARCHS: &[Arch] =
    &[Arch { name: "llama", config: llama::config, body: llama::body, head: llama::head }];
