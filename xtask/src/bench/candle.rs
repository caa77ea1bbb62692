//! candle's quantised Llama, compiled on demand from a workspace of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::protocol::Process;
use super::record::Test;
use crate::command::Program;
use crate::error::Error;
use crate::workspace::Workspace;

const FOLDER: &str = "bench/peers/candle";
const VERSION: &str = "0.11.1";

/// A built program.
pub struct Candle {
    program: PathBuf,
}

impl Candle {
    /// Builds it for this machine's instruction sets, and says how long that takes.
    pub fn build(workspace: &Workspace) -> Result<Self, Error> {
        let target = workspace.target().join("peers/candle");
        let start = Instant::now();
        println!("candle {VERSION}: being built in {}", target.display());
        let manifest = workspace.root().join(FOLDER).join("Cargo.toml");
        let cargo = Program::new("cargo build --release --manifest-path", workspace.root()).arg(manifest);
        cargo.arg("--target-dir").arg(&target).env("RUSTFLAGS", "-C target-cpu=native").stdout()?;
        println!("candle {VERSION}: built in {:.0} s", start.elapsed().as_secs_f64());
        Ok(Self { program: target.join("release/bench-candle") })
    }

    pub fn name() -> String {
        format!("candle {VERSION}")
    }

    pub fn start(&self, model: &Path, test: &Test) -> Result<Process, Error> {
        let mut command = Command::new(&self.program);
        command.arg(model).env("RAYON_NUM_THREADS", test.threads.to_string());
        Process::start("as it is", command)
    }
}
