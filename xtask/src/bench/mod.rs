//! `cargo xtask bench`: measures Inkstone and its peers with the same files, and reports the results.

mod candle;
mod fresh;
mod headline;
mod llama_bench;
mod llama_cpp;
mod machine;
mod measure;
mod options;
mod peer;
mod plot;
mod protocol;
mod record;
mod report;
mod slices;
pub mod stamp;
mod targets;
mod templates;

use std::process::{Command, ExitCode};

use crate::error::Error;
use crate::workspace::Workspace;
use measure::Bench;
use options::Options;
use peer::{Ours, Peer};

pub fn run(arguments: &[String]) -> Result<ExitCode, Error> {
    if let Some((first, rest)) = arguments.split_first()
        && first == "templates"
    {
        templates::run(rest)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !arguments.iter().any(|a| a == "--peer" || a == "--report") {
        return ours_alone(arguments);
    }
    let workspace = Workspace::load()?;
    if arguments == ["--report"] {
        print!("{}", report::write(workspace.root())?);
        return Ok(ExitCode::SUCCESS);
    }
    let options = Options::parse(arguments)?;
    options.find_models()?;
    let ours = Ours::build(&workspace, &options)?;
    for name in &options.peers {
        let peer = Peer::install(&workspace, name, options.isa.as_deref())?;
        let bench = Bench::new(&workspace, &options, &ours, &peer)?;
        for model in &options.models {
            bench.model(model)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// `inkstone bench` with the same arguments.
fn ours_alone(arguments: &[String]) -> Result<ExitCode, Error> {
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--quiet", "--release", "--package", "inkstone-cli", "--", "bench"]).args(arguments);
    let status = cargo.status().map_err(|source| Error::Start { program: "cargo run".to_owned(), source })?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
