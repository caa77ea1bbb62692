//! How much memory a model takes: its file's size, its caches and little else. A child process runs a large file that is
//! made here, and tells the most that it had.

#![cfg(target_os = "linux")]

use inkstone::gguf::{TensorSpec, Writer};
use inkstone::tensor::DType;
use inkstone::{Model, ModelOptions, Options};
use inkstone_tests::tiny::{BOS, Tiny};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::Command;

/// Where the file of a child is.
const FILE: &str = "INKSTONE_LARGE_FILE";
/// Engine of a child.
const ENGINE: &str = "INKSTONE_LARGE_ENGINE";

const WIDTH: u64 = 2048;
const FFN: u64 = 57_344;
const CONTEXT: u32 = 512;

/// What may come on top of the file and the caches: plans, vocabulary, the program.
const REST: u64 = 200 << 20;

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

/// Writes a llama of one layer, wide and shallow: little is computed, and a copy of any matrix shows. Returns its bytes.
fn write(path: &Path) -> u64 {
    let vocab = Tiny::random();
    let tokens = vocab.tensors().find(|t| t.name == "token_embd.weight").map(|t| t.dims[1]).unwrap();
    let mut metadata = vocab.metadata.clone();
    for (key, value) in [
        ("block_count", 1u32),
        ("embedding_length", WIDTH as u32),
        ("feed_forward_length", FFN as u32),
        ("attention.head_count", 16),
        ("attention.head_count_kv", 4),
        ("attention.key_length", 128),
        ("attention.value_length", 128),
        ("rope.dimension_count", 128),
        ("context_length", CONTEXT),
    ] {
        metadata.insert(&format!("llama.{key}"), value);
    }
    let matrix = |name: &str, dtype, dims: [u64; 2]| TensorSpec::new(format!("{name}.weight"), dtype, &dims);
    let norm = |name: &str| TensorSpec::new(format!("{name}.weight"), DType::F32, &[WIDTH]);
    let specs = vec![
        matrix("token_embd", DType::Q8_0, [WIDTH, tokens]),
        norm("output_norm"),
        norm("blk.0.attn_norm"),
        matrix("blk.0.attn_q", DType::Q4_K, [WIDTH, WIDTH]),
        matrix("blk.0.attn_k", DType::Q4_K, [WIDTH, WIDTH / 4]),
        matrix("blk.0.attn_v", DType::Q8_0, [WIDTH, WIDTH / 4]),
        matrix("blk.0.attn_output", DType::Q8_0, [WIDTH, WIDTH]),
        norm("blk.0.ffn_norm"),
        matrix("blk.0.ffn_gate", DType::Q8_0, [WIDTH, FFN]),
        matrix("blk.0.ffn_up", DType::Q8_0, [WIDTH, FFN]),
        matrix("blk.0.ffn_down", DType::Q4_K, [FFN, WIDTH]),
    ];
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

/// Most bytes that this process had in memory.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// The part of a child: nothing without its variables.
#[test]
fn child_of_the_test_of_memory() {
    let (Some(path), Ok(engine)) = (std::env::var_os(FILE), std::env::var(ENGINE)) else { return };
    let model = Model::open_with(path, &ModelOptions::default().engine(&engine).ctx(CONTEXT)).unwrap();
    let reply = model.generate_ids(&[BOS, 3, 4], &Options::default().temperature(0.0).max_tokens(3)).unwrap();
    let config = model.config();
    let caches = model.graph().kv_bytes_per_token() * config.context as u64 * config.sequences as u64;
    println!("outcome: {} {caches} {}", reply.ids.len(), peak());
}

#[test]
fn a_model_takes_the_memory_of_its_file_its_caches_and_little_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.gguf");
    let file = write(&path);
    assert!(file > 300 << 20, "{file} bytes");
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "child_of_the_test_of_memory", "--nocapture"]).env(ENGINE, "cpu").env(FILE, &path);
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let outcome = text.lines().find_map(|l| l.split("outcome: ").nth(1));
    let outcome = outcome.unwrap_or_else(|| panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr)));
    let [tokens, caches, peak] = outcome.split(' ').map(|n| n.parse::<u64>().unwrap()).collect::<Vec<_>>()[..] else {
        panic!("{outcome}")
    };
    println!("{} MB of file, {} MB of caches, at most {} MB in memory", file >> 20, caches >> 20, peak >> 20);
    assert!(tokens > 0);
    assert!(peak <= file + caches + REST, "{peak} bytes of a file of {file} and caches of {caches}");
}
