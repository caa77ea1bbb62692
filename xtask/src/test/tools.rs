//! The programs that stages need in addition to cargo: how to detect and install them.

use super::context::Context;
use super::stages::Stage;
use crate::command::Program;

#[derive(Debug, PartialEq, Eq)]
pub struct Tool {
    pub name: &'static str,
    /// Ends with 0 where the tool is there.
    probe: &'static str,
    /// The command that `--setup` runs. A tool without it must be installed by the user.
    pub install: Option<&'static str>,
    /// Whether it comes from servers that not every machine reaches: if it can't be installed, a note says which stage did not
    /// run.
    pub may_be_absent: bool,
    /// Whether its stages also run without it: tests that need it then pass, with a line.
    optional: bool,
}

/// The fields that most tools share.
const TOOL: Tool = Tool { name: "", probe: "", install: None, may_be_absent: false, optional: false };

pub static RUSTFMT: Tool =
    Tool { name: "rustfmt", probe: "cargo fmt --version", install: Some("rustup component add rustfmt"), ..TOOL };
pub static CLIPPY: Tool =
    Tool { name: "clippy", probe: "cargo clippy --version", install: Some("rustup component add clippy"), ..TOOL };
// Unoptimised and without debug information: built in under a minute, and quick enough for a graph of this size.
pub static CARGO_DENY: Tool = Tool {
    name: "cargo-deny",
    probe: "cargo deny --version",
    install: Some(
        "cargo install cargo-deny --version 0.20.2 --locked --no-default-features --debug --config profile.dev.debug=false",
    ),
    ..TOOL
};
pub static CARGO_FUZZ: Tool = Tool {
    name: "cargo-fuzz",
    probe: "cargo fuzz --version",
    install: Some("cargo install cargo-fuzz --version 0.13.2 --locked --debug --config profile.dev.debug=false"),
    ..TOOL
};
/// libFuzzer is C++.
pub static CXX: Tool = Tool { name: "a C++ compiler (c++)", probe: "c++ --version", install: None, ..TOOL };
pub static GIT: Tool = Tool { name: "git", probe: "git --version", install: None, ..TOOL };
pub static PYTHON: Tool = Tool { name: "python3", probe: "python3 --version", install: None, ..TOOL };
/// Two drivers that compute on the CPU. They are unpacked into the target folder; the system is not changed.
pub static VULKAN: Tool = Tool {
    name: "a Vulkan driver for tests",
    probe: "cargo xtask vulkan swiftshader --env",
    install: Some("cargo xtask vulkan --setup"),
    may_be_absent: true,
    ..TOOL
};
/// A file in the target folder, 240 MB. Its installer says if the registry can't be reached, and succeeds.
pub static REAL: Tool = Tool {
    name: "the real model",
    probe: "cargo xtask real --path",
    install: Some("cargo xtask real"),
    optional: true,
    ..TOOL
};
/// Not needed: cargo test does its work where it is absent.
pub static NEXTEST: Tool = Tool { name: "cargo-nextest", probe: "cargo nextest --version", install: None, ..TOOL };

pub fn is_present(context: &Context, tool: &Tool) -> bool {
    context.program(tool.probe).stdout().is_ok()
}

/// The tools that these stages use and that are not there, each once.
pub fn missing(context: &Context, stages: &[&Stage]) -> Vec<&'static Tool> {
    let mut missing: Vec<&Tool> = Vec::new();
    for &tool in stages.iter().flat_map(|stage| stage.needs) {
        if !missing.contains(&tool) && !is_present(context, tool) {
            missing.push(tool);
        }
    }
    missing
}

/// The first tool without which the stage does not run.
pub fn first_missing(context: &Context, stage: &Stage) -> Option<&'static Tool> {
    stage.needs.iter().copied().find(|tool| !tool.optional && !is_present(context, tool))
}

/// The program of an install line. Cargo installs tools in the target folder.
pub fn installer(context: &Context, line: &str) -> Program {
    let program = context.program(line);
    if line.starts_with("cargo install ") { program.arg("--root").arg(context.tools()) } else { program }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_versions_are_pinned() {
        for tool in [&CARGO_DENY, &CARGO_FUZZ] {
            let line = tool.install.unwrap();
            assert!(line.contains(" --version ") && line.contains(" --locked"), "{line}");
        }
    }
}
