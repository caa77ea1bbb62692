//! Ids and pieces against golden data: see `tests/oracle/tokenizers/README.md`.

use inkstone_gguf::{Gguf, OpenOptions};
use inkstone_text::{Encode, Tokenizer};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Golden data of the project.
fn inside() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/tokenizers")
}

/// Golden data that stays outside, if it is there.
fn outside() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oracle");
    std::env::var_os("INKSTONE_ORACLE").map_or(default, PathBuf::from).join("tokenizers")
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn gguf(path: &Path) -> Gguf {
    Gguf::open(path, &OpenOptions::default()).unwrap()
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

fn text(case: &Value) -> &str {
    case["text"].as_str().unwrap()
}

fn hex(value: &Value) -> Option<Vec<u8>> {
    let digits = value.as_str()?;
    Some((0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect())
}

fn shown(tokenizer: &Tokenizer, ids: &[u32]) -> Vec<u8> {
    ids.iter().flat_map(|&id| tokenizer.piece_or_text(id).unwrap()).copied().collect()
}

/// Checks all cases of a vocabulary and gives their number.
fn check(folder: &Path, name: &str) -> usize {
    let golden = json(&folder.join(format!("{name}.json")));
    let tokenizer = Tokenizer::from_metadata(gguf(&folder.join(format!("{name}.gguf"))).metadata()).unwrap();
    assert_eq!(tokenizer.vocab_size() as u64, golden["n_vocab"].as_u64().unwrap());
    let cases = golden["cases"].as_array().unwrap();
    for case in cases {
        let found = tokenizer.encode(text(case), &Encode::plain()).unwrap();
        assert_eq!(found, ids(&case["ids"]), "{name}: {:?}", text(case));
        let bytes = hex(&case["pieces_hex"]).unwrap_or_else(|| text(case).as_bytes().to_vec());
        assert_eq!(shown(&tokenizer, &found), bytes, "{name}: pieces of {:?}", text(case));
        if !case["pieces_hex"].is_string() {
            assert_eq!(tokenizer.decode(&found), bytes, "{name}: {:?}", text(case));
        }
    }
    let special = golden["special"].as_array().unwrap();
    for case in special {
        let found = tokenizer.encode(text(case), &Encode::new().special(true)).unwrap();
        assert_eq!(found, ids(&case["ids"]), "{name}: special {:?}", text(case));
    }
    let decode = golden["decode"].as_array().unwrap();
    for case in decode {
        let ids = ids(&case["ids"]);
        let bytes = hex(&case["pieces_hex"]).unwrap();
        assert_eq!(shown(&tokenizer, &ids), bytes, "{name}: pieces of {ids:?}");
        let mut decoder = tokenizer.decoder();
        let mut text = String::new();
        for &id in &ids {
            text.push_str(decoder.push(tokenizer.piece_or_text(id).unwrap()));
        }
        text.push_str(decoder.finish());
        assert_eq!(text, String::from_utf8_lossy(&bytes), "{name}: {ids:?}");
    }
    cases.len() + special.len() + decode.len()
}

#[test]
fn the_vocabularies_of_the_project() {
    for name in ["gpt-2", "phi-3", "qwen2", "falcon"] {
        assert!(check(&inside(), name) >= 130, "{name}");
    }
}

#[test]
fn the_vocabularies_outside() {
    for name in ["llama-spm", "llama-bpe", "qwen35", "starcoder", "refact", "mpt", "deepseek-llm", "deepseek-coder"] {
        if outside().join(format!("{name}.gguf")).exists() {
            assert!(check(&outside(), name) >= 130, "{name}");
        } else {
            println!("not present: oracle/tokenizers/{name}.gguf");
        }
    }
}

#[test]
fn kinds_that_are_not_there_are_named() {
    for (file, kind) in [("gemma-4", "gemma4"), ("bert-bge", "bert"), ("nomic-bert-moe", "t5")] {
        let path = outside().join(format!("{file}.gguf"));
        if !path.exists() {
            println!("not present: oracle/tokenizers/{file}.gguf");
            continue;
        }
        let error = Tokenizer::from_metadata(gguf(&path).metadata()).unwrap_err().to_string();
        assert_eq!(error, format!("tokenizer model {kind:?} is not known; known are: llama, gpt2"));
    }
}

#[test]
fn every_pre_tokenizer() {
    let folder = inside().join("pre");
    let texts = json(&folder.join("texts.json"));
    let texts: Vec<&str> = texts.as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
    let file = gguf(&folder.join("pairs.gguf"));
    let mut metadata = file.metadata().clone();
    let mut names = 0;
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.extension().is_none_or(|e| e != "json") || name == "texts" {
            continue;
        }
        let own = json(&path);
        let golden = match own["same_as"].as_str() {
            Some(other) => json(&folder.join(format!("{other}.json"))),
            None => own,
        };
        metadata.insert("tokenizer.ggml.pre", name);
        let tokenizer = Tokenizer::from_metadata(&metadata).unwrap();
        assert_eq!(tokenizer.pre(), Some(name));
        let expected = golden["ids"].as_array().unwrap();
        assert_eq!(expected.len(), texts.len());
        for (i, text) in texts.iter().enumerate() {
            let original = golden["original"].get(i.to_string());
            let found = tokenizer.encode(text, &Encode::plain()).unwrap();
            if found != ids(original.unwrap_or(&expected[i])) {
                wrong.push(format!("{name}: text {i} {text:?}"));
            }
            assert_eq!(tokenizer.decode(&found), text.as_bytes(), "{name}: {text:?}");
        }
        names += 1;
    }
    assert_eq!(names, 43);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
