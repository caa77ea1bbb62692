//! The CPU engine's plans step by step, each against its definition on what the engine gave it: the first step that goes
//! too far is named.

use inkstone::compute::conformance::Stepwise;
use inkstone::compute::{EngineOptions, Kernel, Numerics, Pattern};
use inkstone::graph::fusions;
use inkstone::tensor::step::StepError;
use inkstone::{ModelOptions, Options};
use inkstone_engine_cpu::{Cpu, Entry, Tile};
use inkstone_tests::Subject;
use std::sync::Arc;

/// Makes the CPU engine under observation known, with other options.
fn observe(name: &str, change: fn(EngineOptions) -> EngineOptions) {
    let factory = move |options: &EngineOptions| {
        let engine = Arc::new(Cpu::new(&change(options.clone()))?);
        Ok(Arc::new(Stepwise::new(engine)?) as _)
    };
    inkstone::engines::register(name, Arc::new(factory));
}

/// A prompt as one chunk, in steps of every bucket, and then decodes.
fn run(subject: &Subject, engine: &str, options: &ModelOptions) -> inkstone::Result<()> {
    let model = subject.open(engine, "f16", &options.clone().ctx(64));
    let ids = &subject.ids[..21];
    model.logits(ids, None)?;
    model.generator().logits(ids, &[1, 5, 15])?;
    model.generate_ids(&ids[..9], &Options::default().seed(1).max_tokens(4).logprobs(2).repeat_penalty(1.1)).map(drop)
}

fn dissolved() -> ModelOptions {
    fusions().fold(ModelOptions::default(), |options, name| options.without_fusion(name))
}

#[test]
fn every_step_is_within_the_bound_of_its_kernel() {
    observe("observed", |options| options);
    let archs = ["llama", "qwen2", "qwen3", "gpt2", "gemma3", "gemma3-8l"].map(Subject::arch);
    for subject in archs.into_iter().chain([Subject::story_q8_0(), Subject::story_q4_k_m()]) {
        for (what, options) in [("fused", ModelOptions::default()), ("dissolved", dissolved())] {
            run(&subject, "observed", &options).unwrap_or_else(|e| panic!("{}, {what}: {e}", subject.name));
        }
    }
}

#[test]
fn a_wrong_kernel_is_named_with_its_first_step() {
    /// Takes no notice of the weights.
    fn wrong(tile: &mut Tile) -> Result<(), StepError> {
        for r in tile.rows.clone() {
            let x: &[f32] = tile.ins[0].row(r);
            let squares = x.iter().fold(0.0, |sum, x| sum + x * x);
            let scale = 1.0 / (squares / x.len() as f32 + 1e-5).sqrt();
            tile.outs[0].row::<f32>(r).iter_mut().zip(x).for_each(|(y, x)| *y = x * scale);
        }
        Ok(())
    }
    observe("observed wrong", |options| {
        let kernel = Kernel::by_definition("norm.wrong", Pattern::Named("rms_norm"), Arc::new(wrong as Entry));
        options.with_kernel(Kernel { numerics: Numerics("f32/l16"), ..kernel })
    });
    let message = run(&Subject::story_q8_0(), "observed wrong", &dissolved()).unwrap_err().to_string();
    let index = message.split("step ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
    assert!(index.is_some_and(|i| i < 5), "the first of many norms: {message}");
    for part in ["plan body", "(rms_norm) by kernel norm.wrong: result", "relative L2 distance", "farthest in row"] {
        assert!(message.contains(part), "{message:?} lacks {part:?}");
    }
}
