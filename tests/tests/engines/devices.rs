//! The memory of a model is decided before anything is allocated: on devices that are described, and within budgets of the
//! CPU engine.

use inkstone::compute::Usage;
use inkstone::tensor::DType;
use inkstone::{Error, Model, ModelOptions, Options, compute, generate};
use inkstone_tests::assets;
use inkstone_tests::described::{Asked, Described, Llama};
use std::sync::Arc;

const GB: u64 = 1 << 30;
const MB: u64 = 1 << 20;

const LLAMAS: [Llama; 3] = [
    Llama {
        name: "1B",
        dtype: DType::Q4_K,
        layers: 16,
        width: 2048,
        ffn: 8192,
        heads: 16,
        kv_heads: 4,
        vocab: 128_256,
        context: 131_072,
    },
    Llama {
        name: "8B",
        dtype: DType::Q4_K,
        layers: 32,
        width: 4096,
        ffn: 14_336,
        heads: 32,
        kv_heads: 8,
        vocab: 128_256,
        context: 131_072,
    },
    Llama {
        name: "30B",
        dtype: DType::Q8_0,
        layers: 64,
        width: 5120,
        ffn: 25_600,
        heads: 64,
        kv_heads: 8,
        vocab: 151_936,
        context: 40_960,
    },
];

/// Registers a device. Returns its name, and what it is asked for.
fn device(memory: u64, binding: u64) -> (String, Arc<Asked>) {
    let (name, asked) = (format!("{memory} {binding}"), Arc::new(Asked::default()));
    let shared = asked.clone();
    let factory = move |options: &_| {
        let change = |caps: &mut compute::Caps| (caps.memory, caps.binding) = (memory, binding);
        Ok(Arc::new(Described::new(options, change, shared.clone())?) as _)
    };
    inkstone::engines::register(name.as_str(), Arc::new(factory));
    (name, asked)
}

/// The line of a model on a device. All that is asked for fits, and every kernel reaches what it needs.
fn line(path: &std::path::Path, memory: u64, binding: u64) -> String {
    let (engine, asked) = device(memory, binding);
    let model = match Model::open_with(path, &ModelOptions::default().engine(&engine)) {
        Ok(model) => model,
        Err(error) => {
            assert!(asked.all().is_empty(), "memory was asked for before {error}");
            return format!("refused: {error}");
        }
    };
    let weights = model.graph().weight_bytes();
    let all = weights + asked.bytes(|_| true);
    let values = asked.bytes(|usage| matches!(usage, Usage::Arena | Usage::Port));
    let largest = asked.all().iter().filter(|(_, usage)| *usage == Usage::State).map(|(bytes, _)| *bytes).max();
    assert!(all <= memory, "{all} bytes of {memory}");
    assert!(values <= binding && largest.unwrap() <= binding, "{values} and {largest:?} bytes, {binding} are reached");
    let (config, most) = (model.config(), model.generator().compiled().largest());
    format!(
        "{} MB: {} of weights, {} of values in steps of {} rows and {} logit rows; context {}, cache {}",
        all / MB,
        weights / MB,
        values / MB,
        most.rows,
        most.logit_rows,
        config.context,
        config.cache
    )
}

#[test]
fn devices_of_all_sizes_get_what_they_hold() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = Vec::new();
    for llama in LLAMAS {
        let path = folder.path().join(llama.name);
        llama.write(&path);
        for memory in [1, 4, 16, 80] {
            for binding in [64 * MB, 128 * MB, 2 * GB] {
                let line = line(&path, memory * GB, binding);
                lines.push(format!("{:3} on {memory:2} GB, {:4} MB reached: {line}", llama.name, binding / MB));
            }
        }
    }
    insta::assert_snapshot!("devices", lines.join("\n"));
}

#[test]
fn the_largest_context_that_an_error_names_is_the_largest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1B");
    LLAMAS[0].write(&path);
    for (memory, binding) in [(4 * GB, 2 * GB), (4 * GB, 32 * MB), (2 * GB, u64::MAX)] {
        let (engine, _) = device(memory, binding);
        let open = |ctx| Model::open_with(&path, &ModelOptions::default().engine(&engine).ctx(ctx));
        let error = open(1 << 30).unwrap_err();
        let Error::ContextMemory { bytes, free, largest, .. } = error else { panic!("{error}") };
        assert!(bytes > free, "{error}");
        assert_eq!(open(largest as u32).unwrap().config().context as u64, largest);
        let next = open(largest as u32 + 1).unwrap_err();
        assert!(matches!(next, Error::ContextMemory { .. }), "{next}");
    }
}

#[test]
fn the_story_model_runs_in_a_budget_or_is_refused_by_the_decision() {
    let path = assets("story-5m-q8_0.gguf");
    let prompt = "Once upon a time there was a little girl. ".repeat(20);
    let (mut ran, mut refused) = (0, 0);
    for half_megabytes in 10..=80 {
        let budget = half_megabytes * MB / 2;
        let options = ModelOptions::default().engine("cpu").threads(2).budget(budget);
        match Model::open_with(&path, &options) {
            Ok(model) => {
                assert!(refused > 0, "a budget of 5 MB is too small");
                let reply = model.generate(&prompt, &Options::default().temperature(0.0).max_tokens(5));
                match reply {
                    Ok(reply) => assert_eq!(reply.ids.len(), 5),
                    Err(Error::Generate(generate::Error::PromptTooLong { .. })) if ran < 3 => {}
                    Err(error) => panic!("{budget} bytes: {error}"),
                }
                ran += 1;
            }
            Err(Error::Generate(generate::Error::ModelMemory { weights, values, cache, memory, .. })) => {
                assert!(weights + values + cache > memory && ran == 0, "{budget}");
                refused += 1;
            }
            Err(error) => panic!("{budget} bytes: {error}"),
        }
    }
    assert!(ran > 10 && refused > 0, "{ran} budgets ran, {refused} were refused");
}
