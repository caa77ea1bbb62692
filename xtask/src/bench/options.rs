//! The options of `cargo xtask bench`, with the names of llama-bench.

use std::path::PathBuf;

use super::record::Test;
use crate::error::Error;

pub const USAGE: &str = "\
usage: cargo xtask bench MODEL.gguf... --peer llama-cpp|candle|LLAMA-BENCH [OPTION...]
       cargo xtask bench --report        writes the tables and the plot in README.md, docs/performance.md and bench/results
       cargo xtask bench templates       chat templates, against minijinja
       cargo xtask bench MODEL.gguf ...  without a peer: inkstone bench, with its options

  -p N,...        tokens of a prompt [512]; 0: none
  -d N,...        tokens in the cache where decoding begins [0,4096]
  -n N            0: no decoding; the number of tokens follows from slices of 100 ms
  -t N,...        threads [2]
  -b N,...        sequences per step [1,8]; more than one only at the first depth
  -r N            rounds [3]
  --first N       also a fresh process to its first token, with a prompt of N tokens, and its peak memory
  --busy          also decode next to two busy threads
  --isa SET       avx512 or avx2, for both programs [the best of this machine]
  --numerics NAME of Inkstone: fast rounds activations more if that is faster
  --huge-pages    also llama.cpp with glibc's huge pages, as a row aside
  --ours PROGRAM  an inkstone that is built [default: builds it]
  -o FILE         file to which results are added [bench/results/DATE.jsonl]";

#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    pub models: Vec<PathBuf>,
    pub peers: Vec<String>,
    prompts: Vec<usize>,
    depths: Vec<usize>,
    decode: bool,
    threads: Vec<usize>,
    sequences: Vec<usize>,
    pub rounds: usize,
    pub first: Option<usize>,
    busy: bool,
    pub isa: Option<String>,
    pub numerics: Option<String>,
    pub huge_pages: bool,
    pub ours: Option<PathBuf>,
    pub output: Option<PathBuf>,
}

/// The number of busy threads next to the measured process.
const BUSY: usize = 2;

impl Options {
    pub fn parse(arguments: &[String]) -> Result<Self, Error> {
        let mut options = Self {
            models: Vec::new(),
            peers: Vec::new(),
            prompts: vec![512],
            depths: vec![0, 4096],
            decode: true,
            threads: vec![2],
            sequences: vec![1, 8],
            rounds: 3,
            first: None,
            busy: false,
            isa: None,
            numerics: None,
            huge_pages: false,
            ours: None,
            output: None,
        };
        let mut arguments = arguments.iter();
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| wrong(&format!("{name} takes a value")));
            match name.as_str() {
                "--peer" => options.peers.push(value()?.clone()),
                "-p" => options.prompts = numbers(name, value()?)?,
                "-d" => options.depths = numbers(name, value()?)?,
                "-n" => options.decode = numbers(name, value()?)? != [0],
                "-t" => options.threads = positive(name, value()?)?,
                "-b" => options.sequences = positive(name, value()?)?,
                "-r" => options.rounds = positive(name, value()?)?[0],
                "--first" => options.first = Some(positive(name, value()?)?[0]),
                "--isa" => options.isa = Some(one_of(name, value()?, &["avx512", "avx2"])?),
                "--numerics" => options.numerics = Some(value()?.clone()),
                "--ours" => options.ours = Some(PathBuf::from(value()?)),
                "-o" => options.output = Some(PathBuf::from(value()?)),
                "--busy" => options.busy = true,
                "--huge-pages" => options.huge_pages = true,
                option if option.starts_with('-') => return Err(wrong(&format!("{option} is not an option of bench"))),
                model => options.models.push(PathBuf::from(model)),
            }
        }
        if options.models.is_empty() {
            return Err(wrong("no model"));
        }
        Ok(options)
    }

    /// Checks that all models exist before anything is built, because a misplaced value after a flag is parsed as a
    /// model.
    pub fn find_models(&self) -> Result<(), Error> {
        for path in &self.models {
            std::fs::metadata(path).map_err(|source| Error::File { path: path.clone(), source })?;
        }
        Ok(())
    }

    /// Threads of tests that have one number of them.
    pub fn most_threads(&self) -> usize {
        self.threads.iter().copied().max().unwrap_or(1)
    }

    /// The tests that are measured in slices or turns.
    pub fn tests(&self) -> Vec<Test> {
        let mut tests = Vec::new();
        for &threads in &self.threads {
            tests.extend(self.prompts.iter().filter(|n| **n > 0).map(|n| Test::prefill(threads, *n)));
            if !self.decode {
                continue;
            }
            for &sequences in &self.sequences {
                let depths = if sequences == 1 { &self.depths[..] } else { &self.depths[..self.depths.len().min(1)] };
                tests.extend(depths.iter().map(|depth| Test::decode(threads, *depth, sequences)));
            }
            if self.busy {
                tests.push(Test::decode(threads, 0, 1).under(BUSY));
            }
        }
        tests
    }
}

fn wrong(what: &str) -> Error {
    Error::Usage { message: format!("{what}\n{USAGE}") }
}

fn numbers(name: &str, text: &str) -> Result<Vec<usize>, Error> {
    let parse = |word: &str| word.parse().map_err(|_| wrong(&format!("{name} {text}: {word:?} is not a whole number")));
    text.split(',').map(parse).collect()
}

fn positive(name: &str, text: &str) -> Result<Vec<usize>, Error> {
    let numbers = numbers(name, text)?;
    if numbers.contains(&0) { Err(wrong(&format!("{name} {text}: 0 is not allowed"))) } else { Ok(numbers) }
}

fn one_of(name: &str, value: &str, allowed: &[&str]) -> Result<String, Error> {
    if allowed.contains(&value) {
        return Ok(value.to_owned());
    }
    Err(wrong(&format!("{name} {value}: allowed are {}", allowed.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Error> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn tests(line: &str) -> Vec<String> {
        parse(line).unwrap().tests().iter().map(Test::to_string).collect()
    }

    #[test]
    fn the_defaults_are_a_prompt_two_depths_and_eight_sequences() {
        let all = ["prefill 512", "decode", "decode, depth 4096", "decode, 8 sequences"];
        assert_eq!(tests("m.gguf --peer llama-cpp"), all);
        assert_eq!(tests("m.gguf -n 0"), all[..1]);
        assert_eq!(
            tests("m.gguf -p 0 -d 0 -t 1 -b 1 --busy"),
            ["decode, 1 thread", "decode, 1 thread, with 2 busy threads"]
        );
    }

    #[test]
    fn a_model_that_is_not_there_is_named() {
        let options = parse("Cargo.toml --busy 2").unwrap();
        assert!(options.find_models().unwrap_err().to_string().starts_with("2: "));
        assert_eq!(parse("Cargo.toml --busy").unwrap().find_models().map_err(|e| e.to_string()), Ok(()));
    }

    #[test]
    fn wrong_options_are_named_with_what_is_allowed() {
        for (line, message) in [
            ("", "no model"),
            ("m -t 0", "-t 0: 0 is not allowed"),
            ("m -d 1,x", "\"x\" is not a whole number"),
            ("m -d", "-d takes a value"),
            ("m --isa sse", "allowed are avx512, avx2"),
            ("m --frobnicate", "--frobnicate is not an option"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.starts_with(message) || error.contains(message), "{line}: {error}");
        }
    }
}
