//! The models that ship: teacher forcing against float64, and stories.

use inkstone::kvcache::Format;
use inkstone::{Defaults, FinishReason, Model, ModelOptions, Options};
use inkstone_tests::{arg_max, assets, json, nats, oracle};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    greedy: Vec<Greedy>,
    held_out: Vec<Document>,
    target_nats_per_token_held_out: f64,
    draft_nats_per_token_held_out: f64,
}

#[derive(Deserialize)]
struct Greedy {
    prompt: String,
    prompt_ids: Vec<u32>,
    target: Text,
    draft: Text,
}

#[derive(Deserialize)]
struct Text {
    ids: Vec<u32>,
    margins: Vec<f32>,
}

#[derive(Deserialize)]
struct Document {
    ids: Vec<u32>,
    target: f64,
    draft: f64,
}

/// How far an engine may go from float64 on a model.
struct Bounds {
    engine: &'static str,
    /// Margins below this may be decided by rounding.
    margin: f32,
    /// Share of the nats of all documents, and of one alone.
    all: f64,
    one: f64,
}

/// Of the target. The CPU engine has activations of 8 bits.
const TARGET: [Bounds; 2] = [
    Bounds { engine: "reference", margin: 0.01, all: 1e-3, one: 1e-3 },
    Bounds { engine: "cpu", margin: 0.15, all: 1e-3, one: 5e-3 },
];

/// Of the draft, which is so small that activations of 8 bits move its logits by 2%; `cpu.rs` holds the engine against
/// definitions that encode them alike.
const DRAFT: [Bounds; 2] = [
    Bounds { engine: "reference", margin: 0.01, all: 1e-3, one: 1e-3 },
    Bounds { engine: "cpu", margin: 0.5, all: 5e-3, one: 2e-2 },
];

fn options(engine: &str) -> ModelOptions {
    ModelOptions::default().engine(engine).kv_type(Format::named("f32").unwrap())
}

fn teacher_forcing(model: &Model, prompt: &[u32], text: &Text, least: f32) {
    let ids: Vec<u32> = prompt.iter().chain(&text.ids).copied().collect();
    let logits = model.logits(&ids, None).unwrap();
    let vocab = model.graph().config.vocab;
    for (i, (token, margin)) in text.ids.iter().zip(&text.margins).enumerate() {
        let row = prompt.len() - 1 + i;
        let found = arg_max(&logits[row * vocab..][..vocab]);
        assert!(*margin <= least || found == *token as usize, "token {i} is {found}, golden {token} by {margin}");
    }
}

/// Nats a token.
fn held_out(model: &Model, documents: &[Document], golden: impl Fn(&Document) -> f64, mean: f64, bounds: &Bounds) {
    let vocab = model.graph().config.vocab;
    let (mut total, mut tokens) = (0.0, 0);
    for (i, d) in documents.iter().enumerate() {
        let logits = model.logits(&d.ids, None).unwrap();
        let sum: f64 = (1..d.ids.len()).map(|t| nats(&logits[(t - 1) * vocab..t * vocab], d.ids[t])).sum();
        assert!((sum / golden(d) - 1.0).abs() < bounds.one, "document {i}: {sum} nats, golden {}", golden(d));
        (total, tokens) = (total + sum, tokens + d.ids.len() - 1);
    }
    let per_token = total / tokens as f64;
    println!("{per_token} nats a token, golden {mean}");
    assert!((per_token / mean - 1.0).abs() < bounds.all, "{per_token} nats a token, golden {mean}");
}

#[test]
fn the_target_agrees_with_float64() {
    let golden: Golden = json(&oracle("story/golden.json"));
    for b in TARGET {
        let model = Model::open_with(assets("story-5m-q8_0.gguf"), &options(b.engine)).unwrap();
        for g in &golden.greedy {
            let special = Options::default().special(g.prompt.contains("<|im_start|>"));
            assert_eq!(model.generator().encode(&g.prompt, &special).unwrap(), g.prompt_ids, "{}", g.prompt);
            teacher_forcing(&model, &g.prompt_ids, &g.target, b.margin);
        }
        let mean = golden.target_nats_per_token_held_out;
        held_out(&model, &golden.held_out, |d| d.target, mean, &b);
    }
}

#[test]
fn the_draft_agrees_with_float64() {
    let golden: Golden = json(&oracle("story/golden.json"));
    for b in DRAFT {
        let model = Model::open_with(assets("story-draft-q8_0.gguf"), &options(b.engine)).unwrap();
        golden.greedy.iter().for_each(|g| teacher_forcing(&model, &g.prompt_ids, &g.draft, b.margin));
        held_out(&model, &golden.held_out, |d| d.draft, golden.draft_nats_per_token_held_out, &b);
    }
}

#[test]
fn stories_end_by_themselves() {
    for engine in ["reference", "cpu"] {
        let options = ModelOptions::default().engine(engine).defaults(Defaults::COMMAND_LINE);
        let model = Model::embedded(&options).unwrap();
        let greedy = Options::default().temperature(0.0);
        let seeded = (1..=5).map(|seed| Options::default().seed(seed));
        for options in [greedy].into_iter().chain(seeded) {
            let reply = model.generate("Once upon a time", &options).unwrap();
            let words = reply.text.split_whitespace().count();
            assert_eq!(reply.finish, FinishReason::End, "{engine}, seed {:?}", options.seed);
            assert!(words >= 60 && reply.ids.len() <= 400, "{engine}: {words} words in {} tokens", reply.ids.len());
        }
    }
}
