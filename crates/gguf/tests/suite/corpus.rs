//! Replays the corpus of the fuzz target through the code of the target.

use crate::common::*;
use crate::gguf_reader;
use inkstone_gguf::{Array, Metadata, TensorSpec, Value, Writer};
use inkstone_tensor::DType;
use std::path::Path;

/// The files of the corpus: name, bytes, and whether the reader accepts them.
fn seeds() -> Vec<(&'static str, Vec<u8>, bool)> {
    let bad_key = Raw::new(0, 1).key("k", ARRAY).u32(ARRAY).u64(1).u32(ARRAY).u64(1);
    vec![
        ("every-value-type", every_value_type(), true),
        ("tensors", tensors(), true),
        ("nothing", Raw::new(0, 0).0, true),
        ("unknown-tensor-type", Raw::new(1, 0).tensor("t", &[8], Q4_2, 0).data(64).0, true),
        ("empty-tensor", Raw::new(1, 0).tensor("t", &[0, 3], F32, 0).data(0).0, true),
        ("nested-arrays", Raw::new(0, 1).key("k", ARRAY).u32(ARRAY).u64(2).u32(U32).u64(0).u32(BOOL).u64(0).0, true),
        ("array-without-end", bad_key.0, false),
        ("overlap", Raw::new(2, 0).tensor("a", &[9], F32, 0).tensor("b", &[1], F32, 32).data(64).0, false),
        ("huge-counts", Raw::new(u64::MAX, 1 << 63).0, false),
        ("big-endian", [&b"GGUF"[..], &[0, 0, 0, 3], &[0; 16]].concat(), false),
    ]
}

fn every_value_type() -> Vec<u8> {
    let mut metadata = Metadata::new();
    metadata.insert("general.alignment", 64u32);
    for (name, value) in [
        ("u8", Value::U8(1)),
        ("i8", Value::I8(-1)),
        ("u16", Value::U16(1)),
        ("i16", Value::I16(-1)),
        ("i32", Value::I32(-1)),
        ("f32", Value::F32(f32::NAN)),
        ("bool", Value::Bool(true)),
        ("string", Value::from("text")),
        ("u64", Value::U64(u64::MAX)),
        ("i64", Value::I64(i64::MIN)),
        ("f64", Value::F64(0.5)),
        ("strings", Value::from(vec!["a", "", "bc"])),
        ("f32s", Value::from(vec![0.5f32, f32::INFINITY])),
        ("bools", Value::from(vec![true, false])),
        ("lists", Value::Array(Array::Arrays(vec![Array::U16(vec![1, 2]), Array::I64(vec![])]))),
    ] {
        metadata.insert(name, value);
    }
    Writer::new(Vec::new(), &metadata, Vec::new()).unwrap().finish().unwrap()
}

fn tensors() -> Vec<u8> {
    let specs = vec![
        TensorSpec::new("scalar", DType::F32, &[]),
        TensorSpec::new("blocks", DType::Q8_0, &[32, 2]),
        TensorSpec::new("four", DType::I8, &[3, 1, 2, 1]),
    ];
    let mut writer = Writer::new(Vec::new(), &Metadata::new(), specs).unwrap();
    writer.data(&[1; 4 + 68 + 6]).unwrap();
    writer.finish().unwrap()
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/gguf_reader")
}

/// `INKSTONE_WRITE_CORPUS=1 cargo test -p inkstone-gguf --test suite corpus` writes the seeds anew.
#[test]
fn the_corpus_has_every_seed_as_it_is_made_here() {
    for (name, bytes, _) in seeds() {
        if std::env::var_os("INKSTONE_WRITE_CORPUS").is_some() {
            std::fs::write(folder().join(name), &bytes).unwrap();
        }
        assert!(std::fs::read(folder().join(name)).unwrap() == bytes, "{name} is another file");
    }
}

#[test]
fn what_must_hold_for_any_bytes_holds_for_the_corpus() {
    for (name, bytes, opens) in seeds() {
        assert_eq!(gguf_reader::check(&bytes), opens, "{name}");
    }
    for entry in std::fs::read_dir(folder()).unwrap() {
        gguf_reader::check(&std::fs::read(entry.unwrap().path()).unwrap());
    }
}
