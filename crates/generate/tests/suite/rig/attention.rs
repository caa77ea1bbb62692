//! A file of one layer with attention, whose logits depend on all tokens so far.

use super::model::{Tensor, VOCAB, metadata, write};
use super::rng::Rng;
use inkstone_gguf::Gguf;
use std::sync::Arc;

/// Values in the row of a token, in heads of [`WIDTH`] / [`HEADS`] values.
const WIDTH: usize = 16;
/// Heads of queries, and of keys and values.
const HEADS: u32 = 2;

/// A file whose weights are random numbers with this seed, except for the row of a token.
pub(super) fn file(seed: u64, nan: Option<u32>) -> Arc<Gguf> {
    let mut rng = Rng(seed);
    let mut random = |name, dims: &[usize]| {
        let values = (0..dims.iter().product()).map(|_| rng.below(2001) as f32 / 1000.0 - 1.0);
        (name, dims.to_vec(), values.collect())
    };
    let mut tensors: [Tensor; 12] = [
        random("token_embd", &[WIDTH, VOCAB]),
        random("output", &[WIDTH, VOCAB]),
        random("output_norm", &[WIDTH]),
        random("blk.0.attn_norm", &[WIDTH]),
        random("blk.0.ffn_norm", &[WIDTH]),
        random("blk.0.ffn_gate", &[WIDTH, 1]),
        random("blk.0.ffn_up", &[WIDTH, 1]),
        random("blk.0.ffn_down", &[1, WIDTH]),
        random("blk.0.attn_q", &[WIDTH, WIDTH]),
        random("blk.0.attn_k", &[WIDTH, WIDTH]),
        random("blk.0.attn_v", &[WIDTH, WIDTH]),
        random("blk.0.attn_output", &[WIDTH, WIDTH]),
    ];
    if let Some(id) = nan {
        tensors[0].2[id as usize * WIDTH..][..WIDTH].fill(f32::NAN);
    }
    write(&metadata(WIDTH, HEADS), &tensors)
}
