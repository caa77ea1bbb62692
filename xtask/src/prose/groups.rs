//! Which files the rule holds for, and how many findings each group of files may have.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::files::files_below;
use crate::workspace::Workspace;

/// How many findings a group may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// One per 1,000 words.
    Rule,
    /// The count of a crate that was written before the rule. It may only fall; at 1 per 1,000 words the row goes.
    Before(usize),
}

/// Files that are counted together.
pub struct Group {
    pub name: String,
    pub limit: Limit,
    pub files: Vec<PathBuf>,
}

/// Files outside the crates, relative to the top; a folder stands for all Markdown below it.
const DOCUMENTS: &[(&str, &[&str])] = &[
    ("README", &["README.md"]),
    ("docs", &["docs", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]),
    ("help", &["crates/cli/tests/help.txt"]),
];

/// The groups that had more findings than the rule allows when it was made.
const BEFORE: &[(&str, usize)] = &[
    ("help", 15),
    ("inkstone", 98),
    ("inkstone-cli", 113),
    ("inkstone-engine-cpu", 386),
    ("inkstone-generate", 95),
    ("xtask", 137),
];

/// All groups: the documents, then the sources of each package.
pub fn all(workspace: &Workspace) -> Result<Vec<Group>, Error> {
    let root = workspace.root();
    let mut groups = Vec::new();
    for (name, paths) in DOCUMENTS {
        let mut files = Vec::new();
        for path in paths.iter().map(|path| root.join(path)) {
            if path.is_dir() {
                files.extend(below(&path, &["md"])?)
            } else {
                files.extend(path.exists().then_some(path))
            }
        }
        groups.push(group(name, files));
    }
    for package in workspace.packages() {
        groups.push(group(&package.name, below(&package.folder().join("src"), &["rs"])?));
    }
    Ok(groups)
}

/// The rows of the table that name no group.
pub fn unknown(groups: &[Group]) -> Vec<&'static str> {
    BEFORE.iter().map(|(name, _)| *name).filter(|name| groups.iter().all(|g| g.name != *name)).collect()
}

fn group(name: &str, files: Vec<PathBuf>) -> Group {
    let row = BEFORE.iter().find(|(row, _)| *row == name);
    Group { name: name.to_owned(), limit: row.map_or(Limit::Rule, |(_, count)| Limit::Before(*count)), files }
}

/// The files below a folder with these extensions, sorted.
pub fn below(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>, Error> {
    let mut files = files_below(folder)?;
    files.retain(|file| file.extension().is_some_and(|e| extensions.iter().any(|wanted| e == *wanted)));
    files.sort_unstable();
    Ok(files)
}
