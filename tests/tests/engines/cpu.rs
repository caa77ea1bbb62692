//! The CPU engine gives the same bits on every instruction set that this machine has, with any number of threads, in any
//! bucket.

use inkstone::compute::EngineOptions;
use inkstone::kvcache::Format;
use inkstone::{Model, ModelOptions, Options, Request};
use inkstone_engine_cpu::{Cpu, Set};
use inkstone_tests::{Subject, assert_same_bits, assets, encoded, relative_l2, with_buckets};
use std::sync::Arc;

/// Floats, blocks of 32 and K-quants.
fn subjects() -> [Subject; 4] {
    [Subject::arch("llama"), Subject::arch("gemma3-8l"), Subject::story_q8_0(), Subject::story_q4_k_m()]
}

/// The engine on one instruction set, by name.
fn on_set(set: Set) -> String {
    let name = format!("cpu {}", set.name());
    let factory = move |options: &EngineOptions| Ok(Arc::new(Cpu::new(&options.clone().isa(set.name()))?) as _);
    inkstone::engines::register(name.as_str(), Arc::new(factory));
    name
}

#[test]
fn sets_threads_and_chunks_give_equal_bits() {
    for subject in subjects() {
        let logits = |set, threads, chunk| {
            let model = subject.open(&on_set(set), "f16", &ModelOptions::default().threads(threads));
            model.logits(&subject.ids[..37], chunk).unwrap()
        };
        let wanted = logits(Set::Portable, 1, None);
        for set in Set::ALL.into_iter().filter(|s| s.is_here()) {
            for (threads, chunk) in [(1, None), (2, None), (3, None), (2, Some(1)), (3, Some(7))] {
                let what = format!("{}, {}, {threads} threads, chunks of {chunk:?}", subject.name, set.name());
                assert_same_bits(&logits(set, threads, chunk), &wanted, &what);
            }
        }
    }
}

#[test]
fn every_bucket_that_holds_a_step_gives_equal_bits() {
    for subject in subjects() {
        let logits = |engine: &str, chunk| {
            let model = subject.open(engine, "f16", &ModelOptions::default());
            model.logits(&subject.ids[..19], Some(chunk)).unwrap()
        };
        for chunk in [1, 5, 8] {
            let wanted = logits("cpu", chunk);
            for (rows, logit_rows) in [(8, 64), (512, 8), (512, 64)] {
                let found = logits(&with_buckets(&[rows], &[logit_rows]), chunk);
                let what = format!("{}, {chunk} rows in buckets of {rows} and {logit_rows}", subject.name);
                assert_same_bits(&found, &wanted, &what);
            }
        }
    }
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

/// The head computes at most two rows at once, so that five prompts that end in a step have three windows.
#[test]
fn first_draws_in_each_window_of_a_step_have_their_own_scores() {
    let subject = Subject::arch("llama");
    let options = ModelOptions::default().ctx(64).sequences(5);
    let prompts: Vec<&[u32]> = (0..5).map(|i| &subject.ids[i..2 * i + 1]).collect();
    let draws = |seed| Options::default().seed(seed).max_tokens(4).ignore_end(true).logprobs(5);
    let requests: Vec<Request> =
        prompts.iter().zip(0..).map(|(prompt, seed)| Request::new(*prompt, draws(seed))).collect();
    let model = subject.open(&with_buckets(&[64], &[1, 2]), "f32", &options);
    let replies = model.generate_batch(&requests);
    assert_eq!(model.metrics().steps, 4, "all prompts end in the first step");
    let whole = subject.open("cpu", "f32", &options.prefix(false));
    for ((replies, prompt), seed) in replies.into_iter().zip(prompts).zip(0..) {
        let wanted = whole.generate_ids(prompt, &draws(seed)).unwrap();
        let found = &replies.unwrap()[0];
        assert_eq!((&found.ids, &found.logprobs), (&wanted.ids, &wanted.logprobs), "seed {seed}");
    }
}
