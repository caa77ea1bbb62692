//! The CPU engine gives the same bits on every instruction set that this machine has, and with any number of threads.

use inkstone::compute::EngineOptions;
use inkstone::kvcache::Format;
use inkstone::{Model, ModelOptions};
use inkstone_engine_cpu::{Cpu, Set};
use inkstone_tests::{assert_same_bits, assets, encoded, json, oracle, relative_l2};
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;

#[derive(Deserialize)]
struct Case {
    ids: Vec<u32>,
}

/// Logits of a file on one instruction set.
fn logits(file: &Path, ids: &[u32], set: Set, threads: usize, format: &str, chunk: Option<usize>) -> Vec<f32> {
    let name = format!("cpu {}", set.name());
    let factory = move |options: &EngineOptions| Ok(Arc::new(Cpu::new(&options.clone().isa(set.name()))?) as _);
    inkstone::engines::register(name.as_str(), Arc::new(factory));
    let format = Format::named(format).unwrap();
    let options = ModelOptions::default().engine(&name).threads(threads).kv_type(format);
    Model::open_with(file, &options).unwrap().logits(ids, chunk).unwrap()
}

fn equal_on_all(file: &Path, ids: &[u32], format: &str) {
    let wanted = logits(file, ids, Set::Portable, 1, format, None);
    for set in Set::ALL.into_iter().filter(|s| s.is_here()) {
        for (threads, chunk) in [(1, None), (2, None), (3, None), (2, Some(1)), (3, Some(7))] {
            let found = logits(file, ids, set, threads, format, chunk);
            assert_same_bits(&found, &wanted, &format!("{}, {threads} threads, chunks of {chunk:?}", set.name()));
        }
    }
}

#[test]
fn sets_threads_and_chunks_give_equal_bits_on_floats() {
    let folder = oracle("archs/llama");
    let case: Case = json(&folder.join("case.json"));
    for format in ["f32", "f16"] {
        equal_on_all(&folder.join("model.gguf"), &case.ids[..80.min(case.ids.len())], format);
    }
}

#[test]
fn sets_threads_and_chunks_give_equal_bits_on_quantised_weights() {
    let ids: Vec<u32> = (0..90).map(|i| 5 + i * 37 % 900).collect();
    equal_on_all(&assets("story-draft-q8_0.gguf"), &ids, "f16");
}

#[test]
fn with_encoded_activations_the_definitions_give_the_same_logits() {
    let ids: Vec<u32> = (0..60).map(|i| 5 + i * 37 % 900).collect();
    let logits = |engine: &str| {
        let options = ModelOptions::default().engine(engine).kv_type(Format::named("f32").unwrap());
        Model::open_with(assets("story-draft-q8_0.gguf"), &options).unwrap().logits(&ids, None).unwrap()
    };
    let (wanted, plain, found) = (logits(encoded()), logits("reference"), logits("cpu"));
    let (distance, of_plain) = (relative_l2(&found, &wanted), relative_l2(&plain, &wanted));
    println!(
        "{distance:.1e} from the definitions with encoded activations, which are {of_plain:.1e} from those without"
    );
    assert!(distance < of_plain / 4.0, "{distance:.1e}, and without the encoding {of_plain:.1e}");
}
