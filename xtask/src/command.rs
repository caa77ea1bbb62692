//! Programs that xtask starts.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::Error;

/// A program with its arguments and environment; its output is kept, not shown.
#[derive(Debug)]
pub struct Program {
    name: String,
    command: Command,
}

/// The output of a program on both streams, in order, and its success.
#[derive(Debug)]
pub struct Output {
    pub success: bool,
    pub status: String,
    pub text: String,
}

impl Program {
    /// `line` is split at spaces; arguments that may hold one are added with [`Program::arg`].
    pub fn new(line: &str, folder: &Path) -> Self {
        let mut words = line.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(folder).stdin(Stdio::null());
        // Output is parsed and kept in files.
        command.env("CARGO_TERM_COLOR", "never");
        Self { name: line.to_owned(), command }
    }

    /// The program in a file, whose path may hold spaces.
    pub fn at(path: &Path, folder: &Path) -> Self {
        let mut program = Self::new("", folder);
        program.name = path.display().to_string();
        program.command = Command::new(path);
        program.command.current_dir(folder).stdin(Stdio::null());
        program
    }

    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.name.push(' ');
        self.name.push_str(&argument.as_ref().to_string_lossy());
        self.command.arg(argument);
        self
    }

    pub fn args(self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    pub fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// The line as a person would type it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs to the end with both streams in `log`, which is made anew.
    pub fn run(mut self, log: &Path) -> Result<Output, Error> {
        let at = |source| Error::File { path: log.to_owned(), source };
        let file = File::create(log).map_err(at)?;
        let status = self
            .command
            .stdout(file.try_clone().map_err(at)?)
            .stderr(file)
            .status()
            .map_err(|source| Error::Start { program: self.name.clone(), source })?;
        let text = String::from_utf8_lossy(&std::fs::read(log).map_err(at)?).into_owned();
        Ok(Output { success: status.success(), status: status.to_string(), text })
    }

    /// Runs to the end and returns standard output; another end than 0 is an error with standard error.
    pub fn stdout(mut self) -> Result<Vec<u8>, Error> {
        let output = self.command.output().map_err(|source| Error::Start { program: self.name.clone(), source })?;
        if !output.status.success() {
            return Err(Error::Failed {
                program: self.name,
                status: output.status.to_string(),
                output: String::from_utf8_lossy(&output.stderr).into_owned(),
            });
        }
        Ok(output.stdout)
    }
}
