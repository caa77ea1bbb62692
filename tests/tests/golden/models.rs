//! Two trained models: logits, nats and greedy text.

use inkstone::kvcache::Format;
use inkstone::{Model, ModelOptions, Options};
use inkstone_tests::{json, nats, on_engines, outside, read_npy, relative_l2};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    logits: Logits,
    greedy: Vec<Greedy>,
}

#[derive(Deserialize)]
struct Logits {
    file: String,
    text: String,
    ids: Vec<u32>,
    mean_nll: f64,
}

#[derive(Deserialize)]
struct Greedy {
    prompt: String,
    prompt_ids: Vec<u32>,
    greedy: Vec<u32>,
    whole: String,
}

fn check(engine: &str, name: &str) {
    let Some(folder) = outside(&format!("models/{name}")) else { return };
    let golden: Golden = json(&folder.join("golden.json"));
    let options = ModelOptions::default().engine(engine).kv_type(Format::named("f32").unwrap());
    let model = Model::open_with(folder.join("model.gguf"), &options).unwrap();

    let ids = &golden.logits.ids;
    let text = model.generator().encode(&golden.logits.text, &Options::default()).unwrap();
    assert_eq!(text[..ids.len()], ids[..]);
    let logits = model.logits(ids, None).unwrap();
    let distance = relative_l2(&logits, &read_npy(&folder.join(&golden.logits.file)));
    let tolerance = if engine == "reference" { 1e-5 } else { 1e-4 };
    assert!(distance <= tolerance, "{engine}, {name}: {distance:e}");
    let vocab = model.graph().config.vocab;
    let total: f64 = (1..ids.len()).map(|i| nats(&logits[(i - 1) * vocab..i * vocab], ids[i])).sum();
    let mean = total / (ids.len() - 1) as f64;
    assert!((mean / golden.logits.mean_nll - 1.0).abs() < 1e-3, "{name}: {mean} nats, {}", golden.logits.mean_nll);

    for g in &golden.greedy {
        assert_eq!(model.generator().encode(&g.prompt, &Options::default()).unwrap(), g.prompt_ids);
        let options = Options::default().temperature(0.0).max_tokens(g.greedy.len() as u64).ignore_end(true);
        let reply = model.generate(&g.prompt, &options).unwrap();
        assert_eq!(reply.ids, g.greedy, "{name}: {}", g.prompt);
        assert!(g.whole.starts_with(&format!("{}{}", g.prompt, &reply.text[..20])), "{}", reply.text);
    }
}

fn stories260k(engine: &str) {
    check(engine, "stories260k");
}

fn llama2xs(engine: &str) {
    check(engine, "llama2xs");
}

on_engines! {
    stories260k
    llama2xs
}
