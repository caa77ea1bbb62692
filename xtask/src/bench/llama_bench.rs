//! Any llama-bench binary: it cannot be measured in slices, so it runs to its end in turns with Inkstone.

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

/// Options that may make it faster. Some versions do not have all of them; options that fail are omitted. The last ones
/// belong to `ik_llama.cpp`: repacking at load time, huge pages.
pub const VARIANTS: &[&str] =
    &["", "--repack 0", "-lm none", "-lm none --repack 0", "-mmp 0", "-rtr 1", "-mmp 0 -thp 1", "-rtr 1 -thp 1"];

impl LlamaBench {
    pub fn new(program: &Path, model: &Path, test: &Test, variant: &'static str) -> Self {
        Self { program: program.to_owned(), model: model.to_owned(), threads: test.threads, variant, depth: 0 }
    }

    fn run(&self, tokens: &str) -> Result<Took, Error> {
        let line = format!("-r 1 -o json -t {} {} {tokens}", self.threads, self.variant);
        let program = Program::at(&self.program, Path::new(".")).arg("-m").arg(&self.model);
        let output = program.args(line.split_whitespace()).stdout()?;
        took(&String::from_utf8_lossy(&output)).ok_or_else(|| Error::Peer {
            name: self.program.display().to_string(),
            what: format!("{tokens}: no avg_ts in {}", String::from_utf8_lossy(&output)),
        })
    }
}

/// The tokens per second of the only test in a JSON array, which may be surrounded by other lines.
fn took(output: &str) -> Option<Took> {
    let array = output.get(output.find("[\n")?..=output.rfind(']')?)?;
    let tests: Vec<Value> = serde_json::from_str(array).ok()?;
    let [test] = &tests[..] else { return None };
    Some(Took { tokens: test.get("avg_ts")?.as_f64()?, seconds: 1.0, bytes: None, macs: None })
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
        match self.depth {
            0 => self.run(&format!("-p 0 -n {TOKENS}")),
            // A version that does not support the first form may support the second.
            depth => self
                .run(&format!("-p 0 -n {TOKENS} -d {depth}"))
                .or_else(|_| self.run(&format!("-p 0 -n 0 -gp {depth},{TOKENS}"))),
        }
    }
    fn prompt(&mut self, tokens: usize) -> Result<Took, Error> {
        self.run(&format!("-p {tokens} -n 0"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_in_the_array() {
        let took = took("[loaded]\n[\n  {\"n_gen\": 32, \"avg_ts\": 41.5, \"samples_ts\": [ 41.5 ]}\n]\n").unwrap();
        assert_eq!(took.rate(), 41.5);
        for other in ["no array", "[\n]", "]\n[\n", "[\n{\"avg_ts\": 1},\n{\"avg_ts\": 2}]"] {
            assert_eq!(super::took(other), None, "{other}");
        }
    }
}
