//! Compares `docs/dependencies.md` with the manifests: every dependency has a row with its purpose, licence and
//! maintainer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use crate::command::Program;
use crate::workspace::Workspace;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Licensed>,
}

#[derive(Deserialize)]
struct Licensed {
    name: String,
    license: Option<String>,
}

/// The rows `| name | purpose | licence | maintainer |` of the page, without heads and rules.
fn rows(page: &str) -> BTreeMap<&str, Vec<&str>> {
    page.lines()
        .filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'))
        .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>())
        .filter_map(|cells| Some((cells.first()?.strip_prefix('`')?.strip_suffix('`')?, cells)))
        .collect()
}

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Direct dependencies of all members that are not members.
fn used(workspace: &Workspace) -> BTreeSet<&str> {
    let members: BTreeSet<&str> = workspace.packages().iter().map(|p| p.name.as_str()).collect();
    let all: BTreeSet<&str> = workspace.packages().iter().flat_map(|p| p.dependencies()).collect();
    all.difference(&members).copied().collect()
}

#[test]
fn every_dependency_has_a_full_row_and_every_row_a_dependency() {
    let page = std::fs::read_to_string(top().join("docs/dependencies.md")).unwrap();
    let manifest = std::fs::read_to_string(top().join("Cargo.toml")).unwrap();
    let workspace = Workspace::load().unwrap();
    let rows = rows(&page);
    for name in used(&workspace) {
        assert!(rows.contains_key(name), "docs/dependencies.md has no row for {name}");
    }
    for (name, cells) in &rows {
        assert!(manifest.lines().any(|l| l.starts_with(&format!("{name} = "))), "Cargo.toml does not list {name}");
        assert_eq!(cells.len(), 4, "{name}: {cells:?}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{name}: {cells:?}");
    }
}

#[test]
fn licences_are_those_of_the_packages() {
    let page = std::fs::read_to_string(top().join("docs/dependencies.md")).unwrap();
    let json = Program::new("cargo metadata --format-version 1", top()).stdout().unwrap();
    let metadata: Metadata = serde_json::from_slice(&json).unwrap();
    for (name, cells) in rows(&page) {
        let licences: Vec<&str> =
            metadata.packages.iter().filter(|p| p.name == name).filter_map(|p| p.license.as_deref()).collect();
        let same = |l: &&str| l.replace('/', " OR ") == cells[2];
        assert!(licences.is_empty() || licences.iter().any(same), "{name}: {licences:?}, the page has {}", cells[2]);
    }
}
