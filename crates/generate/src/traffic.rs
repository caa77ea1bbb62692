//! The bytes that a step must read and the products that it must compute, independent of its kernels. Benchmarks
//! compare its time with them.

use crate::Result;
use inkstone_compute::{Plan, Region};
use inkstone_graph::{Compiled, Wants};
use inkstone_model::ModelGraph;
use inkstone_tensor::{Dim, Op, Sizes, Slots};

/// Bytes and multiply-adds of the steps of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes of the weights of the layers, which a step reads once for all rows.
    pub body_bytes: u64,
    /// Bytes of the weights that are read only for rows with logits.
    pub head_bytes: u64,
    /// Bytes of keys and values per token, which a row reads for each earlier token.
    pub cache_bytes: u64,
    /// Multiply-adds with weights per row.
    pub body_macs: u64,
    /// Additional multiply-adds with weights per row with logits.
    pub head_macs: u64,
    /// Multiply-adds per row with the keys and values of one token.
    pub cache_macs: u64,
}

impl Traffic {
    pub(crate) fn of(graph: &ModelGraph, compiled: &Compiled) -> Result<Traffic> {
        let body = weights(&compiled.step(1, 1, &Wants::CHUNK.kinds())?);
        let all = weights(&compiled.step(1, 1, &Wants::LOGITS.kinds())?);
        let cache = caches(graph);
        Ok(Traffic {
            body_bytes: body.bytes,
            head_bytes: all.bytes.saturating_sub(body.bytes),
            cache_bytes: cache.bytes,
            body_macs: body.macs,
            head_macs: all.macs.saturating_sub(body.macs),
            cache_macs: cache.macs,
        })
    }

    /// The least number of bytes that a decode step reads for `sequences` sequences with `tokens` tokens each.
    pub fn decode_bytes(&self, sequences: usize, tokens: usize) -> u64 {
        let cached = (sequences as u64).saturating_mul(tokens as u64);
        self.body_bytes.saturating_add(self.head_bytes).saturating_add(cached.saturating_mul(self.cache_bytes))
    }

    /// Multiply-adds of a decode step for `sequences` sequences with `tokens` tokens each.
    pub fn decode_macs(&self, sequences: usize, tokens: usize) -> u64 {
        let row = self.body_macs.saturating_add(self.head_macs);
        row.saturating_add((tokens as u64).saturating_mul(self.cache_macs)).saturating_mul(sequences as u64)
    }

    /// Multiply-adds of a prompt of `tokens` tokens after `before` earlier tokens, with the logits of the last token.
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

/// The keys and values of one token that a row reads: in all layers, by all heads.
fn caches(graph: &ModelGraph) -> Read {
    let one_place = Sizes { slots: Slots::every_group(1), ..Sizes::default() };
    let mut read = Read::default();
    for body in graph.graphs.iter().map(|(_, g)| g.body()) {
        for node in body.nodes.iter().filter(|n| matches!(n.op, Op::Attend(_))) {
            let ([q, keys, values, ..], [x]) = (&body.types_of(&node.ins)[..], &body.types_of(&node.outs)[..]) else {
                continue;
            };
            for cache in [keys, values] {
                read.bytes = read.bytes.saturating_add(cache.bytes(&one_place));
            }
            // A query times a key, and a weight times a value, for each head.
            read.macs = read.macs.saturating_add(q.cols.saturating_add(x.cols) as u64);
        }
    }
    read
}

/// The weights that a plan reads completely, each counted once. Tables of which only some rows are read are excluded.
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
