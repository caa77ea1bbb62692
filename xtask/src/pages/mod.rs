//! Checks of the repository's pages: Rust blocks compile, shell blocks run, links lead somewhere.

mod links;
mod markdown;
mod rust;
mod shell;

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Error;
use crate::tree;
use crate::workspace::Workspace;
use markdown::Markdown;

pub use shell::{Script, program};

/// All pages of the repository, by their names from its top.
pub struct Pages {
    files: Vec<String>,
    pages: BTreeMap<String, Markdown>,
}

impl Pages {
    pub fn read(root: &Path) -> Result<Self, Error> {
        let files = tree::list(root)?;
        let mut pages = BTreeMap::new();
        for name in files.iter().filter(|name| name.ends_with(".md")) {
            let path = root.join(name);
            let text = std::fs::read_to_string(&path).map_err(|source| Error::File { path, source })?;
            pages.insert(name.clone(), Markdown::new(&text));
        }
        Ok(Self { files, pages })
    }

    /// The pages that users read: README.md, docs, the READMEs of crates.
    pub fn of_users(mut self) -> Self {
        self.pages.retain(|name, _| {
            let crate_readme = name.strip_prefix("crates/").and_then(|rest| rest.split_once('/'));
            name == "README.md"
                || name.starts_with("docs/")
                || crate_readme.is_some_and(|(_, file)| file == "README.md")
        });
        self
    }

    pub fn check_links(&self) -> Result<(), Error> {
        Error::from_faults(links::faults(&self.pages, &self.files))
    }

    /// Writes a crate outside the workspace that has all Rust blocks.
    pub fn write_crate(&self, workspace: &Workspace, folder: &Path) -> Result<(), Error> {
        Error::from_faults(rust::faults(&self.pages))?;
        rust::write_crate(workspace, &self.pages, folder)
    }

    /// The shell blocks, each with its place; the folder gets the files that they find.
    pub fn write_scripts(&self, workspace: &Workspace, folder: &Path) -> Result<Vec<(String, Script)>, Error> {
        shell::write_files(folder, &workspace.root().join("crates/inkstone/assets/story-5m-q8_0.gguf"))?;
        Ok(shell::scripts(&self.pages))
    }
}
