//! The stages, in the order in which they run: quick stages that often fail come first.

use super::context::Context;
use super::outcome::{Outcome, Verdict};
use super::tools::{
    CARGO_DENY, CARGO_FUZZ, CLIPPY, CXX, GIT, NEXTEST, PYTHON, REAL, RUSTFMT, Tool, VULKAN, is_present,
};
use super::{devices, package, pages, readme};
use crate::error::Error;
use crate::files::files_below;
use crate::workspace::Package;
use crate::{layers, prose, repository};

pub struct Stage {
    pub name: &'static str,
    pub what: &'static str,
    pub needs: &'static [&'static Tool],
    /// A stage runs once per case, and each case has its own line.
    pub cases: fn(&Context) -> Result<Vec<String>, Error>,
    pub run: fn(&Context, &str) -> Result<Outcome, Error>,
}

pub static STAGES: &[Stage] = &[
    Stage {
        name: "fmt",
        what: "the sources are formatted",
        needs: &[&RUSTFMT],
        cases: once,
        run: |c, _| {
            // The fuzz targets and the peers are workspaces of their own.
            let peers = ["candle", "templates"].map(|peer| format!("bench/peers/{peer}/Cargo.toml"));
            let manifests = ["Cargo.toml", "fuzz/Cargo.toml"].map(str::to_owned).into_iter().chain(peers);
            let manifests = manifests.filter(|m| c.workspace.root().join(m).exists());
            let check =
                |manifest| c.program(&format!("cargo fmt --all --check --manifest-path {manifest} -- --color never"));
            c.programs("fmt", manifests.map(check))
        },
    },
    Stage {
        name: "layers",
        what: "no crate uses one of a layer above it",
        needs: &[],
        cases: once,
        run: |c, _| layers::check(&c.workspace).map(|()| Outcome::passed()),
    },
    Stage {
        name: "repository",
        what: "sizes and kinds of files, no path of a machine, nothing left open, Cargo.lock up to date",
        needs: &[&GIT],
        cases: once,
        run: |c, _| repository::check(c.workspace.root()).map(|()| Outcome::passed()),
    },
    Stage {
        name: "prose",
        what: "documents, comments and messages in plain English: constructions of a table at most once per 1,000 words",
        needs: &[],
        cases: once,
        run: |c, _| {
            let notes = prose::check(&c.workspace)?;
            Ok(Outcome { notes, ..Outcome::passed() })
        },
    },
    Stage {
        name: "story-model",
        what: "the scripts make the corpus that the shipped models learned from",
        needs: &[&PYTHON],
        cases: once,
        run: |c, _| c.programs("story-model", [c.program("python3 -B tools/story-model/check.py")]),
    },
    Stage {
        name: "licences",
        what: "dependencies: licences, sources, bans (deny.toml)",
        needs: &[&CARGO_DENY],
        cases: once,
        run: |c, _| c.programs("licences", [c.program("cargo deny check bans licenses sources")]),
    },
    Stage {
        name: "advisories",
        what: "dependencies: known faults, where the list of them can be fetched",
        needs: &[&CARGO_DENY],
        cases: once,
        run: |c, _| c.programs("advisories", [c.program("cargo deny check advisories")]).map(unless_unfetched),
    },
    Stage {
        name: "clippy",
        what: "clippy without warnings, all targets",
        needs: &[&CLIPPY],
        cases: once,
        run: |c, _| c.programs("clippy", [c.program("cargo clippy --workspace --all-targets -- --deny warnings")]),
    },
    Stage {
        name: "alone",
        what: "each crate by itself, with no features and with all, without warnings",
        needs: &[&CLIPPY],
        cases: packages,
        run: |c, package| {
            let lines = ["--no-default-features", "--all-targets --all-features"];
            let check = |line| c.cargo(&format!("clippy {line}"), package).args(["--", "--deny", "warnings"]);
            c.programs(&format!("alone {package}"), lines.map(check))
        },
    },
    Stage {
        name: "portable",
        what: "the fall-backs for platforms without calls of their own compile",
        needs: &[&CLIPPY],
        cases: once_if_portable,
        run: |c, _| {
            // With clippy, which sets the cfg only for crates of the workspace: RUSTFLAGS would compile all dependencies again.
            let check = c.program("cargo clippy").args(of_packages(portable(c)?));
            c.programs("portable", [check.args(["--", "--cfg", "inkstone_portable", "--deny", "warnings"])])
        },
    },
    Stage {
        name: "test",
        what: "the tests of each crate, with all features: unit, oracle, conformance, command line",
        needs: &[&REAL],
        cases: packages,
        run: |c, package| {
            // The workspace is built as a whole. Otherwise the features of dependencies would differ between packages, and each
            // package would build most of the others again. Stage `alone` checks that each crate builds by itself.
            // Tests that pass print the names of missing golden data, so their output is also read.
            let program = if is_present(c, &NEXTEST) {
                let line = "nextest run --workspace --all-features --no-fail-fast --no-tests pass --status-level skip --success-output immediate --failure-output final";
                c.program(&format!("cargo {line}")).arg("--filterset").arg(format!("package(={package})"))
            } else {
                c.cargo("test --all-features --no-fail-fast --all-targets", package).args(["--", "--show-output"])
            };
            c.programs(&format!("test {package}"), [program])
        },
    },
    Stage {
        name: "no-eval",
        what: "the CPU engine agrees with golden data where definitions panic: it computes without them",
        needs: &[&REAL],
        cases: once,
        run: |c, _| {
            // The same command line as in stage `test`, so that nothing is built again.
            let line = "cargo test --workspace --all-features --test golden -- cpu:: --show-output";
            c.programs("no-eval", [c.program(line).env("INKSTONE_NO_EVAL", "1")])
        },
    },
    Stage {
        name: "wgpu",
        what: "the engine for GPUs on drivers that compute on the CPU, with vectors of 128, 256 and 512 bits",
        needs: &[&VULKAN],
        cases: devices::cases,
        run: devices::run,
    },
    Stage {
        name: "doctest",
        what: "the examples in the documentation",
        needs: &[],
        cases: once,
        run: |c, _| c.programs("doctest", [c.program("cargo test --workspace --all-features --doc --no-fail-fast")]),
    },
    Stage {
        name: "docs",
        what: "the documentation without warnings",
        needs: &[],
        cases: once,
        run: |c, _| {
            // Programs first: the library `inkstone` and the program of this name write to the same page.
            let kinds = ["--bins", "--lib"];
            let doc =
                |kind| c.program(&format!("cargo doc --workspace --no-deps {kind}")).env("RUSTDOCFLAGS", "-Dwarnings");
            c.programs("docs", kinds.map(doc))
        },
    },
    Stage {
        name: "readme",
        what: "the first command of README.md writes a story",
        needs: &[],
        cases: once,
        run: readme::check,
    },
    Stage {
        name: "pages",
        what: "links of all pages; Rust blocks and shell blocks of README.md and docs",
        needs: &[&GIT],
        cases: pages::cases,
        run: pages::check,
    },
    Stage {
        name: "package",
        what: "the packages for crates.io: their files and sizes; --full compiles them, and builds the program from two folders",
        needs: &[&GIT, &PYTHON],
        cases: once,
        run: package::check,
    },
    Stage {
        name: "address",
        what: "libraries with unsafe code under AddressSanitizer",
        needs: &[],
        cases: once,
        run: |c, _| {
            let triple = "x86_64-unknown-linux-gnu";
            // In one command, so that common dependencies are built once.
            let packages = of_packages(libraries_with_unsafe(c)?);
            let test = c
                .program(&format!("cargo test --lib --tests --no-fail-fast --target {triple}"))
                .args(packages)
                .arg("--target-dir")
                .arg(c.workspace.target().join("address"))
                // The sanitizer's runtime comes with the toolchain; only the flag is not stable.
                .env("RUSTC_BOOTSTRAP", "1")
                // Checks of large functions, as most kernels are, are calls: in place they take longer to compile than to run.
                .env("RUSTFLAGS", "-Zsanitizer=address -Cllvm-args=-asan-instrumentation-with-call-threshold=100")
                // A refused allocation is an error value, also here. The search for leaks needs the rights of a debugger, and is
                // not the purpose of this stage.
                .env("ASAN_OPTIONS", "allocator_may_return_null=1:detect_leaks=0");
            if cfg!(all(target_arch = "x86_64", target_os = "linux")) {
                c.programs("address", [test])
            } else {
                Ok(Outcome::skipped(format!("only on {triple}")))
            }
        },
    },
    Stage {
        name: "fuzz",
        what: "each fuzz target: its corpus, then ten seconds",
        needs: &[&CARGO_FUZZ, &CXX],
        cases: fuzz_targets,
        run: |c, target| {
            // The fuzzer writes new inputs into the first folder, and only reads the corpus of the repository.
            let found = c.workspace.target().join("fuzz-found").join(target);
            std::fs::create_dir_all(&found).map_err(|source| Error::File { path: found.clone(), source })?;
            // The sanitizer has a stage of its own; without it twice as many inputs are tried.
            let mut fuzz =
                c.program("cargo fuzz run --sanitizer none").arg(target).arg(&found).env("RUSTC_BOOTSTRAP", "1");
            let corpus = c.workspace.root().join("fuzz/corpus").join(target);
            if corpus.is_dir() {
                fuzz = fuzz.arg(corpus);
            }
            c.programs(&format!("fuzz {target}"), [fuzz.arg("--").args(FUZZ_LIMITS)])
        },
    },
];

/// Of libFuzzer: seconds, the bytes of an input, and the MiB that one allocation may have for it.
const FUZZ_LIMITS: [&str; 3] = ["-max_total_time=10", "-max_len=65536", "-malloc_limit_mb=64"];

fn once(_: &Context) -> Result<Vec<String>, Error> {
    Ok(vec![String::new()])
}

fn packages(context: &Context) -> Result<Vec<String>, Error> {
    Ok(context.workspace.packages().iter().map(|p| p.name.clone()).collect())
}

/// Arguments that name packages.
fn of_packages(names: Vec<String>) -> impl Iterator<Item = String> {
    names.into_iter().flat_map(|name| ["--package".to_owned(), name])
}

fn fuzz_targets(context: &Context) -> Result<Vec<String>, Error> {
    let folder = context.workspace.root().join("fuzz/fuzz_targets");
    let mut names: Vec<String> = files_below(&folder)?
        .iter()
        .filter_map(|file| file.file_stem().map(|stem| stem.to_string_lossy().into_owned()))
        .collect();
    names.sort_unstable();
    Ok(names)
}

/// Without a source that has the cfg the stage would check nothing, so it has no case then.
fn once_if_portable(context: &Context) -> Result<Vec<String>, Error> {
    if portable(context)?.is_empty() { Ok(Vec::new()) } else { once(context) }
}

/// Packages with fall-backs.
fn portable(context: &Context) -> Result<Vec<String>, Error> {
    packages_with(context, |p| p.name != env!("CARGO_PKG_NAME"), |text| text.contains("inkstone_portable"))
}

/// Found by their sources, so that no crate with unsafe code is forgotten. Programs are left out: their tests start processes
/// under a limit of address space, of which the sanitizer needs far more.
fn libraries_with_unsafe(context: &Context) -> Result<Vec<String>, Error> {
    packages_with(context, Package::has_library, allows_unsafe)
}

/// Packages of this kind with a source of which that holds.
fn packages_with(
    context: &Context,
    is_kind: impl Fn(&Package) -> bool,
    holds: impl Fn(&str) -> bool,
) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for package in context.workspace.packages().iter().filter(|p| is_kind(p)) {
        if any_source(package, &holds)? {
            names.push(package.name.clone());
        }
    }
    Ok(names)
}

fn any_source(package: &Package, holds: impl Fn(&str) -> bool) -> Result<bool, Error> {
    let sources = files_below(&package.folder().join("src"))?;
    Ok(sources.iter().any(|file| std::fs::read_to_string(file).is_ok_and(|text| holds(&text))))
}

fn allows_unsafe(source: &str) -> bool {
    source.lines().any(|line| line.trim_start().starts_with('#') && line.contains("allow(unsafe_code"))
}

/// Advisories that can't be fetched are named in the summary; advisories that apply are a failure.
fn unless_unfetched(mut outcome: Outcome) -> Outcome {
    if let Verdict::Failed(why) = &outcome.verdict
        && why.contains("failed to fetch advisory database")
    {
        outcome.verdict = Verdict::Passed;
        outcome.notes.push("advisories could not be fetched".to_owned());
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_words() {
        for (i, stage) in STAGES.iter().enumerate() {
            assert!(STAGES[..i].iter().all(|s| s.name != stage.name), "{}", stage.name);
            assert!(!stage.name.contains(' ') && !stage.name.starts_with('-'), "{}", stage.name);
        }
    }

    #[test]
    fn advisories_that_apply_fail_and_unfetched_ones_are_noted() {
        let unfetched =
            unless_unfetched(Outcome::failed("[ERROR] failed to fetch advisory database https://...".into()));
        assert_eq!(unfetched.verdict, Verdict::Passed);
        assert_eq!(unfetched.notes, ["advisories could not be fetched"]);
        let applies = unless_unfetched(Outcome::failed("error[vulnerability]: ...\nadvisories FAILED".into()));
        assert_eq!(applies.verdict.word(), "FAIL");
    }

    #[test]
    fn unsafe_code_is_found_by_the_attribute_that_allows_it() {
        assert!(allows_unsafe("//! Calls.\n#![allow(unsafe_code)]\n"));
        assert!(allows_unsafe("    #[allow(unsafe_code, reason = \"...\")]\n"));
        assert!(!allows_unsafe("// #![allow(unsafe_code)] would be needed\n"));
    }
}
