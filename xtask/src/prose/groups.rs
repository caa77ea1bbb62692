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
const BEFORE: &[(&str, usize)] = &[("xtask", 39)];

/// All groups: the documents, then the sources of each package.
pub fn all(workspace: &Workspace) -> Result<Vec<Group>, Error> {
    let root = workspace.root();
    let mut groups = Vec::new();
    for (name, paths) in DOCUMENTS {
        let mut files = Vec::new();
        for path in paths.iter().map(|path| root.join(path)) {
            if path.is_dir() { files.extend(below(&path, &["md"])?) } else { files.push(path) }
        }
        groups.push(group(name, files));
    }
    for package in workspace.packages() {
        let mut files = below(&package.folder().join("src"), &["rs"])?;
        // Build scripts, and examples of one file each.
        files.extend(directly_in(package.folder(), "rs")?);
        groups.push(group(&package.name, files));
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

/// The files of a folder itself with this extension.
fn directly_in(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, Error> {
    let at = |source| Error::File { path: folder.to_owned(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(at)? {
        let path = entry.map_err(at)?.path();
        files.extend((path.is_file() && path.extension().is_some_and(|e| e == extension)).then_some(path));
    }
    files.sort_unstable();
    Ok(files)
}

/// The files below a folder with these extensions, sorted.
pub fn below(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>, Error> {
    let mut files = files_below(folder)?;
    files.retain(|file| file.extension().is_some_and(|e| extensions.iter().any(|wanted| e == *wanted)));
    files.sort_unstable();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_files_and_every_file_exists() {
        let groups = all(&Workspace::load().unwrap()).unwrap();
        for group in &groups {
            assert!(group.files.iter().all(|file| file.is_file()), "{}: {:?}", group.name, group.files);
        }
        for name in ["README", "docs", "help", "inkstone", "inkstone-cli", "inkstone-gguf", "library"] {
            let files = groups.iter().filter(|g| g.name == name).map(|g| g.files.len()).sum::<usize>();
            assert!(files > 0, "{name} has no files");
        }
        assert_eq!(unknown(&groups), [""; 0]);
    }
}
