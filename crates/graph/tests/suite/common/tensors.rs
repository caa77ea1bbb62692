//! Weights in memory that depend on nothing but their names.

use super::*;
use inkstone_tensor::{SourceError, WeightBytes, WeightInfo};
use std::collections::BTreeMap;

#[derive(Clone, Default)]
pub struct Tensors(pub BTreeMap<String, (WeightInfo, Arc<Vec<u8>>)>);

impl Tensors {
    /// Those of the llama: matrices in `dtype`, with a head of its own or tied to the embedding.
    pub fn llama(dtype: DType, tied: bool) -> Tensors {
        let mut w = Tensors::default();
        w.add("token_embd.weight", dtype, &[WIDTH, VOCAB]);
        w.add("output_norm.weight", DType::F32, &[WIDTH]);
        if !tied {
            w.add("output.weight", dtype, &[WIDTH, VOCAB]);
        }
        let (q, kv) = (HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM);
        for layer in 0..LAYERS {
            let matrices = [
                ("attn_q", [WIDTH, q]),
                ("attn_k", [WIDTH, kv]),
                ("attn_v", [WIDTH, kv]),
                ("attn_output", [q, WIDTH]),
                ("ffn_gate", [WIDTH, FFN]),
                ("ffn_up", [WIDTH, FFN]),
                ("ffn_down", [FFN, WIDTH]),
            ];
            for (name, dims) in matrices {
                w.add(&format!("blk.{layer}.{name}.weight"), dtype, &dims);
            }
            w.add(&format!("blk.{layer}.attn_norm.weight"), DType::F32, &[WIDTH]);
            w.add(&format!("blk.{layer}.ffn_norm.weight"), DType::F32, &[WIDTH]);
        }
        w.add("blk.1.attn_q.bias", DType::F32, &[q]);
        w
    }

    /// Norms near 1, all else uniform in +-0.5; dimensions in the order of the file.
    pub fn add(&mut self, name: &str, dtype: DType, dims: &[usize]) {
        let (cols, rows) = (dims[0], dims[1..].iter().product::<usize>());
        let mut uniform = uniform(name);
        let centre = if name.contains("norm") { 1.0 } else { 0.0 };
        let values: Vec<f32> = (0..rows * cols).map(|_| centre + uniform()).collect();
        let mut bytes = vec![0u8; rows * dtype.row_bytes(cols).unwrap()];
        dtype.info().encode.unwrap()(&values, &mut bytes);
        self.declare(name, dtype, dims, bytes);
    }

    /// A tensor of which only type and shape matter.
    pub fn declare(&mut self, name: &str, dtype: DType, dims: &[usize], bytes: Vec<u8>) {
        let dims = dims.iter().map(|d| *d as u64).collect();
        self.0.insert(name.to_owned(), (WeightInfo { dtype, dims }, Arc::new(bytes)));
    }
}

/// Numbers in +-0.5 from a name (xorshift from its FNV-1a hash).
pub fn uniform(name: &str) -> impl FnMut() -> f32 + use<> {
    let mut state =
        name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    }
}

impl WeightSource for Tensors {
    fn info(&self, name: &str) -> Option<WeightInfo> {
        self.0.get(name).map(|(info, _)| info.clone())
    }

    fn bytes(&self, name: &str) -> Result<WeightBytes, SourceError> {
        let missing = || SourceError { tensor: name.to_owned(), reason: "not in these tensors".to_owned() };
        let (_, bytes) = self.0.get(name).ok_or_else(missing)?;
        Ok(WeightBytes { data: bytes.clone(), offset: 0, len: bytes.len() })
    }
}
