//! The workspace as `cargo metadata` shows it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::command::Program;
use crate::error::Error;

/// The members, in the order of their names.
#[derive(Debug, Deserialize)]
pub struct Workspace {
    packages: Vec<Package>,
    #[serde(rename = "workspace_root")]
    root: PathBuf,
    #[serde(rename = "target_directory")]
    target: PathBuf,
}

#[derive(Debug, Deserialize)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
    #[serde(default)]
    features: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
}

#[derive(Debug, Deserialize)]
struct Target {
    kind: Vec<String>,
}

impl Workspace {
    /// Reads the workspace that the current folder belongs to. The folder where this program was built may belong to another
    /// checkout, if two share a target folder.
    pub fn load() -> Result<Self, Error> {
        let json = Program::new("cargo metadata --no-deps --format-version 1", Path::new(".")).stdout()?;
        Self::parse(&json)
    }

    /// From the JSON of `cargo metadata --no-deps`.
    pub fn parse(json: &[u8]) -> Result<Self, Error> {
        let mut workspace: Self = serde_json::from_slice(json)?;
        workspace.packages.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(workspace)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Cargo's target folder.
    pub fn target(&self) -> &Path {
        &self.target
    }

    pub fn packages(&self) -> &[Package] {
        &self.packages
    }
}

impl Package {
    /// Names of all packages that it depends on, of every kind (normal, build, development), sorted.
    pub fn dependencies(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.dependencies.iter().map(|d| d.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    pub fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }

    pub fn features(&self) -> Vec<&str> {
        self.features.keys().map(String::as_str).collect()
    }

    pub fn has_library(&self) -> bool {
        self.targets.iter().any(|t| t.kind.iter().any(|k| k == "lib"))
    }
}
