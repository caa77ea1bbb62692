//! `cargo xtask faults ENGINE`: plants mistakes in the kernels and the host of an engine, and prints which check finds each.

use std::process::{Command, ExitCode};

use crate::error::Error;
use crate::vulkan;
use crate::workspace::Workspace;

/// The engines, and the test that plants the faults and prints `NAME: found by CASE`.
const ENGINES: &[(&str, &str)] = &[("wgpu", "planted_faults_are_found")];

pub fn run(arguments: &[String]) -> Result<ExitCode, Error> {
    let engine = match arguments {
        [name] => ENGINES.iter().find(|(engine, _)| engine == name),
        _ => None,
    };
    let names: Vec<&str> = ENGINES.iter().map(|(engine, _)| *engine).collect();
    let Some((engine, test)) = engine else {
        return Err(Error::Usage { message: format!("faults takes the name of an engine: {}", names.join(", ")) });
    };
    let workspace = Workspace::load()?;
    let variables = vulkan::environment(&workspace, "lavapipe", Some("256"))?;
    let line = format!("test --quiet --package inkstone-engine-{engine} --test device -- --ignored --nocapture {test}");
    let mut command = Command::new("cargo");
    command.args(line.split(' ')).envs(variables).current_dir(workspace.root());
    let status = command.status().map_err(|source| Error::Start { program: format!("cargo {line}"), source })?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
