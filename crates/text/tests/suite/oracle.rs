//! Ids and pieces against golden data: see `tests/oracle/tokenizers/README.md`.

use inkstone_gguf::{Gguf, OpenOptions};
use inkstone_text::{Encode, Tokenizer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use unicode_normalization::UnicodeNormalization;

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

/// Texts that are not composed, and their ids where the model's tokenizer composes them, by vocabulary. The ids that the
/// other files have for six of these texts are of a program that composes nothing.
fn composed() -> BTreeMap<String, BTreeMap<String, Vec<u32>>> {
    let all = json(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/templates/nfc.json"));
    let cases = |cases: &Value| {
        cases.as_array().unwrap().iter().map(|case| (text(case).to_string(), ids(&case["ids"]))).collect()
    };
    all.as_object().unwrap().iter().map(|(name, list)| (name.clone(), cases(list))).collect()
}

/// Checks all cases of a vocabulary and gives their number.
fn check(folder: &Path, name: &str) -> usize {
    let golden = json(&folder.join(format!("{name}.json")));
    let tokenizer = Tokenizer::from_metadata(gguf(&folder.join(format!("{name}.gguf"))).metadata()).unwrap();
    assert_eq!(tokenizer.vocab_size() as u64, golden["n_vocab"].as_u64().unwrap());
    let cases = golden["cases"].as_array().unwrap();
    let composed = composed().remove(name);
    let mut differ = 0;
    for case in cases {
        let found = tokenizer.encode(text(case), &Encode::plain()).unwrap();
        if let Some(wanted) = composed.as_ref().and_then(|composed| composed.get(text(case))) {
            assert_eq!(&found, wanted, "{name}: {:?}", text(case));
            assert_eq!(tokenizer.decode(&found), text(case).nfc().collect::<String>().as_bytes(), "{name}");
            differ += usize::from(found != ids(&case["ids"]));
            continue;
        }
        assert_eq!(found, ids(&case["ids"]), "{name}: {:?}", text(case));
        let bytes = hex(&case["pieces_hex"]).unwrap_or_else(|| text(case).as_bytes().to_vec());
        assert_eq!(shown(&tokenizer, &found), bytes, "{name}: pieces of {:?}", text(case));
        if !case["pieces_hex"].is_string() {
            assert_eq!(tokenizer.decode(&found), bytes, "{name}: {:?}", text(case));
        }
    }
    assert_eq!(differ, if composed.is_some() { 6 } else { 0 }, "{name}: texts with other ids where they are composed");
    let special = golden["special"].as_array().unwrap();
    let mut added_twice = 0;
    for case in special {
        let found = tokenizer.encode(text(case), &Encode::new().special(true)).unwrap();
        let mut wanted = ids(&case["ids"]);
        // The other program adds the token that begins texts also where the text begins with it.
        if wanted.len() > 1 && [Some(wanted[0]), Some(wanted[1])] == [tokenizer.bos(); 2] {
            wanted.remove(0);
            added_twice += 1;
        }
        assert_eq!(found, wanted, "{name}: special {:?}", text(case));
    }
    assert_eq!(added_twice, usize::from(["phi-3", "llama-spm", "llama-bpe"].contains(&name)), "{name}");
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
fn texts_are_composed_where_the_models_tokenizer_does_so() {
    for (name, texts) in composed() {
        let folders = [inside(), outside()];
        let Some(folder) = folders.iter().find(|folder| folder.join(format!("{name}.gguf")).exists()) else {
            println!("not present: oracle/tokenizers/{name}.gguf");
            continue;
        };
        assert!(texts.len() > 60, "{name}");
        let tokenizer = Tokenizer::from_metadata(gguf(&folder.join(format!("{name}.gguf"))).metadata()).unwrap();
        for (text, wanted) in &texts {
            assert_eq!(&tokenizer.encode(text, &Encode::plain()).unwrap(), wanted, "{name}: {text:?}");
        }
    }
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
    let (mut names, mut composing) = (0, Vec::new());
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.extension().is_none_or(|e| e != "json") || name == "texts" {
            continue;
        }
        let own = json(&path);
        let other = own["same_as"].as_str().map(|other| json(&folder.join(format!("{other}.json"))));
        let golden = other.as_ref().unwrap_or(&own);
        metadata.insert("tokenizer.ggml.pre", name);
        let tokenizer = Tokenizer::from_metadata(&metadata).unwrap();
        assert_eq!(tokenizer.pre(), Some(name));
        let expected = golden["ids"].as_array().unwrap();
        assert_eq!(expected.len(), texts.len());
        for (i, text) in texts.iter().enumerate() {
            let found = tokenizer.encode(text, &Encode::plain()).unwrap();
            let original = golden["original"].get(i.to_string()).unwrap_or(&expected[i]);
            // Of this name alone: those that are the same in all else need not compose.
            let composed = own["composed"].get(i.to_string());
            if found != ids(composed.unwrap_or(original)) {
                wrong.push(format!("{name}: text {i} {text:?}"));
            }
            assert!(composed.is_none_or(|composed| composed != original), "{name}: text {i} is the same composed");
            let text = if composed.is_some() { text.nfc().collect() } else { text.to_string() };
            assert_eq!(tokenizer.decode(&found), text.as_bytes(), "{name}: {text:?}");
        }
        if let Some(composed) = own["composed"].as_object() {
            assert_eq!(composed.len(), 6, "{name}");
            composing.push(name.to_string());
        }
        names += 1;
    }
    assert_eq!(names, 43);
    composing.sort();
    assert_eq!(composing, ["command-r", "mpt", "olmo", "qwen2", "qwen35"]);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
