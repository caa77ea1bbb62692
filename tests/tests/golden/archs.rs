//! Logits of tiny models of every variant of an architecture, against transformers in float64.

use inkstone::kvcache::Format;
use inkstone::{Model, ModelOptions};
use inkstone_tests::{assert_same_bits, json, on_engines, oracle, read_npy, relative_l2};
use serde::Deserialize;

/// How far an engine may go: a reference engine computes in f32 without shortcuts.
fn tolerance(engine: &str) -> f64 {
    if engine == "reference" { 1e-5 } else { 1e-4 }
}

#[derive(Deserialize)]
struct Case {
    ids: Vec<u32>,
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    file: String,
    tokens: usize,
    rows: [usize; 2],
    ctx: u32,
}

fn check(engine: &str, name: &str) {
    let folder = oracle("archs").join(name);
    let case: Case = json(&folder.join("case.json"));
    for run in case.runs {
        let model = |page| {
            let options = ModelOptions::default().engine(engine).ctx(run.ctx).kv_page(page);
            Model::open_with(folder.join("model.gguf"), &options.kv_type(Format::named("f32").unwrap())).unwrap()
        };
        let models = [16, 32].map(model);
        let logits = models[0].logits(&case.ids[..run.tokens], None).unwrap();
        let vocab = logits.len() / run.tokens;
        let found = &logits[run.rows[0] * vocab..run.rows[1] * vocab];
        let distance = relative_l2(found, &read_npy(&folder.join(&run.file)));
        println!("{engine}, {name} {}: {distance:.1e}", run.file);
        assert!(distance <= tolerance(engine), "{engine}, {name} {}: {distance:e}", run.file);
        // Any chunking gives the same bits, on pages of any size. Windows of 32 begin at all places of chunks and pages.
        for (model, page) in models.iter().zip([16, 32]) {
            for chunk in [Some(1), Some(7), Some(31), Some(32), Some(33), Some(64), None] {
                let chunked = model.logits(&case.ids[..run.tokens], chunk).unwrap();
                let what = format!("{engine}, {name}, {chunk:?} tokens a step, pages of {page}");
                assert_same_bits(&chunked, &logits, &what);
            }
        }
    }
}

macro_rules! cases {
    ($($test:ident $name:literal;)+) => {
        $(fn $test(engine: &str) {
            check(engine, $name);
        })+
        on_engines! { $($test)+ }
    };
}

cases! {
    llama "llama";
    llama_tied "llama-tied";
    llama_linear "llama-linear";
    llama_yarn "llama-yarn";
    llama3_rope "llama3-rope";
    mistral "mistral";
    qwen2 "qwen2";
    qwen3 "qwen3";
    gpt2 "gpt2";
    gemma3 "gemma3";
    gemma3_8l "gemma3-8l";
}
