//! The engines that are measured: Inkstone and the peers.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::candle::Candle;
use super::llama_bench::{self, LlamaBench};
use super::llama_cpp::{LlamaCpp, Variant};
use super::options::Options;
use super::protocol::Process;
use super::record::{Test, What};
use super::slices::Contestant;
use crate::command::Program;
use crate::error::Error;
use crate::workspace::Workspace;

/// The program that is built here.
pub struct Ours {
    pub program: PathBuf,
    pub isa: Option<String>,
    pub numerics: Option<String>,
}

impl Ours {
    pub fn build(workspace: &Workspace, options: &Options) -> Result<Self, Error> {
        let (isa, numerics) = (options.isa.clone(), options.numerics.clone());
        if let Some(program) = &options.ours {
            return Ok(Self { program: program.clone(), isa, numerics });
        }
        Program::new("cargo build --release --package inkstone-cli", workspace.root()).stdout()?;
        Ok(Self { program: workspace.target().join("release/inkstone"), isa, numerics })
    }

    /// A command of the program with the threads and the instruction set that are wanted.
    pub fn command(&self, command: &str, model: &Path, test: &Test) -> Command {
        let mut line = Command::new(&self.program);
        line.arg(command).arg(model).args(["--threads", &test.threads.to_string()]);
        for (option, value) in [("--isa", &self.isa), ("--numerics", &self.numerics)] {
            if let Some(value) = value {
                line.args([option, value]);
            }
        }
        line
    }

    pub fn start(&self, model: &Path, test: &Test) -> Result<Process, Error> {
        let mut command = self.command("bench", model, test);
        command.arg("--slices").args(["--batch", &test.sequences.to_string(), "--ctx", &context(test).to_string()]);
        Process::start("inkstone", command)
    }
}

/// Positions that a sequence of the test needs, and some to decode.
pub fn context(test: &Test) -> usize {
    (test.depth.max(test.tokens) + 256).next_multiple_of(256)
}

/// Starts one way to run a peer.
pub type Starter<'a> = Box<dyn Fn(&Path, &Test) -> Result<Box<dyn Contestant>, Error> + 'a>;

/// A peer that can be started.
pub enum Peer {
    LlamaCpp(LlamaCpp),
    Candle(Candle),
    LlamaBench(PathBuf),
}

impl Peer {
    /// Installs or builds what is missing.
    pub fn install(workspace: &Workspace, name: &str, isa: Option<&str>) -> Result<Self, Error> {
        match name {
            "llama-cpp" => LlamaCpp::install(workspace, isa).map(Self::LlamaCpp),
            "candle" => Candle::build(workspace).map(Self::Candle),
            path if Path::new(path).is_file() => Ok(Self::LlamaBench(PathBuf::from(path))),
            other => Err(Error::Usage {
                message: format!("--peer {other}: neither llama-cpp, candle nor the file of a llama-bench program"),
            }),
        }
    }

    /// As results name it.
    pub fn name(&self) -> String {
        match self {
            Self::LlamaCpp(_) => LlamaCpp::name(),
            Self::Candle(_) => Candle::name(),
            Self::LlamaBench(path) => path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned()),
        }
    }

    /// Whether it has the test at all.
    pub fn has(&self, test: &Test) -> bool {
        match self {
            Self::LlamaCpp(_) => true,
            Self::Candle(_) | Self::LlamaBench(_) => test.sequences <= 1,
        }
    }

    /// The ways to run it that may be the fastest at the test.
    pub fn starters(&self, test: &Test) -> Vec<Starter<'_>> {
        match self {
            Self::LlamaCpp(peer) => {
                // Without a cache worth the name attention takes no time.
                let attends = test.what == What::Prefill || test.depth > 0;
                let variants = Variant::all().into_iter().filter(|v| v.flash || attends);
                variants.map(|variant| peer.starter(variant)).collect()
            }
            Self::Candle(peer) => {
                vec![Box::new(|model, test| Ok(Box::new(peer.start(model, test)?) as Box<dyn Contestant>))]
            }
            Self::LlamaBench(path) => {
                let starter = |variant: &'static str| -> Starter<'_> {
                    Box::new(move |model, test| Ok(Box::new(LlamaBench::new(path, model, test, variant))))
                };
                llama_bench::VARIANTS.iter().map(|variant| starter(variant)).collect()
            }
        }
    }
}
