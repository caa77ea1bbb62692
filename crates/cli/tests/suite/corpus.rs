//! Every command on every file that a fuzzer or a person found worth keeping: it ends with a documented code, with one
//! line if it refuses, and never by a signal.
#![cfg(target_os = "linux")]

use crate::common::{self, run_in_four_gigabytes};
use std::path::{Path, PathBuf};

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_none_or(|e| e == "gguf")).collect()
}

fn every_command(file: &Path) {
    let commands = [
        "show \"$FILE\" --check",
        "show \"$FILE\" --json",
        "tokenize \"$FILE\" 'Once upon a time' --ids",
        "complete -m \"$FILE\" -p 'Once upon a time' -n 2",
        "logits \"$FILE\" --ids 1 --out /dev/null",
    ];
    for command in commands {
        let ran = run_in_four_gigabytes(command, file);
        assert!(matches!(ran.code, Some(0..=2)), "{command} {}: {:?} {}", file.display(), ran.code, ran.stderr);
        let errors = ran.stderr.lines().filter(|l| l.starts_with("error: ")).count();
        assert_eq!(errors, usize::from(ran.code != Some(0)), "{command} {}: {}", file.display(), ran.stderr);
        assert!(!ran.stderr.contains("a bug in inkstone"), "{command} {}: {}", file.display(), ran.stderr);
    }
}

#[test]
fn files_of_the_fuzzer_end_with_a_documented_code() {
    let files = files("fuzz/corpus/gguf_reader");
    assert!(files.len() > 5);
    files.iter().for_each(|file| every_command(file));
}

#[test]
fn vocabularies_and_small_models_end_with_a_documented_code() {
    for folder in ["tests/oracle/tokenizers", "tests/oracle/archs/llama", "tests/oracle/archs/llama3-rope"] {
        let files = files(folder);
        assert!(files.iter().any(|f| f.is_file()), "{folder}");
        files.iter().filter(|f| f.is_file()).for_each(|file| every_command(file));
    }
}

/// The story model with a byte changed in each part of its head.
#[test]
fn changed_heads_end_with_a_documented_code() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changed.gguf");
    let original = std::fs::read(common::story()).unwrap();
    let head = inkstone::gguf::Gguf::open(common::story(), &Default::default()).unwrap().data_start() as usize;
    for at in (4..head).step_by(head / 40) {
        let mut changed = original.clone();
        changed[at] ^= 0x81;
        std::fs::write(&path, changed).unwrap();
        let ran = run_in_four_gigabytes("complete -m \"$FILE\" -p 'Once upon a time' -n 2", &path);
        assert!(matches!(ran.code, Some(0..=2)), "byte {at}: {:?} {}", ran.code, ran.stderr);
        assert!(!ran.stderr.contains("a bug in inkstone"), "byte {at}: {}", ran.stderr);
    }
}
