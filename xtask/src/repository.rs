//! Checks the content of the repository: the files that git tracks, as they are in the working folder.

use std::path::Path;

use crate::command::Program;
use crate::error::Error;

const MIB: u64 = 1 << 20;
const LARGEST_FILE: u64 = 8 * MIB;
const LARGEST_TREE: u64 = 60 * MIB;

/// The folders of binary files, with the largest total size of each in bytes.
const BINARIES: &[(&str, u64)] =
    &[("crates/inkstone/assets/", 9 * MIB), ("tests/oracle/", 25 * MIB), ("fuzz/corpus/", MIB)];

/// Folders of one machine. In pieces, so that this file passes its own check.
const MACHINE_PATHS: &[&str] = &[
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("/fa", "rm/"),
    concat!("/tm", "p/"),
    concat!(".lib", "rary"),
];

/// Words in Rust sources that say that something is not done.
const LEFT_OPEN: &[&str] =
    &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("unimple", "mented!"), concat!("to", "do!")];

/// Checks the repository at `root`; every fault is reported.
pub fn check(root: &Path) -> Result<(), Error> {
    let listed = Program::new("git ls-files -z", root).stdout()?;
    let mut faults = Vec::new();
    let mut totals = vec![0; BINARIES.len()];
    let mut tree = 0;
    for name in listed.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        let name = String::from_utf8_lossy(name);
        // A file that is listed but removed has no content to check.
        let Ok(bytes) = std::fs::read(root.join(&*name)) else { continue };
        let size = bytes.len() as u64;
        tree += size;
        let place = BINARIES.iter().position(|(folder, _)| name.starts_with(folder));
        if let Some(place) = place {
            totals[place] += size;
        }
        faults.extend(faults_of_file(&name, &bytes, place.is_some()));
    }
    for ((folder, most), total) in BINARIES.iter().zip(totals).filter(|((_, most), total)| total > most) {
        faults.push(format!("{folder} holds {total} bytes, at most {most} are allowed"));
    }
    if tree > LARGEST_TREE {
        faults.push(format!("the tree holds {tree} bytes, at most {LARGEST_TREE} are allowed"));
    }
    let changed = Program::new("git diff --name-only", root).stdout()?;
    let changed = String::from_utf8_lossy(&changed).into_owned();
    if lockfile_alone(&changed.lines().collect::<Vec<_>>()) {
        faults.push("Cargo.lock was changed by cargo or by hand and no manifest with it: commit it".to_owned());
    }
    Error::from_faults(faults)
}

/// Whether Cargo.lock differs from the commit although the manifests do not. Cargo updates the file when it starts
/// xtask, so that this check, instead of `--locked`, detects a file that was outdated when it was committed.
fn lockfile_alone(changed: &[&str]) -> bool {
    changed.contains(&"Cargo.lock") && !changed.iter().any(|name| name.ends_with("Cargo.toml"))
}

fn faults_of_file(name: &str, bytes: &[u8], may_be_binary: bool) -> Vec<String> {
    let mut faults = Vec::new();
    if bytes.len() as u64 > LARGEST_FILE {
        faults.push(format!("{name} has {} bytes, at most {LARGEST_FILE} are allowed", bytes.len()));
    }
    let Some(text) = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0')) else {
        if !may_be_binary {
            let folders: Vec<&str> = BINARIES.iter().map(|(folder, _)| *folder).collect();
            faults.push(format!("{name} is not text; binary files belong in {}", folders.join(", ")));
        }
        return faults;
    };
    for (number, line) in (1..).zip(text.lines()) {
        if MACHINE_PATHS.iter().any(|path| line.contains(path)) {
            faults.push(format!("{name}:{number}: a path of one machine: {}", line.trim()));
        }
        if name.ends_with(".rs") && LEFT_OPEN.iter().any(|word| line.contains(word)) {
            faults.push(format!("{name}:{number}: left open: {}", line.trim()));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_faults_passes() {
        assert_eq!(
            faults_of_file("src/lib.rs", b"//! A crate. See ../docs and https://docs.rs/half\n", false),
            [""; 0]
        );
    }

    #[test]
    fn binary_files_have_their_places() {
        assert_eq!(faults_of_file("tests/oracle/a.gguf", b"GGUF\0\xff", true), [""; 0]);
        assert_eq!(faults_of_file("src/a.gguf", b"GGUF\0", false).len(), 1);
        assert_eq!(faults_of_file("src/a.bin", b"\xff\xfe", false).len(), 1);
    }

    #[test]
    fn large_files_are_faults_everywhere() {
        let bytes = vec![b'a'; LARGEST_FILE as usize + 1];
        assert!(faults_of_file("tests/oracle/a.json", &bytes, true)[0].contains("at most 8388608"));
    }

    #[test]
    fn each_path_of_a_machine_and_each_open_word_is_named_with_its_line() {
        for path in MACHINE_PATHS {
            let faults = faults_of_file("README.md", format!("one\nsee {path}x\n").as_bytes(), false);
            assert_eq!(faults, [format!("README.md:2: a path of one machine: see {path}x")]);
        }
        for word in LEFT_OPEN {
            assert_eq!(faults_of_file("src/lib.rs", format!("// {word}: later").as_bytes(), false).len(), 1);
            assert_eq!(faults_of_file("docs/a.md", format!("{word}: later").as_bytes(), false).len(), 0);
        }
    }

    #[test]
    fn a_lockfile_that_is_too_old_is_told_from_one_in_work() {
        assert!(lockfile_alone(&["Cargo.lock", "src/lib.rs"]));
        assert!(!lockfile_alone(&["Cargo.lock", "crates/text/Cargo.toml"]));
        assert!(!lockfile_alone(&["src/lib.rs"]));
    }

    #[test]
    fn a_planted_file_is_found_in_a_repository() {
        let folder = tempfile::tempdir().unwrap();
        let git = |line: &str| Program::new(&format!("git {line}"), folder.path()).stdout().map(drop);
        if git("init --quiet").is_err() {
            println!("not present: git");
            return;
        }
        std::fs::write(folder.path().join("good.md"), "good").unwrap();
        git("add .").unwrap();
        check(folder.path()).unwrap();
        std::fs::write(folder.path().join("bad.bin"), b"\0").unwrap();
        check(folder.path()).unwrap();
        git("add .").unwrap();
        let error = check(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("bad.bin is not text"), "{error}");
    }
}
