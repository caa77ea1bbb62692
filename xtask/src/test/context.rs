use std::ffi::OsString;
use std::path::PathBuf;

use super::outcome::{Outcome, Verdict};
use crate::command::Program;
use crate::error::Error;
use crate::workspace::Workspace;

/// The context that all stages share: the workspace, the folder of logs, and the environment of programs.
pub struct Context {
    pub workspace: Workspace,
    full: bool,
    logs: PathBuf,
    /// The search path, with the tools that `--setup` installed in front.
    path: OsString,
}

impl Context {
    pub fn new(workspace: Workspace, full: bool) -> Result<Self, Error> {
        let logs = workspace.target().join("xtask");
        std::fs::create_dir_all(&logs).map_err(|source| Error::File { path: logs.clone(), source })?;
        let mut path = workspace.target().join("tools/bin").into_os_string();
        if let Some(rest) = std::env::var_os("PATH") {
            path.push(if cfg!(windows) { ";" } else { ":" });
            path.push(rest);
        }
        Ok(Self { workspace, full, logs, path })
    }

    /// The folder in which `--setup` installs tools: in the target folder, so that the tools of the user are not
    /// changed.
    pub fn tools(&self) -> PathBuf {
        self.workspace.target().join("tools")
    }

    /// Whether the long versions of the tests are asked for.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// A program that runs at the top of the workspace.
    pub fn program(&self, line: &str) -> Program {
        let program = Program::new(line, self.workspace.root()).env("PATH", &self.path);
        if self.full { program.env("INKSTONE_FULL", "1") } else { program }
    }

    /// `cargo LINE` for one package.
    pub fn cargo(&self, line: &str, package: &str) -> Program {
        self.program(&format!("cargo {line} --package")).arg(package)
    }

    /// Runs programs one after the other up to the first that fails, and reads the tests that they report. Each
    /// program's output stays in a file under `xtask` in the target folder, named after `label`.
    pub fn programs(&self, label: &str, programs: impl IntoIterator<Item = Program>) -> Result<Outcome, Error> {
        let mut outcome = Outcome::passed();
        for (i, program) in programs.into_iter().enumerate() {
            let log = self.logs.join(format!("{}-{i}.log", label.replace([' ', '/'], "-")));
            let name = program.name().to_owned();
            let output = program.run(&log)?;
            outcome.read(&output.text);
            if !output.success {
                let why = format!("{}\n{name} ended with {}; its log: {}", output.text, output.status, log.display());
                outcome.verdict = Verdict::Failed(why);
                break;
            }
        }
        Ok(outcome)
    }
}
