//! What a step has to read and to multiply, whatever kernels do it: what its time is held against.

use crate::Result;
use inkstone_compute::{Plan, Region};
use inkstone_graph::{Compiled, Kind};
use inkstone_model::ModelGraph;
use inkstone_tensor::{Dim, Op, Sizes};

/// Bytes and multiply-adds of a model's steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes of the weights of the layers, which a step reads once for all its rows.
    pub body_bytes: u64,
    /// Bytes of the weights that only rows with logits need.
    pub head_bytes: u64,
    /// Bytes of keys and values of a token, which a row reads of each token before it.
    pub cache_bytes: u64,
    /// Multiply-adds with weights of a row.
    pub body_macs: u64,
    /// Multiply-adds with weights of a row with logits, beyond those.
    pub head_macs: u64,
    /// Multiply-adds of a row with the keys and values of a token.
    pub cache_macs: u64,
}

impl Traffic {
    pub(crate) fn of(graph: &ModelGraph, compiled: &Compiled) -> Result<Traffic> {
        let body = weights(&compiled.step(1, 1, Kind::CHUNK)?);
        let all = weights(&compiled.step(1, 1, Kind::LOGITS)?);
        let c = &graph.config;
        let cache_macs = c.layers.saturating_mul(c.heads).saturating_mul(c.head_dim.saturating_add(c.value_dim));
        Ok(Traffic {
            body_bytes: body.bytes,
            head_bytes: all.bytes.saturating_sub(body.bytes),
            cache_bytes: graph.kv_bytes_per_token(),
            body_macs: body.macs,
            head_macs: all.macs.saturating_sub(body.macs),
            cache_macs: cache_macs as u64,
        })
    }

    /// Bytes that a decode step of so many sequences, each with so many tokens, reads at least.
    pub fn decode_bytes(&self, sequences: usize, tokens: usize) -> u64 {
        let cached = (sequences as u64).saturating_mul(tokens as u64);
        self.body_bytes.saturating_add(self.head_bytes).saturating_add(cached.saturating_mul(self.cache_bytes))
    }

    /// Multiply-adds of a decode step of so many sequences, each with so many tokens.
    pub fn decode_macs(&self, sequences: usize, tokens: usize) -> u64 {
        let row = self.body_macs.saturating_add(self.head_macs);
        row.saturating_add((tokens as u64).saturating_mul(self.cache_macs)).saturating_mul(sequences as u64)
    }

    /// Multiply-adds of a prompt of so many tokens behind `before` others, with the logits of its last one.
    pub fn prompt_macs(&self, tokens: usize, before: usize) -> u64 {
        let (n, before) = (tokens as u64, before as u64);
        let seen = n.saturating_mul(before).saturating_add(n.saturating_mul(n + 1) / 2);
        let products = n.saturating_mul(self.body_macs).saturating_add(self.head_macs);
        products.saturating_add(seen.saturating_mul(self.cache_macs))
    }
}

#[derive(Default)]
struct Read {
    bytes: u64,
    macs: u64,
}

/// The weights that a plan reads whole, each once: all but tables that rows are taken from.
fn weights(plan: &Plan) -> Read {
    let mut seen = Vec::new();
    let mut read = Read::default();
    let whole = plan.steps.iter().filter(|s| !matches!(s.op, Op::Embed(_)));
    for arg in whole.flat_map(|step| step.ins()) {
        let Region::Weight(id) = arg.region else { continue };
        if seen.contains(&id) {
            continue;
        }
        seen.push(id);
        read.bytes = read.bytes.saturating_add(arg.ty.bytes(&Sizes::default()));
        // Vectors are added or multiplied, not summed over.
        if arg.ty.rows != Dim::N(1) {
            read.macs = read.macs.saturating_add(arg.ty.elements(&Sizes::default()));
        }
    }
    read
}
