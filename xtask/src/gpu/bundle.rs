//! The folder that is copied to the machine with the card.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bench::stamp;
use crate::command::Program;
use crate::error::Error;
use crate::files::files_below;
use crate::workspace::Workspace;
use crate::{release, vulkan};

/// The programs.
pub const CARD: &str = "card";
pub const XTASK: &str = "xtask";

/// The file with the commit of the programs.
pub const COMMIT: &str = "commit";

/// The script that runs all sections.
pub const SCRIPT: &str = "run.sh";
const SCRIPT_TEXT: &str = include_str!("run.sh");

/// The most bytes of the folder.
const LARGEST: u64 = 60_000_000;

/// Where cargo leaves the programs below the folder of a profile.
const PLACES: [&str; 2] = ["examples/card", XTASK];

/// Builds the programs for other machines and puts them into a folder.
pub fn make(workspace: &Workspace, folder: &Path) -> Result<(), Error> {
    let packages = "--package xtask --package inkstone-tests --bin xtask --example card";
    let names = PLACES.map(|place| format!("release/{place}"));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let programs = release::build(workspace.root(), &workspace.target().join("dist"), packages, &names)?;
    fill(workspace, folder, &programs, true)?;
    let sizes = files_below(folder)?.iter().map(|path| size(path)).collect::<Result<Vec<u64>, _>>()?;
    let all: u64 = sizes.iter().sum();
    if all > LARGEST {
        return Err(Error::Faults(vec![format!(
            "{} has {all} bytes, at most {LARGEST} are allowed",
            folder.display()
        )]));
    }
    println!(
        "{}: {:.1} MB\nCopy it to a Linux machine with a GPU, and run {SCRIPT} there: it takes 9 minutes, and 9 GB of disk.\n\
         Bring results.jsonl back: cargo xtask gpu --report results.jsonl",
        folder.display(),
        all as f64 / 1e6
    );
    Ok(())
}

/// The same folder with the programs that the tests have built. Gives its absolute path.
pub fn of_tests(workspace: &Workspace, folder: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(folder).map_err(|source| Error::File { path: folder.to_owned(), source })?;
    let folder = folder.canonicalize().map_err(|source| Error::File { path: folder.to_owned(), source })?;
    // The same features as in stage `test`, so that nothing is built again.
    let line = "cargo build --workspace --all-features --bin xtask --example card";
    let log = folder.join("build.log");
    let output = Program::new(line, workspace.root()).run(&log)?;
    if !output.success {
        return Err(Error::Failed { program: line.to_owned(), status: output.status, output: output.text });
    }
    let programs = PLACES.map(|place| workspace.target().join("debug").join(place));
    fill(workspace, &folder, &programs, false)?;
    Ok(folder)
}

/// Puts programs, loader and script into a folder, in place of older ones.
fn fill(workspace: &Workspace, folder: &Path, programs: &[PathBuf], copies: bool) -> Result<(), Error> {
    let libraries = folder.join("lib");
    fs::create_dir_all(&libraries).map_err(|source| Error::File { path: libraries.clone(), source })?;
    for program in programs {
        let into = folder.join(program.file_name().unwrap_or_default());
        // A program that is still open can be removed, and can't be written.
        let _ = fs::remove_file(&into);
        let linked = !copies && fs::hard_link(program, &into).is_ok();
        if !linked {
            copy(program, &into)?;
        }
    }
    copy(&vulkan::loader(workspace)?, &libraries.join("libvulkan.so.1"))?;
    let script = folder.join(SCRIPT);
    let commit = stamp::commit(workspace.root()).unwrap_or_else(|_| "unknown".to_owned());
    for (path, text) in [(&script, SCRIPT_TEXT), (&folder.join(COMMIT), &commit)] {
        fs::write(path, text).map_err(|source| Error::File { path: path.clone(), source })?;
    }
    executable(&script)
}

fn copy(from: &Path, into: &Path) -> Result<(), Error> {
    fs::copy(from, into).map(drop).map_err(|source| Error::File { path: from.to_owned(), source })
}

fn size(path: &Path) -> Result<u64, Error> {
    Ok(fs::metadata(path).map_err(|source| Error::File { path: path.to_owned(), source })?.len())
}

#[cfg(unix)]
fn executable(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;
    let all = fs::Permissions::from_mode(0o755);
    fs::set_permissions(path, all).map_err(|source| Error::File { path: path.to_owned(), source })
}

#[cfg(not(unix))]
fn executable(_: &Path) -> Result<(), Error> {
    Ok(())
}
