//! Fusion changes no bit: fused plans and dissolved ones give the same logits, with each fusion switched off in turn, in
//! all buckets.

use inkstone::gguf::{Gguf, OpenOptions};
use inkstone::graph::fusions;
use inkstone::kvcache::Format;
use inkstone::tensor::DType;
use inkstone::{Model, ModelOptions, Phase};
use inkstone_tests::tiny::Tiny;
use inkstone_tests::{assert_same_bits, assets, json, on_engines, oracle, tries_few};
use serde::Deserialize;
use std::path::PathBuf;

#[derive(Deserialize)]
struct Ids {
    ids: Vec<u32>,
}

/// Tokens that are fed: more than decoding has rows for.
const TOKENS: usize = 20;
/// Chunks for each bucket of rows.
const CHUNKS: [Option<usize>; 3] = [None, Some(7), Some(1)];

type Open = dyn Fn(&ModelOptions) -> inkstone::Result<Model>;

/// A model with tokens to feed.
struct Case {
    name: String,
    ids: Vec<u32>,
    open: Box<Open>,
}

impl Case {
    fn file(file: PathBuf, ids: Vec<u32>) -> Case {
        let name = file.display().to_string();
        Case { name, ids, open: Box::new(move |options| Model::open_with(&file, options)) }
    }

    fn open(&self, engine: &str, without: &[&str]) -> Model {
        let options = ModelOptions::default().engine(engine).ctx(64).kv_type(Format::named("f16").unwrap());
        let options = without.iter().fold(options, |options, name| options.without_fusion(*name));
        (self.open)(&options).unwrap()
    }
}

/// The model of the golden data, and its tokens.
fn arch(name: &str) -> (PathBuf, Vec<u32>) {
    let folder = oracle("archs").join(name);
    let ids = json::<Ids>(&folder.join("case.json")).ids;
    (folder.join("model.gguf"), ids[..TOKENS].to_vec())
}

/// A model of each architecture, in floats.
fn archs() -> Vec<Case> {
    ["llama", "qwen2", "qwen3", "gpt2", "gemma3", "gemma3-8l"].map(arch).map(|(file, ids)| Case::file(file, ids)).into()
}

/// One with quantised weights and norms behind products.
fn gemma() -> Case {
    let (file, ids) = arch("gemma3");
    let quantised = Tiny::from_gguf(&Gguf::open(file, &OpenOptions::default()).unwrap()).quantised(DType::Q8_0);
    Case { name: "gemma3 in Q8_0".to_owned(), ids, open: Box::new(move |options| quantised.open_with(options)) }
}

/// One with quantised weights.
fn story() -> Case {
    Case::file(assets("story-draft-q8_0.gguf"), (0..TOKENS as u32).map(|i| 5 + i * 37 % 900).collect())
}

/// One with weights of several formats.
fn mixed() -> Case {
    Case::file(oracle("story").join("story-5m-q4_k_m.gguf"), story().ids)
}

fn fusing_changes_no_bit(engine: &str) {
    let all: Vec<&str> = fusions().collect();
    // The definitions have nothing to fuse in it that the others don't have.
    let mixed = (engine == "cpu").then(mixed);
    for case in archs().into_iter().chain([story(), gemma()]).chain(mixed) {
        let wanted = case.open(engine, &all).logits(&case.ids, None).unwrap();
        let each_off = all.iter().filter(|_| !tries_few(engine)).map(|off| vec![*off]);
        for without in each_off.chain([vec![], all.clone()]) {
            let model = case.open(engine, &without);
            for chunk in CHUNKS {
                let found = model.logits(&case.ids, chunk).unwrap();
                let what = format!("{engine}, {}: without {without:?}, chunks of {chunk:?}", case.name);
                assert_same_bits(&found, &wanted, &what);
            }
        }
    }
}

fn an_unknown_fusion_is_an_error_that_lists_the_known(engine: &str) {
    let options = ModelOptions::default().engine(engine).without_fusion("norm_glue");
    let error = (story().open)(&options).err().unwrap().to_string();
    let known = fusions().collect::<Vec<_>>().join(", ");
    assert_eq!(error, format!("no fusion is called norm_glue; there are: {known}"));
}

/// Steps of the largest layer of a decoding step.
fn steps_a_layer(model: &Model) -> usize {
    let steps = model.explain(Phase::Decode(1)).unwrap().steps;
    let layers = model.graph().config.layers;
    (0..layers).map(|layer| steps.iter().filter(|s| s.layer == Some(layer)).count()).max().unwrap()
}

#[test]
fn a_layer_of_a_decoding_step_has_few_steps() {
    let steps = |case: &Case| steps_a_layer(&case.open("cpu", &[]));
    let found: Vec<usize> = archs().iter().map(steps).collect();
    assert_eq!(found, [5, 5, 5, 10, 7, 7], "llama, qwen2, qwen3, gpt2, gemma3, gemma3-8l");
    assert_eq!([story(), mixed(), gemma()].iter().map(steps).collect::<Vec<_>>(), [5, 5, 7]);
}

#[test]
fn every_fusion_comes_about_on_the_cpu_engine() {
    let report = |case: Case| case.open("cpu", &[]).explain(Phase::Decode(1)).unwrap().whole_report.to_string();
    let reports: String = archs().into_iter().chain([story(), gemma()]).map(report).collect();
    let missing: Vec<&str> = fusions().filter(|name| !reports.contains(&format!(" {name} by "))).collect();
    assert!(missing.is_empty(), "{missing:?}\n{reports}");
}

/// The definitions do one op at a time; they have no kernels for regions.
#[test]
fn the_definitions_fuse_nothing_but_maps() {
    let report = story().open("reference", &[]).explain(Phase::Decode(1)).unwrap().report;
    let fused: Vec<&str> = report.notes.iter().filter(|n| n.pass == "fuse").map(|n| n.text.as_str()).collect();
    let (done, dissolved): (Vec<&str>, Vec<&str>) = fused.iter().partition(|text| text.contains(" by "));
    assert!(!done.is_empty() && done.iter().all(|text| text.contains(" map by eval ")), "{done:?}");
    assert!(
        !dissolved.is_empty() && dissolved.iter().all(|text| text.ends_with("none implements it")),
        "{dissolved:?}"
    );
}

on_engines! {
    fusing_changes_no_bit
    an_unknown_fusion_is_an_error_that_lists_the_known
}
