//! A model file of 300 MB, of random weights.

use crate::tiny::Tiny;
use inkstone::gguf::{TensorSpec, Writer};
use inkstone::tensor::DType;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// The sizes of a model.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Layers.
    pub layers: u32,
    /// Values of a hidden row: a multiple of 1024.
    pub width: u64,
    /// Values within the network of a layer: a multiple of 256.
    pub ffn: u64,
}

/// Wide and shallow: little is computed, and a copy of any matrix shows.
pub const SHALLOW: Shape = Shape { layers: 1, width: 2048, ffn: 57_344 };

/// Narrow and deep: values between steps take little memory.
pub const DEEP: Shape = Shape { layers: 24, width: 1024, ffn: 4096 };

/// Its context.
pub const CONTEXT: u32 = 512;

/// Random blocks, whose scales are small numbers.
fn blocks(dtype: DType, bytes: usize, seed: &mut u64) -> Vec<u8> {
    let mut data = vec![0u8; bytes];
    for word in data.chunks_exact_mut(8) {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        word.copy_from_slice(&(*seed ^ *seed >> 29).to_le_bytes());
    }
    let halves: &[usize] = if dtype == DType::Q4_K { &[1, 3] } else { &[1] };
    for block in data.chunks_exact_mut(dtype.block_bytes()) {
        // The upper byte of a number of half precision: about 2^-12.
        halves.iter().for_each(|at| block[*at] = 0x0c);
    }
    data
}

/// Writes a llama of some 300 MB. Returns its bytes.
pub fn write(path: &Path, shape: Shape) -> u64 {
    let Shape { layers, width, ffn } = shape;
    let vocab = Tiny::random();
    let tokens = vocab.tensors().find(|t| t.name == "token_embd.weight").map(|t| t.dims[1]).unwrap();
    let mut metadata = vocab.metadata.clone();
    for (key, value) in [
        ("block_count", layers),
        ("embedding_length", width as u32),
        ("feed_forward_length", ffn as u32),
        ("attention.head_count", width as u32 / 128),
        ("attention.head_count_kv", width as u32 / 512),
        ("attention.key_length", 128),
        ("attention.value_length", 128),
        ("rope.dimension_count", 128),
        ("context_length", CONTEXT),
    ] {
        metadata.insert(&format!("llama.{key}"), value);
    }
    let matrix = |name: &str, dtype, dims: [u64; 2]| TensorSpec::new(format!("{name}.weight"), dtype, &dims);
    let norm = |name: &str| TensorSpec::new(format!("{name}.weight"), DType::F32, &[width]);
    let mut specs = vec![matrix("token_embd", DType::Q8_0, [width, tokens]), norm("output_norm")];
    for layer in 0..layers {
        let name = |name: &str| format!("blk.{layer}.{name}");
        specs.extend([
            norm(&name("attn_norm")),
            matrix(&name("attn_q"), DType::Q4_K, [width, width]),
            matrix(&name("attn_k"), DType::Q4_K, [width, width / 4]),
            matrix(&name("attn_v"), DType::Q8_0, [width, width / 4]),
            matrix(&name("attn_output"), DType::Q8_0, [width, width]),
            norm(&name("ffn_norm")),
            matrix(&name("ffn_gate"), DType::Q8_0, [width, ffn]),
            matrix(&name("ffn_up"), DType::Q8_0, [width, ffn]),
            matrix(&name("ffn_down"), DType::Q4_K, [ffn, width]),
        ]);
    }
    let mut writer = Writer::new(BufWriter::new(File::create(path).unwrap()), &metadata, specs.clone()).unwrap();
    let mut seed = 1;
    for TensorSpec { dtype, dims, .. } in &specs {
        let rows = dims.get(1).map_or(1, |n| *n as usize);
        if *dtype == DType::F32 {
            writer.data(&1f32.to_le_bytes().repeat(dims[0] as usize)).unwrap();
            continue;
        }
        let row = dtype.row_bytes(dims[0] as usize).unwrap();
        for from in (0..rows).step_by(64) {
            writer.data(&blocks(*dtype, row * 64.min(rows - from), &mut seed)).unwrap();
        }
    }
    drop(writer.finish().unwrap());
    std::fs::metadata(path).unwrap().len()
}
