//! `cargo xtask gpu`: measures the engine for GPUs on the cards of other machines, which may have no toolchain and no network. A
//! folder of programs and a script is copied there, and a file of results comes back.

mod bundle;
mod report;
mod results;
mod sections;
mod session;

use std::path::Path;
use std::process::ExitCode;

use crate::error::Error;
use crate::vulkan;
use crate::workspace::Workspace;

/// The option with which the script of a bundle calls this program.
const RUN: &str = "--run";
/// Small shapes and short times.
const TINY: &str = "--tiny";

pub fn run(arguments: &[String]) -> Result<ExitCode, Error> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["--bundle", folder] => bundle::make(&Workspace::load()?, Path::new(folder))?,
        ["--smoke", folder] => smoke(&Workspace::load()?, Path::new(folder))?,
        ["--report", ref files @ ..] if !files.is_empty() => report::write(Workspace::load()?.root(), files)?,
        [RUN, folder] => session::run(Path::new(folder), false)?,
        [RUN, folder, TINY] => session::run(Path::new(folder), true)?,
        _ => {
            let message = "gpu takes --bundle FOLDER, --smoke FOLDER or --report FILE...".to_owned();
            return Err(Error::Usage { message });
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a bundle of the programs of the tests here, with small shapes, on a driver that computes on the CPU.
fn smoke(workspace: &Workspace, folder: &Path) -> Result<(), Error> {
    let folder = bundle::of_tests(workspace, folder)?;
    let variables = vulkan::environment(workspace, "lavapipe", Some("256"))?;
    let mut script = std::process::Command::new("sh");
    script.arg(folder.join(bundle::SCRIPT)).arg(&folder).arg(TINY).envs(variables);
    let status = script.status().map_err(|source| Error::Start { program: "sh".to_owned(), source })?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Faults(vec![format!("the bundle in {} ended with {status}", folder.display())]))
}
