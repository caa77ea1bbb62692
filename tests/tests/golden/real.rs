//! A model as its users have it, Gemma 3 270M as Q4_K_M, against float64. `cargo xtask real` downloads it.

use inkstone::kvcache::Format;
use inkstone::{FinishReason, Model, ModelOptions, Options, Reply};
use inkstone_tests::{arg_max, is_full, json, nats, on_engine, oracle};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Where `cargo xtask real` puts the file: in cargo's target folder.
const FILE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/../real/gemma-3-270m-q4_k_m.gguf");
/// The text of the golden data is its beginning.
const LICENCE: &str = include_str!("../../../LICENSE-APACHE");
/// Beyond this margin, engines with rounded activations have the same arg-max.
const CLEAR: f64 = 0.5;

#[derive(Deserialize)]
struct Golden {
    texts: Texts,
    greedy: BTreeMap<String, Greedy>,
}

#[derive(Deserialize)]
struct Texts {
    licence: Text,
}

#[derive(Deserialize)]
struct Text {
    ids: Vec<u32>,
    /// Of each next token.
    nats: Vec<f64>,
    mean_nats: f64,
    top: Vec<Row>,
}

/// The most probable tokens behind a position, the best first.
#[derive(Deserialize)]
struct Row {
    row: usize,
    lse: f64,
    ids: Vec<u32>,
    logits: Vec<f64>,
}

#[derive(Deserialize)]
struct Greedy {
    prompt: Vec<u32>,
    ids: Vec<u32>,
    /// Best minus second-best logit at each token.
    margins: Vec<f64>,
}

fn golden() -> Golden {
    json(&oracle("real/gemma3-270m-golden.json"))
}

/// The model, or a line that says that it is not there.
fn open(options: &ModelOptions) -> Option<Model> {
    if Path::new(FILE).exists() {
        return Some(Model::open_with(FILE, options).unwrap());
    }
    eprintln!("not present: gemma-3-270m-q4_k_m.gguf (`cargo xtask real` downloads it)");
    None
}

fn on(engine: &str) -> ModelOptions {
    ModelOptions::default().engine(engine).kv_type(Format::named("f32").unwrap()).ctx(1024)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len();
    values.sum::<f64>() / count as f64
}

/// The rows of the first tokens of a text, and for each that has one the nats of the next token.
fn rows_and_nats(model: &Model, text: &Text, tokens: usize) -> (Vec<f32>, Vec<f64>) {
    let logits = model.logits(&text.ids[..tokens], None).unwrap();
    let rows = logits.chunks(model.graph().config.vocab);
    let found = rows.zip(&text.ids[1..]).map(|(row, next)| nats(row, *next)).collect();
    (logits, found)
}

#[test]
fn the_tokenizer_gives_the_golden_ids() {
    let Some(model) = open(&on("cpu")) else { return };
    let Golden { texts, greedy } = golden();
    let encode = |text: &str| model.generator().encode(text, &Options::default()).unwrap();
    // The golden text ends within a word.
    let whole = encode(LICENCE);
    let own = texts.licence.ids.len() - 1;
    assert_eq!(whole[..own], texts.licence.ids[..own]);
    for (name, prompt) in [
        ("france", "The capital of France is"),
        ("code", "def fibonacci(n):\n"),
        ("german", "Die drei größten Städte Deutschlands sind"),
    ] {
        assert_eq!(encode(prompt), greedy[name].prompt, "{name}");
    }
}

/// `</s>` is a tag of HTML in this vocabulary.
#[test]
fn a_closing_tag_does_not_end_a_text() {
    let Some(model) = open(&on("cpu")) else { return };
    let ends: Vec<&[u8]> =
        model.tokenizer().end_tokens().iter().filter_map(|id| model.tokenizer().piece_or_text(*id)).collect();
    assert_eq!(ends, [&b"<eos>"[..], b"<end_of_turn>"]);
    let options = Options::default().temperature(0.0).max_tokens(3).logit_bias(212, 1000.0);
    let reply = model.generate("<s>struck out", &options).unwrap();
    assert_eq!((reply.ids, reply.finish, &*reply.text), (vec![212; 3], FinishReason::Length, "</s></s></s>"));
}

fn logits_and_nats_agree_with_float64(engine: &str) {
    let Some(model) = open(&on(engine)) else { return };
    let text = golden().texts.licence;
    let tokens = if is_full() { text.ids.len() } else { 64 };
    let (logits, found) = rows_and_nats(&model, &text, tokens);
    let far = |a: f64, b: f64| (a - b).abs();
    let mut most = [0f64; 2];
    for (i, (found, golden)) in found.iter().zip(&text.nats).enumerate() {
        assert!(far(*found, *golden) < 1e-3, "token {i}: {found} nats, golden {golden}");
        most[0] = most[0].max(far(*found, *golden));
    }
    let vocab = model.graph().config.vocab;
    let rows: Vec<&Row> = text.top.iter().filter(|row| row.row < tokens).collect();
    assert_eq!(rows.len(), tokens / 16);
    for Row { row, lse, ids, logits: golden } in rows {
        let found = &logits[row * vocab..][..vocab];
        for (id, golden) in ids.iter().zip(golden) {
            let found = f64::from(found[*id as usize]);
            assert!(far(found, *golden) < 1e-3, "row {row}, token {id}: {found}, golden {golden}");
            most[1] = most[1].max(far(found, *golden));
        }
        let sum = nats(found, ids[0]) + f64::from(found[ids[0] as usize]);
        assert!(far(sum, *lse) < 1e-3, "row {row}: all sum to {sum}, golden {lse}");
    }
    let (found, golden) = (mean(found.iter().copied()), mean(text.nats[..found.len()].iter().copied()));
    println!("{engine}: {tokens} tokens, mean {found}, golden {golden}; at most {most:?} in nats and logits");
    assert!(far(found, golden) < 1e-5, "mean of {tokens} tokens: {found} nats, golden {golden}");
}

/// Activations have 8 bits.
fn nats_and_clear_choices_agree_with_float64(engine: &str) {
    let Some(model) = open(&on(engine)) else { return };
    let Golden { texts: Texts { licence: text }, greedy } = golden();
    let (logits, found) = rows_and_nats(&model, &text, text.ids.len());
    assert_eq!(found.len(), text.nats.len());
    let distance = mean(found.iter().zip(&text.nats).map(|(a, b)| (a - b).abs()));
    let found = mean(found.iter().copied());
    println!("{engine}: mean {found}, golden {}; {distance} on average", text.mean_nats);
    assert!((found - text.mean_nats).abs() < 0.01, "mean {found}, golden {}", text.mean_nats);
    assert!(distance < 0.06, "{distance} nats on average");

    let vocab = model.graph().config.vocab;
    let clear: Vec<&Row> = text.top.iter().filter(|row| row.logits[0] - row.logits[1] >= CLEAR).collect();
    assert_eq!(clear.len(), 44);
    for row in clear {
        assert_eq!(arg_max(&logits[row.row * vocab..][..vocab]), row.ids[0] as usize, "row {}", row.row);
    }

    let mut compared = 0;
    for (name, Greedy { prompt, ids, margins }) in &greedy {
        let logits = model.logits(&[&prompt[..], ids].concat(), None).unwrap();
        for (i, (token, _)) in ids.iter().zip(margins).enumerate().filter(|(_, (_, margin))| **margin >= CLEAR) {
            let row = &logits[(prompt.len() - 1 + i) * vocab..][..vocab];
            assert_eq!(arg_max(row), *token as usize, "{name}, token {i}");
            compared += 1;
        }
    }
    assert_eq!(compared, 71);
}

/// Longer than a window of 512.
#[test]
fn chunks_of_any_size_give_the_same_bits() {
    let Some(model) = open(&on("cpu")) else { return };
    let (ids, vocab) = (golden().texts.licence.ids, model.graph().config.vocab);
    // All logits have 900 MB, so that a number stands for each row.
    let digest =
        |row: &[f32]| row.iter().fold(0u64, |all, z| (all ^ u64::from(z.to_bits())).wrapping_mul(0x100_0000_01b3));
    let digests = |chunk| model.logits(&ids, chunk).unwrap().chunks(vocab).map(digest).collect::<Vec<u64>>();
    let whole = digests(None);
    for chunk in [7, 512] {
        let differs = digests(Some(chunk)).iter().zip(&whole).position(|(a, b)| a != b);
        assert_eq!(differs, None, "the first row that differs with {chunk} tokens a step");
    }
}

/// The scores depend on every logit.
#[test]
fn a_batch_and_pages_of_earlier_requests_give_the_same_bits() {
    let Some(model) = open(&on("cpu")) else { return };
    let Golden { texts, greedy } = golden();
    let options = Options::default().seed(1).max_tokens(24).ignore_end(true).logprobs(20);
    // A prompt beyond the window, one that ends in front of its end and goes on behind it, and short ones.
    let licence = [600, 500].map(|tokens| texts.licence.ids[..tokens].to_vec());
    let prompts: Vec<Vec<u32>> = licence.into_iter().chain(greedy.into_values().map(|greedy| greedy.prompt)).collect();
    let own = |i: usize| options.clone().cache_salt(i.to_string());
    let alone: Vec<Reply> =
        prompts.iter().enumerate().map(|(i, ids)| model.generate_ids(ids, &own(i)).unwrap()).collect();
    assert!(alone.iter().all(|reply| reply.usage.cached_tokens == 0));

    let mut streams: Vec<_> = prompts.iter().map(|ids| model.stream_ids(ids, &options).unwrap()).collect();
    for (i, (stream, alone)) in streams.iter_mut().zip(&alone).enumerate() {
        let scores: Vec<_> = stream.by_ref().flat_map(|piece| piece.unwrap().logprobs).collect();
        assert!(scores == alone.logprobs, "prompt {i} in a batch");
    }
    drop(streams);
    for (i, (ids, alone)) in prompts.iter().zip(&alone).enumerate() {
        let again = model.generate_ids(ids, &own(i)).unwrap();
        assert_eq!(again.usage.cached_tokens, ids.len() as u64 - 1, "prompt {i}");
        assert!(again.logprobs == alone.logprobs, "prompt {i} again");
    }
}

on_engine! { reference: logits_and_nats_agree_with_float64 }
on_engine! { cpu: nats_and_clear_choices_agree_with_float64 }
