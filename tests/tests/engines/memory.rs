//! How much memory a model takes: its file's size, its caches and little else. A child process runs a large file that is
//! made here, and tells the most that it had.

#![cfg(target_os = "linux")]

use inkstone::{Model, ModelOptions, Options};
use inkstone_tests::large::{self, CONTEXT, SHALLOW};
use inkstone_tests::tiny::BOS;
use std::process::Command;

/// Where the file of a child is.
const FILE: &str = "INKSTONE_LARGE_FILE";
/// Engine of a child.
const ENGINE: &str = "INKSTONE_LARGE_ENGINE";

/// What may come on top of the file and the caches: plans, vocabulary, the program. A tenth of the file, where that is
/// more.
const REST: u64 = 120 << 20;

/// Most bytes that this process had in memory.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// The part of a child: nothing without its variables.
#[test]
fn child_of_the_test_of_memory() {
    let (Some(path), Ok(engine)) = (std::env::var_os(FILE), std::env::var(ENGINE)) else { return };
    let model = Model::open_with(path, &ModelOptions::default().engine(&engine).ctx(CONTEXT)).unwrap();
    let reply = model.generate_ids(&[BOS, 3, 4], &Options::default().temperature(0.0).max_tokens(3)).unwrap();
    let config = model.config();
    let caches = model.graph().kv_bytes_per_token() * config.context as u64 * config.sequences as u64;
    println!("outcome: {} {caches} {}", reply.ids.len(), peak());
}

#[test]
fn a_model_takes_the_memory_of_its_file_its_caches_and_little_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.gguf");
    let file = large::write(&path, SHALLOW);
    assert!(file > 300 << 20, "{file} bytes");
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "memory::child_of_the_test_of_memory", "--nocapture"]).env(ENGINE, "cpu").env(FILE, &path);
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let outcome = text.lines().find_map(|l| l.split("outcome: ").nth(1));
    let outcome = outcome.unwrap_or_else(|| panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr)));
    let [tokens, caches, peak] = outcome.split(' ').map(|n| n.parse::<u64>().unwrap()).collect::<Vec<_>>()[..] else {
        panic!("{outcome}")
    };
    println!("{} MB of file, {} MB of caches, at most {} MB in memory", file >> 20, caches >> 20, peak >> 20);
    assert!(tokens > 0);
    assert!(peak <= file + caches + REST.max(file / 10), "{peak} bytes of a file of {file} and caches of {caches}");
}
