//! Perplexity of the story models on windows of held-out text, against float64, with llama.cpp's beside it.

use inkstone::kvcache::Format;
use inkstone::{Accuracy, Model, ModelOptions};
use inkstone_tests::{assets, json, nats, oracle, with_block_sums};
use serde::Deserialize;
use std::path::PathBuf;

#[derive(Deserialize)]
struct HeldOut {
    windows: Vec<Vec<u32>>,
    #[serde(flatten)]
    float64: Nats,
    llama_cpp: Nats,
}

/// Nats of all tokens of a window but the first, for each window.
#[derive(Deserialize)]
struct Nats {
    target: Vec<f64>,
    draft: Vec<f64>,
    q4: Vec<f64>,
}

/// How far the perplexity of a file may be from that of its weights in float64, as a share. Activations have 8 bits.
fn within(share: f64, accuracy: Accuracy, file: PathBuf, of: impl Fn(&Nats) -> &Vec<f64>) {
    let golden: HeldOut = json(&oracle("story/held-out-ids.json"));
    let options = match accuracy {
        Accuracy::Precise => ModelOptions::default(),
        Accuracy::Fast => ModelOptions::default().isa(with_block_sums()),
    };
    let options = options.engine("cpu").numerics(accuracy).kv_type(Format::named("f32").unwrap());
    let model = Model::open_with(file, &options).unwrap();
    let vocab = model.graph().config.vocab;
    let (mut total, mut tokens) = (0.0, 0);
    for ids in &golden.windows {
        let logits = model.logits(ids, None).unwrap();
        total += (1..ids.len()).map(|t| nats(&logits[(t - 1) * vocab..t * vocab], ids[t])).sum::<f64>();
        tokens += ids.len() - 1;
    }
    let perplexity = |nats: f64| (nats / tokens as f64).exp();
    let sum = |nats: &Nats| perplexity(of(nats).iter().sum());
    assert!([of(&golden.float64), of(&golden.llama_cpp)].iter().all(|n| n.len() == golden.windows.len()));
    let (exact, peer, found) = (sum(&golden.float64), sum(&golden.llama_cpp), perplexity(total));
    let far = |value: f64| format!("{value:.5} ({:+.3}%)", 100.0 * (value / exact - 1.0));
    println!("perplexity of {tokens} tokens: {}, llama.cpp {}, float64 {exact:.5}", far(found), far(peer));
    assert!((found / exact - 1.0).abs() < share, "perplexity {}, float64 {exact:.5}, allowed {share}", far(found));
}

#[test]
fn the_target_is_within_a_thousandth_of_float64() {
    within(1e-3, Accuracy::Precise, assets("story-5m-q8_0.gguf"), |nats| &nats.target);
}

/// So small that activations of 8 bits move its logits by 2%.
#[test]
fn the_draft_is_within_two_thousandths_of_float64() {
    within(2e-3, Accuracy::Precise, assets("story-draft-q8_0.gguf"), |nats| &nats.draft);
}

#[test]
fn the_target_as_q4_k_m_is_within_two_thousandths_of_float64() {
    within(2e-3, Accuracy::Precise, oracle("story/story-5m-q4_k_m.gguf"), |nats| &nats.q4);
}

/// With one scale of activations per 256, as llama.cpp has for these types.
#[test]
fn fast_numerics_of_the_target_as_q4_k_m_are_within_two_thousandths_of_float64() {
    within(2e-3, Accuracy::Fast, oracle("story/story-5m-q4_k_m.gguf"), |nats| &nats.q4);
}
