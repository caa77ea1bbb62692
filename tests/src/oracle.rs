//! The folders of golden data.

use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// A file or folder of the project's own golden data.
pub fn oracle(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle").join(path)
}

/// A model that ships with the facade.
pub fn assets(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/inkstone/assets").join(name)
}

/// A file or folder of golden data outside of the project, in the folder that `INKSTONE_ORACLE` names, or in its
/// default. If it is missing, this function prints a line and returns `None`.
pub fn outside(path: &str) -> Option<PathBuf> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/oracle");
    let folder = std::env::var_os("INKSTONE_ORACLE").map_or_else(default, PathBuf::from).join(path);
    if folder.exists() {
        return Some(folder);
    }
    eprintln!("not present: golden data {path} (INKSTONE_ORACLE names their folder)");
    None
}

/// A JSON file.
///
/// # Panics
/// If it can't be read as `T`.
pub fn json<T: DeserializeOwned>(path: &Path) -> T {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
