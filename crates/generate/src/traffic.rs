//! The bytes that a step must read and the products that it must compute, independent of its kernels. Benchmarks
//! compare its time with them.

use crate::Result;
use crate::memory::sum;
use inkstone_compute::{Plan, Region};
use inkstone_graph::{Compiled, Wants};
use inkstone_model::ModelGraph;
use inkstone_tensor::{Dim, Op, Sizes, Slots};

/// Bytes and multiply-adds of the steps of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes of the weights of the layers, which a step reads once for all rows.
    pub body_bytes: u64,
    /// Bytes of the weights that are read only for rows with logits.
    pub head_bytes: u64,
    /// Multiply-adds with weights per row.
    pub body_macs: u64,
    /// Additional multiply-adds with weights per row with logits.
    pub head_macs: u64,
    /// The keys and values that a row reads, by the number of tokens of which it reads them.
    pub caches: Vec<CacheTraffic>,
}

/// The keys and values of the layers whose rows see equally many tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheTraffic {
    /// The most tokens that a row sees, itself included; `u64::MAX` in layers without a window.
    pub most: u64,
    /// Bytes of the keys and values of one token.
    pub bytes: u64,
    /// Multiply-adds of a row with the keys and values of one token.
    pub macs: u64,
}

impl Traffic {
    pub(crate) fn of(graph: &ModelGraph, compiled: &Compiled) -> Result<Traffic> {
        let body = weights(&compiled.step(1, 1, &Wants::CHUNK.kinds())?);
        let all = weights(&compiled.step(1, 1, &Wants::LOGITS.kinds())?);
        Ok(Traffic {
            body_bytes: body.bytes,
            head_bytes: all.bytes.saturating_sub(body.bytes),
            body_macs: body.macs,
            head_macs: all.macs.saturating_sub(body.macs),
            caches: caches(graph),
        })
    }

    /// The least number of bytes that a decode step reads for `sequences` sequences with `tokens` tokens each.
    pub fn decode_bytes(&self, sequences: usize, tokens: usize) -> u64 {
        let cached = sum(self.caches.iter().map(|c| c.most.min(tokens as u64).saturating_mul(c.bytes)));
        sum([self.body_bytes, self.head_bytes, cached.saturating_mul(sequences as u64)])
    }

    /// Multiply-adds of a decode step for `sequences` sequences with `tokens` tokens each.
    pub fn decode_macs(&self, sequences: usize, tokens: usize) -> u64 {
        let cached = sum(self.caches.iter().map(|c| c.most.min(tokens as u64).saturating_mul(c.macs)));
        sum([self.body_macs, self.head_macs, cached]).saturating_mul(sequences as u64)
    }

    /// Multiply-adds of a prompt of `tokens` tokens after `before` earlier tokens, with the logits of the last token.
    pub fn prompt_macs(&self, tokens: usize, before: usize) -> u64 {
        let (n, before) = (tokens as u64, before as u64);
        let cached = sum(self.caches.iter().map(|c| c.seen(n, before).saturating_mul(c.macs)));
        sum([n.saturating_mul(self.body_macs), self.head_macs, cached])
    }
}

impl CacheTraffic {
    /// The tokens that `n` rows after `before` earlier ones see, each counted by each row.
    fn seen(&self, n: u64, before: u64) -> u64 {
        // The rows that see everything before them, and the rows behind them.
        let all = self.most.saturating_sub(before).min(n);
        let triangle = (u128::from(all) * (u128::from(all) + 1) / 2).min(u128::from(u64::MAX)) as u64;
        sum([all.saturating_mul(before), triangle, (n - all).saturating_mul(self.most)])
    }
}

#[derive(Default)]
struct Read {
    bytes: u64,
    macs: u64,
}

/// The keys and values that a row reads: in all layers, by all heads.
fn caches(graph: &ModelGraph) -> Vec<CacheTraffic> {
    let one_place = Sizes { slots: Slots::every_group(1), ..Sizes::default() };
    let mut caches: Vec<CacheTraffic> = Vec::new();
    for body in graph.graphs.iter().map(|(_, g)| g.body()) {
        for node in &body.nodes {
            let (Op::Attend(op), ins, outs) = (&node.op, body.types_of(&node.ins), body.types_of(&node.outs)) else {
                continue;
            };
            let ([q, keys, values, ..], [x]) = (&ins[..], &outs[..]) else { continue };
            let most = op.window.map_or(u64::MAX, |window| window.most() as u64);
            let at = caches.iter().position(|c| c.most == most).unwrap_or_else(|| {
                caches.push(CacheTraffic { most, ..CacheTraffic::default() });
                caches.len() - 1
            });
            let cache = &mut caches[at];
            cache.bytes = sum([cache.bytes, keys.bytes(&one_place), values.bytes(&one_place)]);
            // A query times a key, and a weight times a value, for each head.
            cache.macs = sum([cache.macs, q.cols as u64, x.cols as u64]);
        }
    }
    caches
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_see_no_more_than_their_window() {
        for most in [1, 5, 32, u64::MAX] {
            let cache = CacheTraffic { most, bytes: 3, macs: 2 };
            let traffic = Traffic { body_bytes: 10, body_macs: 7, caches: vec![cache, cache], ..Traffic::default() };
            for before in [0, 1, 4, 5, 31, 40] {
                for n in [1, 2, 6, 50] {
                    let seen: u64 = (1..=n).map(|i| most.min(before + i)).sum();
                    assert_eq!(
                        traffic.prompt_macs(n as usize, before as usize),
                        7 * n + 4 * seen,
                        "{most}, {before}, {n}"
                    );
                }
                let seen = most.min(before);
                assert_eq!(traffic.decode_bytes(3, before as usize), 10 + 3 * 6 * seen);
                assert_eq!(traffic.decode_macs(3, before as usize), 3 * (7 + 4 * seen));
            }
        }
    }
}
