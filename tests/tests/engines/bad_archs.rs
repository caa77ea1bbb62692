//! Section B of the bad inputs for the architectures other than llama: models of the golden data, broken in one place.

use super::bad_model::refuses;
use inkstone::gguf::{Gguf, OpenOptions, Value};
use inkstone::{FinishReason, ModelOptions, Options};
use inkstone_tests::tiny::{BOS, Tiny};
use inkstone_tests::{on_engines, oracle};

/// Architectures with rotary positions and without.
const ROTARY: &[&str] = &["qwen2", "qwen3", "gemma3"];
const ALL: &[&str] = &["qwen2", "qwen3", "gpt2", "gemma3"];
/// Positions that the GPT-2 of the golden data has learned, and that it was trained with.
const LEARNED: usize = 128;

fn sound(arch: &str) -> Tiny {
    let file = oracle("archs").join(arch).join("model.gguf");
    Tiny::from_gguf(&Gguf::open(file, &OpenOptions::default()).unwrap())
}

#[track_caller]
fn runs(tiny: &Tiny) {
    runs_on("reference", tiny);
}

#[track_caller]
fn runs_on(engine: &str, tiny: &Tiny) {
    let reply =
        tiny.open_on(engine).unwrap().generate_ids(&[BOS], &Options::default().max_tokens(3).ignore_end(true)).unwrap();
    assert_eq!(reply.ids.len(), 3);
}

fn the_models_that_the_others_break_are_sound(engine: &str) {
    ALL.iter().for_each(|arch| runs_on(engine, &sound(arch)));
}

#[test]
fn b02_counts_are_checked_under_the_name_of_the_architecture() {
    for arch in ALL {
        let keys = ["block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count"];
        for key in keys.map(|key| format!("{arch}.{key}")) {
            refuses(&sound(arch).without(&key), &[&format!("key {key} is missing")]);
            for value in [0, u64::MAX] {
                refuses(&sound(arch).set(&key, value), &[&format!("key {key} is {value}"), "1 to"]);
            }
        }
    }
}

#[test]
fn b02_heads_of_an_odd_size_are_for_models_that_do_not_turn_them() {
    for arch in ROTARY {
        refuses(&sound(arch).set(&format!("{arch}.attention.key_length"), 15u32), &["key_length is 15", "even"]);
    }
    // 64 heads of one value each.
    runs(&sound("gpt2").set("gpt2.attention.head_count", 64u32));
}

#[test]
fn b03_every_tensor_that_is_missing_or_of_another_shape_is_named() {
    for arch in ALL {
        let sound = sound(arch);
        for spec in sound.tensors() {
            let name = &spec.name;
            // Without a head the embedding is the head.
            if name != "output.weight" {
                refuses(&sound.clone().without_tensor(name), &[&format!("tensor {name}"), &format!("{:?}", spec.dims)]);
            }
            // As many positions as there are rows.
            if name == "position_embd.weight" {
                continue;
            }
            let mut dims = spec.dims.clone();
            dims[0] += 1;
            let broken = sound.clone().tensor(name, &dims, &vec![0.5; dims.iter().product::<u64>() as usize]);
            refuses(&broken, &[&format!("tensor {name} is {dims:?}"), &format!("expected {:?}", spec.dims)]);
        }
    }
}

#[test]
fn b03_a_table_of_positions_has_the_width_of_the_model() {
    const NAME: &str = "position_embd.weight";
    for (dims, rows) in [(&[65u64, 128][..], 128), (&[128, 64], 64), (&[64, 16, 8], 16), (&[63], 1), (&[64, 0], 128)] {
        let broken = sound("gpt2").tensor(NAME, dims, &vec![0.5; dims.iter().product::<u64>() as usize]);
        refuses(&broken, &[&format!("tensor {NAME} is {dims:?}"), &format!("expected [64, {rows}]")]);
    }
}

/// The context is what the table holds, with a note; the last place of it can be used, and no other.
fn b04_learned_positions_end_the_context(engine: &str) {
    let table = |rows: usize| sound("gpt2").tensor("position_embd.weight", &[64, rows as u64], &vec![0.5; 64 * rows]);
    let said = |context: u64| sound("gpt2").set("gpt2.context_length", context);
    let asked = |ctx| ModelOptions::default().ctx(ctx);
    for (tiny, options, context, wanted) in [
        (sound("gpt2"), ModelOptions::default(), LEARNED, None),
        (sound("gpt2"), asked(100), 100, None),
        (sound("gpt2"), asked(LEARNED as u32), LEARNED, None),
        (sound("gpt2"), asked(LEARNED as u32 + 1), LEARNED, Some(LEARNED as u64 + 1)),
        (sound("gpt2"), asked(1 << 30), LEARNED, Some(1 << 30)),
        (said(1 << 31), ModelOptions::default(), LEARNED, Some(1 << 31)),
        (said(64), asked(500), LEARNED, Some(500)),
        (table(20), ModelOptions::default(), 20, Some(LEARNED as u64)),
        (table(1), ModelOptions::default(), 1, Some(LEARNED as u64)),
    ] {
        let model = tiny.open_with(&options.engine(engine)).unwrap();
        assert_eq!(model.config().context, context);
        let note = wanted.map(|wanted| {
            format!("a context of {context} tokens, not {wanted}, because the model has learned {context} positions")
        });
        let found = model.notes().iter().find(|n| n.contains("learned"));
        assert_eq!(found, note.as_ref(), "{:?}", model.notes());
        let reply = model.generate_ids(&[BOS], &Options::default().max_tokens(1000).ignore_end(true)).unwrap();
        assert_eq!((reply.finish, reply.ids.len()), (FinishReason::Context, context - 1));
        assert!(model.logits(&vec![BOS; context], None).is_ok());
        let error = model.logits(&vec![BOS; context + 1], None).unwrap_err().to_string();
        assert_eq!(error, format!("the prompt has {} tokens, the context holds {context}", context + 1));
    }
}

#[test]
fn b05_the_epsilon_of_norms_has_the_key_of_the_norm() {
    for (arch, key, other) in [
        ("qwen2", "qwen2.attention.layer_norm_rms_epsilon", "qwen2.attention.layer_norm_epsilon"),
        ("qwen3", "qwen3.attention.layer_norm_rms_epsilon", "qwen3.attention.layer_norm_epsilon"),
        ("gpt2", "gpt2.attention.layer_norm_epsilon", "gpt2.attention.layer_norm_rms_epsilon"),
        ("gemma3", "gemma3.attention.layer_norm_rms_epsilon", "gemma3.attention.layer_norm_epsilon"),
    ] {
        for value in [0.0f32, -1e-5, f32::NAN, f32::INFINITY] {
            refuses(&sound(arch).set(key, value), &[&format!("{key} is {value}"), "a finite number above 0"]);
        }
        refuses(&sound(arch).without(key).set(other, 1e-5f32), &[key, "missing"]);
        refuses(&sound(arch).set(key, Value::from("small")), &[key, "string"]);
    }
}

#[test]
fn b05_rope_keys_are_read_under_the_name_of_the_architecture() {
    for arch in ROTARY {
        let base = format!("{arch}.rope.freq_base");
        refuses(&sound(arch).set(&base, f32::NAN), &[&format!("{base} is NaN")]);
        let flat = sound(arch).set(&base, 1.0f32).set(&format!("{arch}.rope.scaling.type"), "yarn");
        let flat = flat.set(&format!("{arch}.rope.scaling.factor"), 2.0f32);
        let flat = flat.set(&format!("{arch}.rope.scaling.original_context_length"), 1u32 << 20);
        refuses(&flat, &[&format!("{base} is 1"), "frequencies"]);
    }
    // A model that does not turn has no such keys.
    runs(&sound("gpt2").set("gpt2.rope.freq_base", f32::NAN));
}

#[test]
fn b05_windows_and_their_rotations_are_checked() {
    let gemma = |key: &str, value: Value| sound("gemma3").set(&format!("gemma3.{key}"), value);
    let refused = |key: &str, value: Value, parts: &[&str]| {
        let parts: Vec<&str> = [key].iter().chain(parts).copied().collect();
        refuses(&gemma(key, value), &parts);
    };
    let (size, pattern) = ("attention.sliding_window", "attention.sliding_window_pattern");
    refused(size, (1u64 << 32).into(), &["is 4294967296", "0 to 2147483648"]);
    refused(size, "32".into(), &["string"]);
    refused(pattern, 0u32.into(), &["is 0", "1 to"]);
    refused(pattern, vec![true].into(), &["an array of 1", "one bool for each of 2 layers"]);
    refused(pattern, vec![true; 3].into(), &["an array of 3"]);
    refused(pattern, vec![1u32, 0].into(), &["bool"]);
    for base in [0.0f32, -1.0, f32::NAN, f32::INFINITY] {
        refused("rope.freq_base_swa", base.into(), &[&format!("is {base}"), "a finite number above 0"]);
    }
    for cap in ["attn_logit_softcapping", "final_logit_softcapping"] {
        refused(cap, 30.0f32.into(), &["soft caps are not yet", "is 30"]);
        refused(cap, f32::NAN.into(), &["is NaN"]);
        runs(&gemma(cap, 0.0f32.into()));
    }
    [0u32, 1, 1 << 31].into_iter().for_each(|tokens| runs(&gemma(size, tokens.into())));
    [1u32.into(), vec![false, true].into()].into_iter().for_each(|layers: Value| runs(&gemma(pattern, layers)));
    runs(&sound("gemma3").without(&format!("gemma3.{size}")).without("gemma3.rope.freq_base_swa"));
}

on_engines! {
    the_models_that_the_others_break_are_sound
    b04_learned_positions_end_the_context
}
