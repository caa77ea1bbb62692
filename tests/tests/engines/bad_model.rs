//! Files that are sound as files and can't be as models: section B of the bad inputs. Each error names key or tensor,
//! value and rule.

use inkstone::gguf::{TensorSpec, Value};
use inkstone::tensor::DType;
use inkstone::text::Tokenizer;
use inkstone::{Error, ErrorKind, FinishReason, ModelOptions, Options};
use inkstone_tests::tiny::{BOS, Tiny};
use inkstone_tests::{busy_time, on_engines};
use std::time::Duration;

/// Far above what a refusal takes of a processor, far below what computing first would.
const QUICK: Duration = Duration::from_secs(2);

/// The message that refuses a model.
#[track_caller]
fn refused(tiny: &Tiny) -> String {
    let start = busy_time();
    let error = tiny.open().map(|_| "it opened").unwrap_err();
    assert!(busy_time() - start < QUICK, "{:?} until: {error}", busy_time() - start);
    assert!(!error.is_usage(), "the file is at fault: {error}");
    assert!(matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::OutOfMemory), "{:?}: {error}", error.kind());
    error.to_string()
}

/// Refused with a message that has all of `parts`.
#[track_caller]
pub(super) fn refuses(tiny: &Tiny, parts: &[&str]) {
    let message = refused(tiny);
    assert!(parts.iter().all(|p| message.contains(p)), "{message:?} lacks some of {parts:?}");
}

#[track_caller]
fn runs(tiny: &Tiny) {
    runs_on("reference", tiny);
}

#[track_caller]
fn runs_on(engine: &str, tiny: &Tiny) {
    let model = tiny.open_on(engine).unwrap();
    let reply = model.generate_ids(&[BOS], &Options::default().max_tokens(3).seed(1)).unwrap();
    assert!(!reply.ids.is_empty());
}

fn the_model_that_the_others_break_is_sound(engine: &str) {
    runs_on(engine, &Tiny::random());
    let model = Tiny::saying(&["once", " more"]).open_on(engine).unwrap();
    let reply = model.generate_ids(&[BOS], &Options::default().temperature(0.0)).unwrap();
    assert_eq!((reply.text.as_str(), reply.finish, &reply.ids[..]), ("once more", FinishReason::End, &[3, 4, 2][..]));
}

#[test]
fn b01_an_architecture_that_is_not_known_is_named_with_those_that_are() {
    const KEY: &str = "general.architecture";
    refuses(&Tiny::random().set(KEY, "lama"), &["architecture lama is not known", "llama"]);
    refuses(&Tiny::random().without(KEY), &[KEY, "missing", "llama"]);
    let long = refused(&Tiny::random().set(KEY, "x".repeat(1 << 20)));
    assert!(long.len() < 300, "{} bytes of message", long.len());
    refuses(&Tiny::random().set(KEY, 7u32), &[KEY, "u32", "string"]);
    refuses(&Tiny::random().set(KEY, Value::String(vec![0xff])), &[KEY, "not UTF-8"]);
    refuses(&Tiny::random().set("llama.expert_count", 8u32), &["experts are not yet", "llama.expert_count is 8"]);
}

/// Counts that a model needs, with the largest that may be.
const COUNTS: &[(&str, u64)] = &[
    ("llama.block_count", 1 << 10),
    ("llama.context_length", 1 << 31),
    ("llama.embedding_length", 1 << 31),
    ("llama.feed_forward_length", 1 << 31),
    ("llama.attention.head_count", 1 << 31),
    ("llama.attention.key_length", 1 << 16),
    ("llama.attention.value_length", 1 << 16),
];

#[test]
fn b02_counts_of_nothing_and_of_too_much_are_refused() {
    for &(key, most) in COUNTS {
        for value in [0, most + 1, 1_000_000_000_000, u64::MAX] {
            refuses(&Tiny::random().set(key, value), &[&format!("key {key} is {value}"), &format!("to {most}")]);
        }
        refuses(&Tiny::random().set(key, -1i32), &[key, "-1"]);
        refuses(&Tiny::random().set(key, 2.5f32), &[key, "f32"]);
        refuses(&Tiny::random().set(key, "2"), &[key, "string"]);
    }
    refuses(&Tiny::random().set("llama.block_count", 1_000_000_000u32), &["llama.block_count is 1000000000", "1 to"]);
}

fn b02_as_many_layers_as_are_allowed_open_in_time(engine: &str) {
    let tiny = Tiny::of_layers(1024);
    let start = busy_time();
    runs_on(engine, &tiny);
    assert!(busy_time() - start < 10 * QUICK, "{:?}", busy_time() - start);
}

#[test]
fn b02_counts_that_are_missing_are_named() {
    for &(key, _) in COUNTS.iter().take(5) {
        refuses(&Tiny::random().without(key), &[&format!("key {key} is missing")]);
    }
}

/// Counts within their ranges that the tensors don't have: the first tensor that disagrees is named, before anything of
/// that size is allocated.
#[test]
fn b02_counts_that_no_tensor_has_name_the_tensor() {
    for (key, value, tensor) in [
        ("llama.block_count", 1u64 << 10, "blk.2.attn_norm.weight"),
        ("llama.embedding_length", 1 << 31, "token_embd.weight"),
        ("llama.feed_forward_length", 1 << 31, "blk.0.ffn_gate.weight"),
        ("llama.attention.head_count", 1 << 31, "blk.0.attn_q.weight"),
        ("llama.attention.key_length", 1 << 16, "blk.0.attn_q.weight"),
        ("llama.attention.value_length", 1 << 16, "blk.0.attn_v.weight"),
    ] {
        refuses(&Tiny::random().set(key, value), &[&format!("tensor {tensor}"), "expected"]);
    }
}

#[test]
fn b02_heads_must_divide() {
    const KV: &str = "llama.attention.head_count_kv";
    let random = Tiny::random;
    for value in [0u32, 3, 8, 1 << 31] {
        refuses(&random().set(KV, value), &[&format!("{KV} is {value}"), "a divisor of the 4 query heads"]);
    }
    refuses(&random().set(KV, Vec::<u32>::new()), &[KV, "empty"]);
    refuses(&random().set(KV, vec![2u32, 1]), &["different heads", KV, "2 in one layer, 1 in another"]);
    refuses(&random().set(KV, vec![-1i32, -1]), &[KV, "-1"]);
    runs(&random().set(KV, vec![2u32, 2]));
    refuses(&random().set("llama.attention.key_length", 7u32), &["key_length is 7", "even"]);
    let no_length = || random().without("llama.attention.key_length").without("llama.attention.value_length");
    runs(&no_length());
    refuses(
        &no_length().set("llama.attention.head_count", 5u32).set(KV, 5u32),
        &["head_count is 5", "divisor of the width 32"],
    );
    // One head as wide as the model: what is made for each pair of a head must stay small.
    let one = no_length().set("llama.attention.head_count", 1u32).set(KV, 1u32);
    refuses(&one.set("llama.embedding_length", 1u32 << 31), &["head_count is 1", "at most 65536"]);
}

#[test]
fn b02_dimensions_that_rotate_lie_in_a_head() {
    const KEY: &str = "llama.rope.dimension_count";
    for value in [0u32, 1, 10, u32::MAX] {
        refuses(&Tiny::random().set(KEY, value), &[&format!("{KEY} is {value}"), "2 to 8"]);
    }
    refuses(&Tiny::random().set(KEY, 3u32), &["is 3", "even"]);
    runs(&Tiny::random().set(KEY, 4u32));
}

#[test]
fn b02_a_vocabulary_of_nothing_is_refused() {
    const TOKENS: &str = "tokenizer.ggml.tokens";
    refuses(&Tiny::random().set(TOKENS, Vec::<&str>::new()), &[TOKENS, "empty", "at least one token"]);
    refuses(&Tiny::random().without(TOKENS), &[TOKENS]);
    refuses(&Tiny::random().without(TOKENS).set("llama.vocab_size", 0u32), &["llama.vocab_size is 0", "1 to"]);
}

#[test]
fn b03_a_tensor_that_is_missing_or_of_another_shape_is_named() {
    let sound = Tiny::random();
    for spec in sound.tensors() {
        let name = &spec.name;
        // Without a head the embedding is the head.
        if name != "output.weight" {
            let expected = format!("{:?}", spec.dims);
            refuses(&sound.clone().without_tensor(name), &[&format!("tensor {name}"), &expected]);
        }
        let elements: u64 = spec.dims.iter().product();
        let mut more = spec.dims.clone();
        more[0] += 1;
        let mut turned = spec.dims.clone();
        turned.reverse();
        let mut cases = vec![more, vec![elements, 1, 1, 2]];
        cases.extend((turned != spec.dims).then_some(turned));
        for dims in cases {
            let broken = sound.clone().tensor(name, &dims, &vec![0.5; dims.iter().product::<u64>() as usize]);
            refuses(&broken, &[&format!("tensor {name} is {dims:?}"), &format!("expected {:?}", spec.dims)]);
        }
    }
    runs(&sound.without_tensor("output.weight"));
}

#[test]
fn b03_biases_have_the_rows_of_their_matrix() {
    let name = "blk.1.attn_k.bias";
    runs(&Tiny::random().tensor(name, &[16], &[0.5; 16]));
    refuses(&Tiny::random().tensor(name, &[32], &[0.5; 32]), &["tensor blk.1.attn_k.bias is [32]", "expected [16]"]);
}

fn b03_tensors_that_the_model_does_not_have_are_ignored(engine: &str) {
    let sound = Tiny::random();
    let more = sound.clone().tensor("blk.7.attn_q.weight", &[3], &[f32::NAN; 3]).tensor("x", &[1], &[1.0]);
    let logits = |t: &Tiny| t.open_on(engine).unwrap().logits(&[BOS, 5], None).unwrap();
    assert_eq!(logits(&sound), logits(&more));
}

#[test]
fn b03_the_embedding_has_a_row_for_each_token() {
    let tiny = Tiny::random();
    for rows in [tiny.vocab - 1, tiny.vocab + 1] {
        let broken = tiny.clone().tensor("token_embd.weight", &[32, rows as u64], &vec![0.1; 32 * rows]);
        refuses(&broken, &[&format!("token_embd.weight is [32, {rows}]"), &format!("[32, {}]", tiny.vocab)]);
    }
}

#[test]
fn b03_types_that_cannot_be_computed_with_are_named() {
    let i32s = TensorSpec::new("blk.0.ffn_up.weight", DType::I32, &[32, 64]);
    refuses(&Tiny::random().encoded(i32s, vec![0; 4 * 32 * 64]), &["blk.0.ffn_up.weight is I32", "these can:"]);
}

fn b04_a_context_beyond_memory_is_refused_with_what_fits(engine: &str) {
    let tiny = Tiny::random();
    let error = match tiny.open_with(&ModelOptions::default().engine(engine).ctx(1 << 30)) {
        Err(error @ Error::ContextMemory { .. }) => error,
        Err(other) => panic!("{other}"),
        // Two layers of 64 bytes each, K and V: a machine of 150 GB holds even that.
        Ok(_) => return println!("not refused: there is memory for it"),
    };
    let Error::ContextMemory { bytes, free, largest, .. } = error else { unreachable!() };
    assert!(bytes > free && largest > 1 << 20, "{error}");
    let text = error.to_string();
    assert!([1 << 30, bytes, free, largest].iter().all(|n| text.contains(&n.to_string())), "{text}");
    // Half of it, because other processes take memory too.
    let model = tiny.open_with(&ModelOptions::default().engine(engine).ctx((largest / 2) as u32)).unwrap();
    assert_eq!(model.config().context as u64, largest / 2);
    assert!(model.notes().iter().any(|n| n.contains("more than the 64 that the model was trained with")));
}

#[test]
fn b04_contexts_out_of_range_are_refused() {
    for ctx in [0, (1 << 30) + 1, u32::MAX] {
        let error = Tiny::random().open_with(&ModelOptions::default().ctx(ctx)).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), format!("option ctx is {ctx}, allowed: 1 to 1073741824"));
        assert!(error.is_usage());
    }
}

fn b04_a_trained_context_beyond_memory_works_with_a_note(engine: &str) {
    let model = Tiny::random().set("llama.context_length", 1u64 << 31).open_on(engine).unwrap();
    assert!(
        model.notes().iter().any(|n| n.contains("memory does not hold the trained 2147483648")),
        "{:?}",
        model.notes()
    );
    let reply = model.generate_ids(&[BOS], &Options::default().max_tokens(2).seed(1)).unwrap();
    assert!(!reply.ids.is_empty());
}

#[test]
fn b05_rope_scaling_that_cannot_be_is_refused() {
    const TYPE: &str = "llama.rope.scaling.type";
    const FACTOR: &str = "llama.rope.scaling.factor";
    let random = Tiny::random;
    refuses(&random().set(TYPE, "stretch"), &[TYPE, "stretch", "none, linear, yarn"]);
    refuses(&random().set(TYPE, "linear"), &[FACTOR, "missing"]);
    for value in [0.0f32, -1.0, f32::NAN, f32::INFINITY] {
        let number = format!("is {value}, allowed: a finite number above 0");
        for kind in ["linear", "yarn"] {
            refuses(&random().set(TYPE, kind).set(FACTOR, value), &[FACTOR, &number]);
        }
        refuses(&random().set("llama.rope.scale_linear", value), &["llama.rope.scale_linear", &number]);
        refuses(&random().set("llama.rope.freq_base", value), &["llama.rope.freq_base", &number]);
        let yarn = |key: &str| {
            let yarn = random().set(TYPE, "yarn").set(FACTOR, 2.0f32);
            yarn.set("llama.rope.scaling.original_context_length", 32u32).set(key, value)
        };
        for key in ["yarn_beta_fast", "yarn_beta_slow", "attn_factor"] {
            let key = format!("llama.rope.scaling.{key}");
            refuses(&yarn(&key), &[&key, &number]);
        }
    }
    const ORIGINAL: &str = "llama.rope.scaling.original_context_length";
    // Without it the trained context counts.
    runs(&random().set(TYPE, "yarn").set(FACTOR, 2.0f32));
    refuses(&random().set(TYPE, "yarn").set(FACTOR, 2.0f32).set(ORIGINAL, 0u32), &[ORIGINAL, "is 0"]);
}

#[test]
fn b05_frequencies_that_are_no_numbers_are_refused() {
    let flat = Tiny::random().set("llama.rope.scaling.type", "yarn").set("llama.rope.scaling.factor", 2.0f32);
    let flat = flat.set("llama.rope.scaling.original_context_length", 1u32 << 20).set("llama.rope.freq_base", 1.0f32);
    refuses(&flat, &["llama.rope.freq_base is 1", "frequencies"]);
}

#[test]
fn b05_rope_factors_are_one_a_pair_and_above_zero() {
    const NAME: &str = "rope_freqs.weight";
    runs(&Tiny::random().tensor(NAME, &[4], &[1.0, 2.0, 4.0, 8.0]));
    for n in [1, 3, 5, 8] {
        let broken = Tiny::random().tensor(NAME, &[n], &vec![1.0; n as usize]);
        refuses(&broken, &[NAME, &format!("[{n}]"), "expected F32 [4]"]);
    }
    for value in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let broken = Tiny::random().tensor(NAME, &[4], &[1.0, 1.0, value, 1.0]);
        refuses(&broken, &[NAME, &format!("a factor of {value}"), "finite factors above 0"]);
    }
    let halves = TensorSpec::new(NAME, DType::F16, &[4]);
    refuses(&Tiny::random().encoded(halves, vec![0; 8]), &[NAME, "F16"]);
}

#[test]
fn b05_the_epsilon_of_norms_is_a_number_above_zero() {
    const KEY: &str = "llama.attention.layer_norm_rms_epsilon";
    for value in [0.0f32, -1e-5, f32::NAN, f32::INFINITY] {
        refuses(&Tiny::random().set(KEY, value), &[&format!("{KEY} is {value}"), "a finite number above 0"]);
    }
    refuses(&Tiny::random().without(KEY), &[KEY, "missing"]);
    // Above zero as f64, and not as the f32 that it is computed in.
    refuses(&Tiny::random().set(KEY, 1e-300f64), &[KEY, "is 0"]);
}

/// Generates until the model fails; the message.
fn failure(engine: &str, tiny: &Tiny) -> String {
    let model = tiny.open_on(engine).unwrap();
    let mut stream = model.stream_ids(&[BOS, 4], &Options::default().temperature(0.0)).unwrap();
    let error = stream.find_map(Result::err).map(|e| e.to_string()).unwrap_or_default();
    assert_eq!(stream.finish(), Some(FinishReason::Error));
    error
}

fn b06_nan_weights_end_the_sequence_with_the_index_of_the_token(engine: &str) {
    for name in ["blk.0.attn_q.weight", "blk.1.ffn_down.weight", "output_norm.weight", "output.weight"] {
        for value in [f32::NAN, f32::INFINITY] {
            // An infinity in q makes scores of infinity minus infinity; in the others infinities of both signs meet.
            let mut tiny = Tiny::random().value(name, 0, value);
            if value.is_infinite() {
                tiny = tiny.value(name, 1, -value);
            }
            let found = failure(engine, &tiny);
            // One row of the head whose infinities agree in sign is a sound logit, for a token or two.
            let token = if value.is_nan() { "0" } else { "" };
            assert!(found.starts_with(&format!("logits are NaN at token {token}")), "{name} {value}: {found}");
        }
    }
    let nan = Tiny::random().value("output.weight", 40, f32::NAN);
    assert_eq!(failure(engine, &nan), "logits are NaN at token 0");
}

fn b06_tokens_before_the_first_nan_are_kept(engine: &str) {
    let pieces = ["a", "b", "c", "d"];
    let said = Tiny::saying(&pieces);
    // The embedding of the third piece.
    let broken = said.clone().value("token_embd.weight", 5 * said.width, f32::NAN);
    let model = broken.open_on(engine).unwrap();
    let options = Options::default().temperature(0.0);
    let mut stream = model.stream_ids(&[BOS], &options).unwrap();
    let (mut text, mut errors) = (String::new(), Vec::new());
    for piece in &mut stream {
        match piece {
            Ok(piece) => text.push_str(&piece.text),
            Err(error) => errors.push(error.to_string()),
        }
    }
    assert_eq!((text.as_str(), &errors[..]), ("abc", &["logits are NaN at token 3".to_owned()][..]));
    assert_eq!(
        (stream.ids(), stream.finish(), stream.usage().completion_tokens),
        (&[3, 4, 5][..], Some(FinishReason::Error), 3)
    );
    // Only that sequence: the model goes on.
    assert_eq!(model.generate_ids(&[6], &options).unwrap().finish, FinishReason::End);
}

fn b06_block_scales_of_nan_and_infinity_load(engine: &str) {
    let spec = TensorSpec::new("output.weight", DType::Q8_0, &[32, Tiny::random().vocab as u64]);
    let blocks = |scale: u16, quants: [u8; 2]| {
        let block = [&scale.to_le_bytes()[..], &quants.repeat(16)].concat();
        Tiny::random().encoded(spec.clone(), block.repeat(Tiny::random().vocab))
    };
    let nan = "logits are NaN at token 0";
    assert_eq!(failure(engine, &blocks(0x7e00, [1, 1])), nan);
    // Infinity times 0.
    assert_eq!(failure(engine, &blocks(0x7c00, [0, 0])), nan);
    // Infinities of both signs meet, whatever the signs of the hidden values are; but where the bytes of a block are summed
    // before they are scaled, there is one infinity.
    let mixed = if engine != "reference" { "no token is left at token 0: logits took the last one" } else { nan };
    assert_eq!(failure(engine, &blocks(0x7c00, [1, 0xff])), mixed);
}

#[test]
fn b07_a_file_without_tensors_tokenizes_and_does_not_run() {
    let mut tiny = Tiny::random();
    let names: Vec<String> = tiny.tensors().map(|t| t.name.clone()).collect();
    for name in names {
        tiny = tiny.without_tensor(&name);
    }
    refuses(&tiny, &["no tensors", "can tokenize", "not run"]);
    let tokenizer = Tokenizer::from_metadata(tiny.gguf().metadata()).unwrap();
    assert_eq!(tokenizer.vocab_size(), tiny.vocab);
}

#[test]
fn what_a_file_recommends_must_be_in_range() {
    let recommend = |name: &str, value: f32| Tiny::random().set(&format!("general.sampling.{name}"), value);
    for (name, value, stage) in [
        ("temp", f32::NAN, "temperature is NaN"),
        ("temp", -1.0, "temperature is -1"),
        ("top_p", 2.0, "top-p is 2"),
        ("min_p", 1.5, "min-p is 1.5"),
        ("penalty_repeat", 0.0, "repetition penalty is 0"),
    ] {
        refuses(&recommend(name, value), &["general.sampling", stage, "allowed"]);
    }
    runs(&recommend("temp", 0.5));
}

on_engines! {
    the_model_that_the_others_break_is_sound
    b02_as_many_layers_as_are_allowed_open_in_time
    b03_tensors_that_the_model_does_not_have_are_ignored
    b04_a_context_beyond_memory_is_refused_with_what_fits
    b04_a_trained_context_beyond_memory_works_with_a_note
    b06_nan_weights_end_the_sequence_with_the_index_of_the_token
    b06_tokens_before_the_first_nan_are_kept
    b06_block_scales_of_nan_and_infinity_load
}
