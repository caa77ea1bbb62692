//! Tests, checks and tools of the workspace: `cargo xtask COMMAND`.

mod bench;
mod block;
mod command;
#[cfg(test)]
mod dependencies;
mod error;
mod faults;
mod files;
mod gpu;
mod layers;
mod pages;
mod prose;
mod real;
mod release;
mod repository;
mod synth;
mod test;
mod tree;
mod vulkan;
mod watch;
mod workspace;

use std::process::ExitCode;

use error::Error;
use workspace::Workspace;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [--setup] [--full] [STAGE...]   run all stages, or the named ones; --list names them
      --setup   install first what is missing of the tools that stages need
      --full    the long versions of the tests
  synth NAME TYPE [-o FILE] [--seed N] write a model file of a real shape with random weights; without more: what there is
  bench MODEL... --peer PEER [OPTION...]
      measures ours and llama-cpp, candle or any llama-bench program in turns; without a peer: inkstone bench
  bench templates [--json] [-r N]      chat templates over long conversations, ours and minijinja in turns
  prose [--path FILE_OR_FOLDER]        count the constructions that stage prose refuses, with the lines of a folder
  real [--path]                        download the model that tests know from its users: Gemma 3 270M, under Google's terms
  release                              build the program for other machines, without paths of this one
  vulkan --setup | DRIVER [--width BITS] [--env | -- COMMAND]
      runs a program with a Vulkan driver that computes on the CPU: lavapipe or swiftshader
  faults ENGINE                        plant mistakes in an engine (wgpu), and print which check finds each
  gpu --bundle FOLDER | --smoke FOLDER | --report FILE...
      measures GPUs: makes a folder to copy to a machine with one; tries it here with a driver that computes on the CPU; writes
      the results of such folders into docs/gpu.md
  check-layers                         hold the crates' dependencies against the layers";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error}");
            if matches!(error, Error::Usage { .. }) { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

fn run(arguments: &[String]) -> Result<ExitCode, Error> {
    match arguments.split_first().map(|(command, rest)| (command.as_str(), rest)) {
        Some(("test", rest)) => test::run(rest),
        Some(("bench", rest)) => bench::run(rest),
        Some(("prose", rest)) => prose::run(rest),
        Some(("real", rest)) => real::run(rest),
        Some(("release", rest)) => release::run(rest),
        Some(("synth", rest)) => synth::run(rest),
        Some(("faults", rest)) => faults::run(rest),
        Some(("gpu", rest)) => gpu::run(rest),
        Some(("vulkan", rest)) => vulkan::run(rest),
        Some(("check-layers", [])) => {
            layers::check(&Workspace::load()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Some(("help" | "--help" | "-h", _)) => {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        Some((other, _)) => {
            Err(Error::Usage { message: format!("{other} is not a command or takes no such argument\n{USAGE}") })
        }
        None => Err(Error::Usage { message: format!("no command\n{USAGE}") }),
    }
}
