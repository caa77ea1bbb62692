//! Any llama-bench binary: it cannot be measured in slices, so it runs to its end in turns with ours.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::protocol::Took;
use super::record::Test;
use super::slices::Contestant;
use crate::command::Program;
use crate::error::Error;

/// Tokens that a turn of decoding generates.
const TOKENS: usize = 32;

/// A binary with a model.
pub struct LlamaBench {
    program: PathBuf,
    model: PathBuf,
    threads: usize,
    variant: &'static str,
    depth: usize,
}

/// Options that may make it faster. Not every version knows all of them: what fails is left out.
pub const VARIANTS: &[&str] = &["", "--repack 0", "-lm none", "-lm none --repack 0", "-mmp 0", "-rtr 1"];

impl LlamaBench {
    pub fn new(program: &Path, model: &Path, test: &Test, variant: &'static str) -> Self {
        Self { program: program.to_owned(), model: model.to_owned(), threads: test.threads, variant, depth: 0 }
    }

    fn run(&self, tokens: &str) -> Result<Took, Error> {
        let line = format!("-r 1 -o jsonl -t {} {} {tokens}", self.threads, self.variant);
        let program = Program::at(&self.program, Path::new(".")).arg("-m").arg(&self.model);
        let output = program.args(line.split_whitespace()).stdout()?;
        took(&String::from_utf8_lossy(&output)).ok_or_else(|| Error::Peer {
            name: self.program.display().to_string(),
            what: format!("{tokens}: no avg_ts in {}", String::from_utf8_lossy(&output)),
        })
    }
}

/// Of the only line that has `avg_ts`, tokens a second.
fn took(output: &str) -> Option<Took> {
    let mut rates = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()?.get("avg_ts")?.as_f64());
    rates.next_back().map(|rate| Took { tokens: rate, seconds: 1.0, bytes: None, macs: None })
}

impl Contestant for LlamaBench {
    fn variant(&self) -> &str {
        if self.variant.is_empty() { "as it is" } else { self.variant }
    }
    fn fill(&mut self, depth: usize) -> Result<(), Error> {
        self.depth = depth;
        Ok(())
    }
    fn decode(&mut self, _: u64) -> Result<Took, Error> {
        self.run(&format!("-p 0 -n {TOKENS} -d {}", self.depth))
    }
    fn prompt(&mut self, tokens: usize) -> Result<Took, Error> {
        self.run(&format!("-p {tokens} -n 0"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_in_the_lines_of_json() {
        let took = took("build: 1\n{\"n_gen\": 32, \"avg_ns\": 1, \"avg_ts\": 41.5}\n").unwrap();
        assert_eq!(took.rate(), 41.5);
        assert_eq!(super::took("no lines"), None);
    }
}
