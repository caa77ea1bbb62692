//! The packages that `cargo publish` would upload, made from a copy of the tree in which publishing is allowed.

use std::fs;
use std::path::{Path, PathBuf};

use super::context::Context;
use super::outcome::{Outcome, Verdict};
use crate::command::Program;
use crate::error::Error;
use crate::files::files_below;
use crate::workspace::Package;
use crate::{release, tree};

/// The limit of crates.io, in bytes.
const LARGEST_PACKAGE: u64 = 10_000_000;

/// Fields that each manifest has.
const FIELDS: &[&str] = &["description", "license", "readme", "rust-version", "keywords", "categories"];

/// Files of the repository's top that each package has with the same content.
const LICENCES: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT"];

/// Other files that each package has.
const FILES: &[&str] = &["Cargo.toml", "Cargo.toml.orig", "Cargo.lock", "README.md"];

/// Files that one package has in addition.
const ASSETS: &[(&str, &[&str])] = &[("inkstone", &["assets/README.md", "assets/story-5m-q8_0.gguf"])];

/// Folders that one package has in addition.
const FOLDERS: &[(&str, &str)] = &[("inkstone-shaders", "wgsl/")];

/// Packs every crate and looks into the packages. `--full` also compiles each from its package, and builds the program from
/// two folders.
pub fn check(context: &Context, _: &str) -> Result<Outcome, Error> {
    let root = context.workspace.root();
    let place = context.workspace.target().join("package-stage");
    if place.exists() {
        // Files of an earlier run would hide what is missing now.
        fs::remove_dir_all(&place).map_err(|source| Error::File { path: place.clone(), source })?;
    }
    let copy = place.join("tree");
    tree::copy(root, &copy)?;
    allow_publishing(&copy.join("Cargo.toml"))?;

    // The texts of shaders are a package of their own.
    let folders = ["crates", "shaders"].map(|folder| root.join(folder));
    let (packed, others): (Vec<&Package>, Vec<&Package>) =
        context.workspace.packages().iter().partition(|p| folders.iter().any(|folder| p.folder().starts_with(folder)));
    // All that is needed was fetched when this program was built.
    let cargo = context
        .program("cargo package --workspace --no-verify --offline")
        .args(others.iter().flat_map(|other| ["--exclude", &other.name]))
        .arg("--manifest-path")
        .arg(copy.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&place);
    let mut outcome = context.programs("package", [cargo])?;
    if outcome.verdict != Verdict::Passed {
        return Ok(outcome);
    }
    let unpacked = place.join("unpacked");
    let mut faults = Vec::new();
    for package in &packed {
        let name = folder_name(package);
        let archive = place.join("package").join(format!("{name}.crate"));
        let size = fs::metadata(&archive).map_err(|source| Error::File { path: archive.clone(), source })?.len();
        if size > LARGEST_PACKAGE {
            faults.push(format!("{name} has {size} bytes, at most {LARGEST_PACKAGE} are allowed"));
        }
        unpack(&archive, &unpacked)?;
        faults.extend(faults_of(&package.name, &unpacked.join(&name), root)?);
    }
    if !faults.is_empty() {
        outcome.verdict = Verdict::Failed(faults.join("\n"));
    } else if context.is_full() {
        write_workspace(&packed, &unpacked, root)?;
        let check =
            context.program("cargo check --workspace --all-features --offline --target-dir").arg(place.join("check"));
        outcome = context.programs("package check", [check.arg("--manifest-path").arg(unpacked.join("Cargo.toml"))])?;
        if outcome.verdict == Verdict::Passed {
            release::compare_two_folders(root, &place.join("release"))?;
        }
    }
    Ok(outcome)
}

/// The folder in a package that has everything.
fn folder_name(package: &Package) -> String {
    format!("{}-{}", package.name, package.version)
}

/// Makes a workspace of the unpacked packages, in which each finds the others as it would find them in the registry. Cargo's own
/// verification unpacks them where all builds of a user have their sources, and leaves them there for the next.
fn write_workspace(packages: &[&Package], folder: &Path, root: &Path) -> Result<(), Error> {
    let mut text = String::from("[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n\n[patch.crates-io]\n");
    for package in packages {
        text += &format!("{} = {{ path = {:?} }}\n", package.name, folder_name(package));
    }
    let manifest = folder.join("Cargo.toml");
    fs::write(&manifest, text).map_err(|source| Error::File { path: manifest, source })?;
    // The versions that the workspace has are here already.
    let lock = root.join("Cargo.lock");
    fs::copy(&lock, folder.join("Cargo.lock")).map(drop).map_err(|source| Error::File { path: lock, source })
}

fn allow_publishing(manifest: &Path) -> Result<(), Error> {
    let at = |source| Error::File { path: manifest.to_owned(), source };
    let text = fs::read_to_string(manifest).map_err(at)?;
    // Without the line a person has allowed it in the repository.
    fs::write(manifest, text.replacen("\npublish = false\n", "\npublish = true\n", 1)).map_err(at)
}

/// Python is there, tar may not be.
fn unpack(archive: &Path, into: &Path) -> Result<(), Error> {
    let line = "python3 -W ignore -m tarfile -e";
    Program::new(line, Path::new(".")).arg(archive).arg(into).stdout().map(drop)
}

/// The faults of a package that was unpacked into `folder`.
fn faults_of(package: &str, folder: &Path, root: &Path) -> Result<Vec<String>, Error> {
    let mut faults = Vec::new();
    let assets = ASSETS.iter().find(|(name, _)| *name == package).map_or(&[][..], |(_, files)| files);
    let mut missing: Vec<&str> = [FILES, LICENCES, assets].concat();
    for file in files_below(folder)? {
        let name = file.strip_prefix(folder).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        if FOLDERS.iter().any(|(of, folder)| *of == package && name.starts_with(folder)) {
            continue;
        }
        if let Some(place) = missing.iter().position(|m| *m == name) {
            missing.swap_remove(place);
        } else if !is_source(&name) {
            faults.push(format!("{package} packs {name}, which does not belong in a package"));
        }
    }
    missing.sort_unstable();
    faults.extend(missing.iter().map(|name| format!("{package} packs no {name}")));

    let read = |path: PathBuf| fs::read(path).unwrap_or_default();
    for name in LICENCES.iter().filter(|name| !missing.contains(name)) {
        if read(folder.join(name)) != read(root.join(name)) {
            faults.push(format!("{package} packs another {name} than the repository has"));
        }
    }
    let manifest = String::from_utf8_lossy(&read(folder.join("Cargo.toml"))).into_owned();
    for field in FIELDS.iter().filter(|field| !manifest.lines().any(|l| l.starts_with(&format!("{field} = ")))) {
        faults.push(format!("the manifest of {package} has no {field}"));
    }
    Ok(faults)
}

fn is_source(name: &str) -> bool {
    name == "build.rs" || name.starts_with("src/") && name.ends_with(".rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package without faults, unpacked, and the top of its repository.
    fn package(name: &str) -> (tempfile::TempDir, PathBuf, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let (folder, root) = (place.path().join("package"), place.path().join("root"));
        let manifest: String = FIELDS.iter().map(|field| format!("{field} = \"\"\n")).collect();
        let assets = ASSETS.iter().find(|(n, _)| *n == name).map_or(&[][..], |(_, files)| files);
        for file in [FILES, LICENCES, assets, &["src/lib.rs"]].concat() {
            write(&folder.join(file), if file == "Cargo.toml" { &manifest } else { file });
        }
        for file in LICENCES {
            write(&root.join(file), file);
        }
        (place, folder, root)
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn full_packages_pass() {
        for name in ["inkstone", "inkstone-tensor"] {
            let (_place, folder, root) = package(name);
            write(&folder.join("build.rs"), "");
            assert_eq!(faults_of(name, &folder, &root).unwrap(), [""; 0]);
        }
    }

    #[test]
    fn the_story_model_belongs_in_one_package_and_the_draft_model_in_none() {
        let (_place, folder, root) = package("inkstone");
        write(&folder.join("assets/story-draft-q8_0.gguf"), "");
        let draft = "packs assets/story-draft-q8_0.gguf, which does not belong in a package";
        assert_eq!(faults_of("inkstone", &folder, &root).unwrap(), [format!("inkstone {draft}")]);
        let faults = faults_of("inkstone-tensor", &folder, &root).unwrap();
        assert_eq!(faults.len(), 3, "{faults:?}");
    }

    #[test]
    fn each_fault_is_named() {
        let (_place, folder, root) = package("inkstone-text");
        fs::remove_file(folder.join("README.md")).unwrap();
        fs::remove_file(folder.join("LICENSE-MIT")).unwrap();
        write(&folder.join("LICENSE-APACHE"), "../../LICENSE-APACHE");
        write(&folder.join("tests/oracle.rs"), "");
        write(&folder.join("Cargo.toml"), &FIELDS[1..].join(" = 1\n"));
        let faults = faults_of("inkstone-text", &folder, &root).unwrap();
        let expected = [
            "inkstone-text packs tests/oracle.rs, which does not belong in a package",
            "inkstone-text packs no LICENSE-MIT",
            "inkstone-text packs no README.md",
            "inkstone-text packs another LICENSE-APACHE than the repository has",
            "the manifest of inkstone-text has no description",
            "the manifest of inkstone-text has no categories",
        ];
        assert_eq!(faults, expected);
    }
}
