//! Fusion changes no bit: fused plans and dissolved ones give the same logits, with each fusion switched off in turn, in
//! all buckets.

use inkstone::graph::fusions;
use inkstone::kvcache::Format;
use inkstone::{Model, ModelOptions};
use inkstone_tests::{assert_same_bits, assets, json, on_engines, oracle};
use serde::Deserialize;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Case {
    ids: Vec<u32>,
}

/// Tokens that are fed: more than decoding has rows for.
const TOKENS: usize = 20;
/// Chunks for each bucket of rows.
const CHUNKS: [Option<usize>; 3] = [None, Some(7), Some(1)];

/// A model of each architecture, in floats.
fn archs() -> Vec<(PathBuf, Vec<u32>)> {
    let case = |name: &str| {
        let folder = oracle("archs").join(name);
        let ids = json::<Case>(&folder.join("case.json")).ids;
        (folder.join("model.gguf"), ids[..TOKENS].to_vec())
    };
    ["llama", "qwen2", "qwen3", "gpt2"].map(case).into()
}

/// One with quantised weights.
fn story() -> (PathBuf, Vec<u32>) {
    (assets("story-draft-q8_0.gguf"), (0..TOKENS as u32).map(|i| 5 + i * 37 % 900).collect())
}

fn open(engine: &str, file: &Path, without: &[&str]) -> Model {
    let options = ModelOptions::default().engine(engine).ctx(64).kv_type(Format::named("f16").unwrap());
    let options = without.iter().fold(options, |options, name| options.without_fusion(*name));
    Model::open_with(file, &options).unwrap()
}

fn fusing_changes_no_bit(engine: &str) {
    let all: Vec<&str> = fusions().collect();
    for (file, ids) in archs().into_iter().chain([story()]) {
        let wanted = open(engine, &file, &all).logits(&ids, None).unwrap();
        let each_off = all.iter().map(|off| vec![*off]);
        for without in each_off.chain([vec![], all.clone()]) {
            let model = open(engine, &file, &without);
            for chunk in CHUNKS {
                let found = model.logits(&ids, chunk).unwrap();
                let what = format!("{engine}, {}: without {without:?}, chunks of {chunk:?}", file.display());
                assert_same_bits(&found, &wanted, &what);
            }
        }
    }
}

fn an_unknown_fusion_is_an_error_that_lists_the_known(engine: &str) {
    let options = ModelOptions::default().engine(engine).without_fusion("norm_glue");
    let error = Model::open_with(story().0, &options).err().unwrap().to_string();
    let known = fusions().collect::<Vec<_>>().join(", ");
    assert_eq!(error, format!("no fusion is called norm_glue; there are: {known}"));
}

on_engines! {
    fusing_changes_no_bit
    an_unknown_fusion_is_an_error_that_lists_the_known
}
