//! `cargo xtask release`: the program, built for other machines. No path of the builder is in it, so checkouts in different
//! folders give equal bytes. Cargo's `trim-paths` would do the same, and is not stable.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::command::Program;
use crate::error::Error;
use crate::tree;
use crate::workspace::Workspace;

/// Programs that print the SHA-256 of a file as the first word; which of them is there depends on the platform.
const SUMS: &[&str] = &["sha256sum", "shasum -a 256"];

/// Bytes before and after a path that are shown with it.
const SHOWN: usize = 80;

pub fn run(arguments: &[String]) -> Result<ExitCode, Error> {
    if let Some(argument) = arguments.first() {
        return Err(Error::Usage { message: format!("release takes no arguments; {argument} is one") });
    }
    let workspace = Workspace::load()?;
    let program = program(workspace.root(), &workspace.target().join("dist"))?;
    let size = read(&program)?.len();
    println!("{}\n{size} bytes\nSHA-256 {}", program.display(), sha256(&program)?);
    Ok(ExitCode::SUCCESS)
}

/// Builds the tree at `root` from two folders, the names of which differ in length, and compares the programs. They stay in `place`.
pub fn compare_two_folders(root: &Path, place: &Path) -> Result<(), Error> {
    let mut programs = Vec::new();
    for name in ["one", "the-other"] {
        let copy = place.join(name);
        tree::copy(root, &copy)?;
        let built = program(&copy, &copy.join("target"))?;
        let kept = place.join(format!("inkstone-{name}{}", std::env::consts::EXE_SUFFIX));
        fs::rename(&built, &kept).map_err(|source| Error::File { path: kept.clone(), source })?;
        // A build takes a gigabyte.
        fs::remove_dir_all(&copy).map_err(|source| Error::File { path: copy, source })?;
        programs.push(kept);
    }
    let [one, other] = [read(&programs[0])?, read(&programs[1])?];
    let differs = one.iter().zip(&other).position(|(a, b)| a != b);
    Error::from_faults(match (one == other, differs) {
        (true, _) => Vec::new(),
        (false, Some(at)) => {
            vec![format!("{} and {} differ at byte {at}", programs[0].display(), programs[1].display())]
        }
        (false, None) => vec![format!(
            "{} has {} bytes, {} has {}",
            programs[0].display(),
            one.len(),
            programs[1].display(),
            other.len()
        )],
    })
}

/// Builds the program of the workspace at `root` with all products in `target`, and gives it if no path of the builder is in it.
fn program(root: &Path, target: &Path) -> Result<PathBuf, Error> {
    let name = format!("release/inkstone{}", std::env::consts::EXE_SUFFIX);
    let program = build(root, target, "--package inkstone-cli", &[&name])?.remove(0);
    Error::from_faults(leaks(&read(&program)?, &builder_paths(root, target)?))?;
    Ok(program)
}

/// Builds what `packages` names with all products in `target`, and gives the programs with these names.
pub fn build(root: &Path, target: &Path, packages: &str, names: &[&str]) -> Result<Vec<PathBuf>, Error> {
    fs::create_dir_all(target).map_err(|source| Error::File { path: target.to_owned(), source })?;
    let paths = builder_paths(root, target)?;
    let flags: Vec<String> = paths.iter().map(|p| format!("--remap-path-prefix={}={}", p.prefix, p.shown_as)).collect();
    let cargo = Program::new(&format!("cargo build --release --locked {packages} --target-dir"), root)
        .arg(target)
        // In place of all other flags of the environment and of configuration files; spaces in paths are kept.
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    let (name, log) = (cargo.name().to_owned(), target.join("build.log"));
    eprintln!("{name}: the output is in {}", log.display());
    let output = cargo.run(&log)?;
    if !output.success {
        return Err(Error::Failed { program: name, status: output.status, output: output.text });
    }
    Ok(names.iter().map(|name| target.join(name)).collect())
}

/// A folder of the machine that builds, and its name in messages of the program.
#[derive(Debug, PartialEq)]
struct BuilderPath {
    prefix: String,
    shown_as: String,
}

/// From the general to the special, because rustc takes the last that matches.
fn builder_paths(root: &Path, target: &Path) -> Result<Vec<BuilderPath>, Error> {
    let rustc = |line: &str| {
        let text = Program::new(&format!("rustc {line}"), root).stdout()?;
        Ok::<_, Error>(String::from_utf8_lossy(&text).trim().to_owned())
    };
    let sysroot = PathBuf::from(rustc("--print sysroot")?);
    let version = rustc("--version --verbose")?;
    let commit = version.lines().find_map(|line| line.strip_prefix("commit-hash: ")).unwrap_or("unknown");
    let home = std::env::home_dir();
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(home.as_ref()?.join(".cargo")));
    let folders = [
        (home, "home"),
        (cargo, "cargo"),
        (Some(sysroot.clone()), "rust"),
        // Sources of the standard library, where they are installed; elsewhere its paths begin with the new prefix anyway.
        (Some(sysroot.join("lib/rustlib/src/rust")), &format!("/rustc/{commit}")),
        (Some(root.to_owned()), "."),
        (Some(target.to_owned()), "target"),
    ];
    let mut paths = Vec::new();
    for (folder, shown_as) in folders {
        let Some(folder) = folder.filter(|f| f.is_absolute() && f.file_name().is_some()) else { continue };
        let mut forms = vec![folder.clone()];
        forms.extend(folder.canonicalize());
        forms.dedup();
        let path = |form: PathBuf| BuilderPath { prefix: form.display().to_string(), shown_as: shown_as.to_owned() };
        paths.extend(forms.into_iter().map(path));
    }
    Ok(paths)
}

/// The builder's paths in a program, each once, with the text around the first place.
fn leaks(program: &[u8], paths: &[BuilderPath]) -> Vec<String> {
    let mut faults = Vec::new();
    for BuilderPath { prefix, .. } in paths {
        let place = program
            .windows(prefix.len() + 1)
            .position(|w| w.starts_with(prefix.as_bytes()) && matches!(w.last(), Some(b'/' | b'\\')));
        if let Some(at) = place {
            let around = &program[at.saturating_sub(SHOWN)..program.len().min(at + prefix.len() + SHOWN)];
            faults.push(format!("the program holds the path {prefix}: {}", around.escape_ascii()));
        }
    }
    faults
}

fn sha256(path: &Path) -> Result<String, Error> {
    for line in SUMS {
        if let Ok(text) = Program::new(line, Path::new(".")).arg(path).stdout()
            && let Some(sum) = String::from_utf8_lossy(&text).split_whitespace().next()
        {
            return Ok(sum.to_owned());
        }
    }
    Err(Error::Faults(vec![format!("no program computes SHA-256: {} were tried", SUMS.join(", "))]))
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|source| Error::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(prefix: &str) -> BuilderPath {
        BuilderPath { prefix: prefix.to_owned(), shown_as: "x".to_owned() }
    }

    #[test]
    fn a_planted_path_is_found_with_the_text_around_it() {
        let paths = [path("/builds/inkstone"), path("/builds/cargo")];
        let program = b"\x7fELF\0./crates/cli/src/main.rs\0/builds/cargo/registry/src/clap/lib.rs\0";
        let faults = leaks(program, &paths);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].starts_with("the program holds the path /builds/cargo: "), "{faults:?}");
        assert!(faults[0].contains("/builds/cargo/registry/src/clap/lib.rs"), "{faults:?}");
    }

    #[test]
    fn names_that_only_begin_alike_are_no_paths_of_the_builder() {
        assert_eq!(leaks(b"/builds/inkstone-old/a /builds/inkstone", &[path("/builds/inkstone")]), [""; 0]);
        assert_eq!(leaks(b"", &[path("/builds")]), [""; 0]);
    }

    #[test]
    fn all_folders_of_the_builder_are_replaced_the_special_ones_last() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let paths = builder_paths(&root, &root.join("target")).unwrap();
        let names: Vec<&str> = paths.iter().map(|p| p.shown_as.as_str()).collect();
        let place = |name| names.iter().position(|n| *n == name).unwrap_or_else(|| panic!("{name}: {names:?}"));
        assert!(place("cargo") < place(".") && place("rust") < place("."), "{names:?}");
        assert_eq!(names[names.len() - 1], "target");
        assert!(names.iter().any(|name| name.starts_with("/rustc/")), "{names:?}");
    }
}
