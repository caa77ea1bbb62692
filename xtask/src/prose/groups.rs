//! The files that the rule applies to, and the number of findings that each group of files may have.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::files::files_below;
use crate::workspace::Workspace;

/// How many findings a group may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// One per 1,000 words.
    Rule,
    /// The count of a group that was written before the rule. It may only fall; at 1 per 1,000 words its row is removed.
    Before(usize),
}

/// Files that are counted together.
pub struct Group {
    pub name: String,
    pub limit: Limit,
    pub files: Vec<PathBuf>,
}

/// Files outside the crates, relative to the top; a folder stands for all Markdown and Rust files below it.
const DOCUMENTS: &[(&str, &[&str])] = &[
    ("README", &["README.md"]),
    ("docs", &["docs", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]),
    ("help", &["crates/cli/tests/help.txt"]),
    ("bench", &["bench/README.md", "bench/peers/candle/src", "bench/peers/templates/src"]),
    ("bench/notes", &["bench/notes"]),
    ("fuzz", &["fuzz/README.md", "fuzz/checks", "fuzz/fuzz_targets"]),
    ("tests/oracle", &["tests/oracle"]),
    ("tools", &["tools"]),
];

/// The source with the constructions as examples, which are not counted.
const EXAMPLES: &str = "xtask/src/prose/expressions.rs";

/// The groups that had more findings than the rule allows when it was made.
const BEFORE: &[(&str, usize)] = &[("bench/notes", 148)];

/// All groups: the documents, then the sources of each package.
pub fn all(workspace: &Workspace) -> Result<Vec<Group>, Error> {
    let root = workspace.root();
    let mut groups = Vec::new();
    for (name, paths) in DOCUMENTS {
        let mut files = Vec::new();
        for path in paths.iter().map(|path| root.join(path)) {
            if path.is_dir() { files.extend(below(&path, &["md", "rs"])?) } else { files.push(path) }
        }
        groups.push(group(name, files));
    }
    for package in workspace.packages() {
        let mut files = below(&package.folder().join("src"), &["rs"])?;
        // Build scripts, and examples of one file each.
        files.extend(directly_in(package.folder(), "rs")?);
        files.retain(|file| *file != root.join(EXAMPLES));
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
        for name in [
            "README",
            "docs",
            "help",
            "bench",
            "bench/notes",
            "fuzz",
            "tests/oracle",
            "tools",
            "inkstone",
            "inkstone-cli",
            "inkstone-gguf",
            "library",
        ] {
            let files = groups.iter().filter(|g| g.name == name).map(|g| g.files.len()).sum::<usize>();
            assert!(files > 0, "{name} has no files");
        }
        assert_eq!(unknown(&groups), [""; 0]);
        let sources: Vec<_> = groups.iter().filter(|g| g.name == "xtask").flat_map(|g| &g.files).collect();
        assert!(sources.iter().any(|file| file.ends_with("prose/groups.rs")), "{sources:?}");
        assert!(!sources.iter().any(|file| file.ends_with(EXAMPLES)), "{sources:?}");
        let checks = groups.iter().filter(|g| g.name == "fuzz").flat_map(|g| &g.files);
        assert!(checks.filter(|file| file.extension().is_some_and(|e| e == "rs")).count() > 3);
    }
}
