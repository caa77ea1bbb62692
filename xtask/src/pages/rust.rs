//! Rust blocks as a reader would use them: in a crate outside the workspace, which depends on the crates here by their folders.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use super::markdown::{Block, Markdown};
use crate::error::Error;
use crate::workspace::Workspace;

/// Blocks of this language are compiled. Excerpts of a file have the language `rs`: another test compares them with the file.
const LANGUAGE: &str = "rust";

/// Words after the language that a block may have. With `ignore` it would not be compiled.
const ATTRIBUTES: &[&str] = &["no_run", "should_panic"];

/// Dependencies of the workspace that blocks may use in addition to its crates.
const DEPENDENCIES: &[&str] = &["axum", "futures-util", "serde_json", "tokio"];

/// Blocks that are not compiled although their language says that they are Rust.
pub fn faults(pages: &BTreeMap<String, Markdown>) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, block) in blocks(pages) {
        for word in block.info.split([',', ' ']).skip(1).filter(|word| !word.is_empty() && !ATTRIBUTES.contains(word)) {
            faults.push(format!("{name}:{}: {word} is not allowed, only {}", block.line, ATTRIBUTES.join(", ")));
        }
    }
    faults
}

/// Writes the crate into `folder`: each block is a file of its own, in which lines have the numbers that they have in the page's
/// block.
pub fn write_crate(workspace: &Workspace, pages: &BTreeMap<String, Markdown>, folder: &Path) -> Result<(), Error> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|source| Error::File { path, source })
    };
    let src = folder.join("src");
    if src.exists() {
        std::fs::remove_dir_all(&src).map_err(|source| Error::File { path: src.clone(), source })?;
    }
    std::fs::create_dir_all(&src).map_err(|source| Error::File { path: src, source })?;
    let read = |name: &str| {
        let path = workspace.root().join(name);
        std::fs::read_to_string(&path).map_err(|source| Error::File { path, source })
    };
    write("Cargo.toml", &manifest(workspace, &read("Cargo.toml")?))?;
    write("Cargo.lock", &read("Cargo.lock")?)?;
    let mut root = String::from("//! The Rust blocks of the pages.\n#![allow(warnings)]\n");
    for (number, (name, block)) in blocks(pages).enumerate() {
        let file = format!("{}-{}.rs", name.replace('/', "-"), block.line);
        // Writing to text does not fail.
        let _ = writeln!(root, "#[path = {file:?}]\nmod block_{number};");
        write(&format!("src/{file}"), &module(&block.code))?;
    }
    write("src/lib.rs", &root)
}

fn blocks(pages: &BTreeMap<String, Markdown>) -> impl Iterator<Item = (&str, &Block)> {
    let all = pages.iter().flat_map(|(name, page)| page.blocks.iter().map(move |block| (name.as_str(), block)));
    all.filter(|(_, block)| block.language() == LANGUAGE)
}

/// With all features of all libraries, so that each block finds what it shows. The profiles are the workspace's, so that
/// dependencies that it has built are used again.
fn manifest(workspace: &Workspace, top: &str) -> String {
    let mut text = String::from(
        "[package]\nname = \"pages\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n[workspace]\n\n[dependencies]\n",
    );
    let crates = workspace.root().join("crates");
    for package in workspace.packages().iter().filter(|p| p.has_library() && p.folder().starts_with(&crates)) {
        let (name, features) = (&package.name, package.features());
        let _ = writeln!(text, "{name} = {{ path = {:?}, features = {features:?} }}", package.folder());
    }
    let is_dependency = |line: &&str| DEPENDENCIES.iter().any(|name| line.starts_with(&format!("{name} = ")));
    for line in top.lines().filter(is_dependency) {
        let _ = writeln!(text, "{line}");
    }
    // They are the end of the file.
    let profiles = top.find("\n[profile.").map_or("", |at| &top[at..]);
    text + profiles
}

/// A block as a module. Without a `main` it is the body of a function in which `?` works.
fn module(code: &str) -> String {
    // Lines that rustdoc hides.
    let code: String = code.lines().map(|line| line.strip_prefix("# ").unwrap_or(line).to_owned() + "\n").collect();
    if code.contains("fn main()") {
        return code;
    }
    let is_async = if code.contains(".await") { "async " } else { "" };
    let ends_itself = code.trim_end().lines().last().is_some_and(|line| line.starts_with("Ok"));
    let (error, end) =
        if ends_itself { ("impl std::fmt::Debug", "") } else { ("Box<dyn std::error::Error>", "; Ok(())") };
    // The head takes the line of the fence: line 2 of the file is the first line of the block.
    format!("{is_async}fn block() -> Result<(), {error}> {{\n{code}{end} }}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Program;

    fn pages(text: &str) -> BTreeMap<String, Markdown> {
        BTreeMap::from([("docs/a.md".to_owned(), Markdown::new(text))])
    }

    /// Whether the blocks of a page compile in the crate; it has no dependencies here.
    fn compiles(text: &str) -> Result<(), String> {
        let json = r#"{ "packages": [], "workspace_root": "ROOT", "target_directory": "target" }"#;
        let place = tempfile::tempdir().unwrap();
        let root = place.path().display().to_string();
        let workspace = Workspace::parse(json.replace("ROOT", &root).as_bytes()).unwrap();
        std::fs::write(place.path().join("Cargo.lock"), "version = 4\n").unwrap();
        std::fs::write(place.path().join("Cargo.toml"), "[workspace]\n\n[profile.dev]\nopt-level = 1\n").unwrap();
        let folder = place.path().join("crate");
        write_crate(&workspace, &pages(text), &folder).unwrap();
        let check = Program::new("cargo check --quiet --offline --target-dir target", &folder);
        check.stdout().map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn blocks_of_every_form_compile() {
        let code = "use std::fs::read;\nprint!(\"{:?}\", read(\"a\")?)\n";
        let main = "fn main() {}\n";
        let hidden = "let n: u8 = \"1\".parse()?;\n# Ok::<(), std::num::ParseIntError>(())\n";
        let future = "std::future::ready(1).await;\n";
        let text = [code, main, hidden, future].map(|code| format!("```rust,no_run\n{code}```\n")).concat();
        compiles(&format!("{text}```rs\nan excerpt\n```\n")).unwrap();
    }

    #[test]
    fn a_block_that_does_not_compile_is_named() {
        let error = compiles("# A\n\n```rust\nlet n = 1;\nlet m: u8 = \"2\";\n```\n").unwrap_err();
        assert!(error.contains("mismatched types") && error.contains("docs-a.md-3.rs:3"), "{error}");
    }

    #[test]
    fn blocks_that_are_not_compiled_are_faults() {
        let faults = faults(&pages("```rust,ignore\nx\n```\n```rust,no_run\n```\n```rs\n```\n"));
        assert_eq!(faults, ["docs/a.md:1: ignore is not allowed, only no_run, should_panic"]);
    }
}
