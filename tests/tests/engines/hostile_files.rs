//! Files that nobody made with good intent: heads with flipped bytes, and sizes that no memory holds. No panic, no
//! signal.

use inkstone::gguf::{Gguf, Metadata, TensorSpec, Value, Writer};
use inkstone::tensor::DType;
use inkstone::{Model, ModelOptions, Options};
use inkstone_tests::on_engines;
use inkstone_tests::tiny::{BOS, Tiny};
use proptest::prelude::*;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, LazyLock};

/// Opens a file from memory and generates two tokens, or gives the message of what refuses.
fn open_and_run(engine: &str, bytes: Vec<u8>) -> Result<usize, String> {
    let run = || -> Result<usize, Box<dyn std::error::Error>> {
        let options = ModelOptions::default().engine(engine);
        let model = Model::from_gguf(Gguf::from_bytes(Arc::new(bytes), "hostile")?, &options)?;
        let options = Options::default().seed(1).max_tokens(2);
        let tokens = model.generate_ids(&[BOS], &options)?.ids.len() + model.generate("abc", &options)?.ids.len();
        Ok(tokens + model.logits(&[BOS, 3], None)?.len())
    };
    run().map_err(|e| e.to_string())
}

static SOUND: LazyLock<(Vec<u8>, usize)> = LazyLock::new(|| {
    let yarn = Tiny::random().set("llama.rope.scaling.type", "yarn").set("llama.rope.scaling.factor", 2.0f32);
    let tiny =
        yarn.set("llama.rope.scaling.original_context_length", 32u32).tensor("rope_freqs.weight", &[4], &[1.0; 4]);
    let tiny = tiny.set("general.sampling.temp", 0.8f32).set("tokenizer.ggml.add_bos_token", true);
    let (bytes, data) =
        (tiny.bytes(), tiny.tensors().map(|t| 4 * t.dims.iter().product::<u64>() as usize).sum::<usize>());
    let head = bytes.len() - data;
    (bytes, head)
});

/// The integers that are at the edges of what is checked.
const EDGES: &[u64] = &[
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    33,
    63,
    255,
    256,
    65_535,
    1 << 16,
    1 << 20,
    1 << 31,
    u32::MAX as u64,
    1 << 32,
    1 << 62,
    u64::MAX,
];

/// A change of the head.
#[derive(Clone, Debug)]
enum Change {
    Byte(usize, u8),
    Flip(usize, u32),
    Word(usize, u64),
    Cut(usize),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let at = 0..SOUND.1;
    let edge = proptest::sample::select(EDGES);
    let one = prop_oneof![
        4 => (at.clone(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        4 => (at.clone(), 0..8u32).prop_map(|(at, bit)| Change::Flip(at, bit)),
        4 => (at.clone(), edge).prop_map(|(at, word)| Change::Word(at, word)),
        1 => at.prop_map(Change::Cut),
    ];
    prop::collection::vec(one, 1..3)
}

fn heads_with_changed_bytes_are_refused_or_run(engine: &str) {
    let (sound, _) = &*SOUND;
    assert!(open_and_run(engine, sound.clone()).is_ok());
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let outcomes = std::cell::RefCell::new([0, 0]);
    let checked = runner.run(&changes(), |changes| {
        let mut bytes = sound.clone();
        for change in &changes {
            match *change {
                Change::Byte(at, byte) if at < bytes.len() => bytes[at] = byte,
                Change::Flip(at, bit) if at < bytes.len() => bytes[at] ^= 1 << bit,
                Change::Word(at, word) if at + 8 <= bytes.len() => {
                    bytes[at..at + 8].copy_from_slice(&word.to_le_bytes())
                }
                Change::Cut(at) => bytes.truncate(at),
                _ => {}
            }
        }
        let outcome = open_and_run(engine, bytes);
        outcomes.borrow_mut()[usize::from(outcome.is_ok())] += 1;
        // The engine catches panics of its steps.
        prop_assert!(!outcome.as_ref().is_err_and(|e| e.contains("panic")), "{outcome:?}");
        Ok(())
    });
    checked.unwrap_or_else(|e| panic!("{e}"));
    let [refused, ran] = outcomes.into_inner();
    assert!(refused > 100 && ran > 50, "{refused} refused, {ran} ran: the changes are too coarse or too fine");
}

/// A value of a key that is replaced.
fn keys_with_values_at_the_edges_are_refused_or_run(engine: &str) {
    let tiny = Tiny::random().set("llama.rope.dimension_count", 8u32).set("llama.rope.freq_base", 1e4f32);
    let keys: Vec<(String, Value)> = tiny.metadata.iter().map(|(k, v)| (k.to_owned(), v.clone())).collect();
    for (key, value) in keys {
        let mut values: Vec<Value> = EDGES.iter().map(|n| Value::U64(*n)).collect();
        values.extend([f32::NAN, f32::MIN_POSITIVE, -1.0, f32::MAX].map(Value::F32));
        values.extend([Value::I64(-1), Value::from("x"), Value::from(Vec::<u32>::new()), Value::from(vec!["<s>"; 29])]);
        for other in values {
            let message = open_and_run(engine, tiny.clone().set(&key, other.clone()).bytes()).err().unwrap_or_default();
            assert!(!message.contains("panic"), "{key} {other:?} instead of {value:?}: {message}");
        }
    }
}

/// Names the case for a child process of this test.
const CASE: &str = "INKSTONE_HUGE_CASE";
/// Where its file is.
const FILE: &str = "INKSTONE_HUGE_FILE";
/// What runs it.
const ENGINE: &str = "INKSTONE_HUGE_ENGINE";
/// Limit of the child's address space in KiB.
const LIMIT: u32 = 2_000_000;

/// A model with a hole instead of weights: sizes as large as a file can claim at no cost.
struct Huge {
    name: &'static str,
    vocab: usize,
    width: u64,
    ffn: u64,
    context: u64,
    ctx: Option<u32>,
}

const PLAIN: Huge = Huge { name: "plain", vocab: 300, width: 64, ffn: 64, context: 600, ctx: None };

/// The values of a step of 512 rows don't fit, so steps are smaller.
const SMALLER_STEPS: &str = "ffn of a file that maps";

const HUGE: &[Huge] = &[
    PLAIN,
    Huge { name: "ctx", ctx: Some(1 << 30), ..PLAIN },
    Huge { name: "ctx that fits", ctx: Some(1 << 21), ..PLAIN },
    Huge { name: "trained context", context: 1 << 31, ..PLAIN },
    Huge { name: SMALLER_STEPS, ffn: 1 << 20, ..PLAIN },
    Huge { name: "ffn of a file that does not map", ffn: 1 << 25, ..PLAIN },
    Huge { name: "width", width: 1 << 19, ..PLAIN },
    Huge { name: "vocabulary", vocab: 1_050_000, width: 32, ..PLAIN },
    Huge { name: "vocabulary and width", vocab: 100_000, width: 1 << 17, ..PLAIN },
];

impl Huge {
    /// Writes the head and leaves the data a hole.
    fn write(&self, path: &Path) {
        let Huge { vocab, width, ffn, .. } = *self;
        let sound = Tiny::random();
        let mut metadata = Metadata::new();
        sound.metadata.iter().for_each(|(k, v)| drop(metadata.insert(k, v.clone())));
        let tokens: Vec<String> = (0..vocab).map(|i| format!("t{i}")).collect();
        for (key, value) in [
            ("llama.block_count", Value::U32(1)),
            ("llama.context_length", Value::U64(self.context)),
            ("llama.embedding_length", Value::U64(width)),
            ("llama.feed_forward_length", Value::U64(ffn)),
            ("tokenizer.ggml.tokens", tokens.into()),
            ("tokenizer.ggml.scores", vec![0f32; vocab].into()),
            ("tokenizer.ggml.token_type", vec![1i32; vocab].into()),
        ] {
            metadata.insert(key, value);
        }
        let matrix = |name: &str, dims: [u64; 2]| TensorSpec::new(format!("{name}.weight"), DType::Q4_0, &dims);
        let norm = |name: &str| TensorSpec::new(format!("{name}.weight"), DType::F32, &[width]);
        let specs = vec![
            matrix("token_embd", [width, vocab as u64]),
            norm("output_norm"),
            norm("blk.0.attn_norm"),
            matrix("blk.0.attn_q", [width, 32]),
            matrix("blk.0.attn_k", [width, 16]),
            matrix("blk.0.attn_v", [width, 16]),
            matrix("blk.0.attn_output", [32, width]),
            norm("blk.0.ffn_norm"),
            matrix("blk.0.ffn_gate", [width, ffn]),
            matrix("blk.0.ffn_up", [width, ffn]),
            matrix("blk.0.ffn_down", [ffn, width]),
        ];
        let rows = |s: &TensorSpec| s.dims.iter().skip(1).product::<u64>();
        let bytes = |s: &TensorSpec| rows(s) * s.dtype.row_bytes(s.dims[0] as usize).unwrap() as u64;
        let data: u64 = specs.iter().map(|s| bytes(s).next_multiple_of(32)).sum();
        let mut file = File::create(path).unwrap();
        // The head is flushed by the first byte of data; a writer that is dropped pads nothing.
        let writer = Writer::new(&mut file, &metadata, specs).unwrap();
        drop(writer);
        let head = file.metadata().unwrap().len();
        file.set_len(head + data).unwrap();
    }

    /// What a child does under its limit: all that a file's sizes reach.
    fn run(&self, engine: &str, path: &Path) -> inkstone::Result<String> {
        let mut options = ModelOptions::default().engine(engine);
        options.ctx = self.ctx;
        let model = Model::open_with(path, &options)?;
        let greedy = Options::default().temperature(0.0).max_tokens(2);
        let reply = model.generate_ids(&[BOS], &greedy)?;
        let prompt = vec![3; model.generator().compiled().largest().rows.min(model.config().context)];
        let logits = model.logits(&prompt, None)?;
        Ok(format!("{} tokens, {} logits", reply.ids.len(), logits.len()))
    }
}

/// The part of a child: nothing without its variables.
#[test]
fn child_of_the_test_of_sizes() {
    let (Ok(name), Ok(engine)) = (std::env::var(CASE), std::env::var(ENGINE)) else { return };
    let Some(path) = std::env::var_os(FILE) else { return };
    let case = HUGE.iter().find(|c| c.name == name).expect("a case of this name");
    match case.run(&engine, Path::new(&path)) {
        Ok(done) => println!("outcome: {done}"),
        Err(error) => println!("outcome: refused: {error}"),
    }
}

fn sizes_that_no_memory_holds_are_errors_under_a_limit_of_two_gigabytes(engine: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.gguf");
    let mut outcomes = Vec::new();
    for case in HUGE {
        let start = std::time::Instant::now();
        case.write(&path);
        let mut child = Command::new("sh");
        child.args([
            "-c",
            &format!("ulimit -v {LIMIT}; exec \"$0\" --exact hostile_files::child_of_the_test_of_sizes --nocapture"),
        ]);
        child.arg(std::env::current_exe().unwrap()).env(CASE, case.name).env(ENGINE, engine).env(FILE, &path);
        let output = child.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let end = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}: {:?}\n{text}\n{end}", case.name, output.status);
        let outcome =
            text.lines().find_map(|l| l.split("outcome: ").nth(1)).expect("a child says how it ended").to_owned();
        assert!(!outcome.contains("panic"), "{}: {outcome}", case.name);
        println!("{engine}, {}, {:.1} s: {outcome}", case.name, start.elapsed().as_secs_f64());
        outcomes.push((case.name, outcome));
    }
    let of = |name: &str| &outcomes.iter().find(|(n, _)| *n == name).expect("a case").1;
    assert_eq!(of("plain"), "2 tokens, 153600 logits");
    assert_eq!(of("ctx that fits"), "2 tokens, 153600 logits");
    assert!(of("ctx").contains("a context of 1073741824 tokens needs"));
    assert!(of("trained context").starts_with("2 tokens"));
    assert!(of(SMALLER_STEPS).starts_with("2 tokens") && of(SMALLER_STEPS) != of("plain"), "{}", of(SMALLER_STEPS));
    for refused in ["ffn of a file that does not map", "vocabulary and width"] {
        assert!(of(refused).starts_with("refused"), "{refused}: {}", of(refused));
    }
}

on_engines! {
    heads_with_changed_bytes_are_refused_or_run
    keys_with_values_at_the_edges_are_refused_or_run
    #[cfg(target_os = "linux")] sizes_that_no_memory_holds_are_errors_under_a_limit_of_two_gigabytes
}
