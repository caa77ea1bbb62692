//! `--session FILE`: texts and conversations that later runs of the program continue.

mod bad;
mod conversations;
mod texts;

use crate::common::{Ran, run, run_with_input};
use inkstone::{Model, ModelOptions, Session};
use serde_json::Value;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::{Path, PathBuf};

/// A folder for sessions.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Its files, each with a hash of its bytes.
    fn contents(&self) -> Vec<(PathBuf, u64)> {
        let hash = |path: &Path| BuildHasherDefault::<DefaultHasher>::default().hash_one(std::fs::read(path).ok());
        let paths = std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = paths.map(|path| (path.clone(), hash(&path))).collect();
        files.sort_unstable();
        files
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The tokens that a run generated.
fn ids(ran: &Ran) -> Vec<u32> {
    let objects = ran.text().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ids = objects.filter_map(|object| serde_json::from_value::<Vec<u32>>(object["ids"].clone()).ok());
    ids.flatten().collect()
}

/// A count in the last object of each answer.
fn counts(ran: &Ran, name: &str) -> Vec<u64> {
    let objects = ran.text().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    objects.filter_map(|object| object["usage"][name].as_u64()).collect()
}

/// The session in a file.
fn restored(path: &Path) -> (Session, Vec<u8>) {
    Model::embedded(&ModelOptions::default()).unwrap().restore(path).unwrap()
}

/// `complete`, with the most probable tokens and JSON.
fn complete(prompt: &str, more: &[&str]) -> Ran {
    run(&[&["complete", "--temp", "0", "--json", "-p", prompt], more].concat())
}

/// `chat` with messages, each a line.
fn chat(messages: &str, more: &[&str]) -> Ran {
    let limit: &[&str] = if more.contains(&"-n") { &[] } else { &["-n", "30"] };
    run_with_input(&[&["chat", "--temp", "0", "--json"], limit, more].concat(), messages.as_bytes())
}
