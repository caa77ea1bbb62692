//! A result: one line of `bench/results/*.jsonl`.

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The measured quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// Tokens per second of all sequences.
    Decode,
    /// Tokens of a prompt a second.
    Prefill,
    /// Seconds from the start of a fresh process to its first token.
    First,
    /// The most memory of a process, bytes.
    Peak,
}

/// A test; fields that do not matter to it are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Test {
    pub what: What,
    pub threads: usize,
    /// Of the prompt.
    pub tokens: usize,
    /// Tokens in the cache of each sequence at the start.
    pub depth: usize,
    pub sequences: usize,
    /// Threads of another process that compute all the time.
    pub busy: usize,
}

impl Test {
    pub const fn decode(threads: usize, depth: usize, sequences: usize) -> Self {
        Self { what: What::Decode, threads, tokens: 0, depth, sequences, busy: 0 }
    }

    pub const fn prefill(threads: usize, tokens: usize) -> Self {
        Self { what: What::Prefill, threads, tokens, depth: 0, sequences: 1, busy: 0 }
    }

    pub const fn first(threads: usize, tokens: usize) -> Self {
        Self { what: What::First, tokens, ..Self::prefill(threads, tokens) }
    }

    pub const fn peak(threads: usize) -> Self {
        Self { what: What::Peak, ..Self::prefill(threads, 0) }
    }

    pub const fn under(self, busy: usize) -> Self {
        Self { busy, ..self }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Decode if self.sequences > 1 => write!(f, "decode, {} sequences", self.sequences)?,
            What::Decode => write!(f, "decode")?,
            What::Prefill => write!(f, "prefill {}", self.tokens)?,
            What::First => write!(f, "start to first token, prompt of {}", self.tokens)?,
            What::Peak => write!(f, "peak memory")?,
        }
        if self.depth > 0 {
            write!(f, ", depth {}", self.depth)?;
        }
        if self.threads == 1 {
            write!(f, ", 1 thread")?;
        }
        if self.busy > 0 {
            write!(f, ", with {} busy threads", self.busy)?;
        }
        Ok(())
    }
}

/// Median and range of some runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    pub median: f64,
    pub least: f64,
    pub most: f64,
    pub runs: usize,
}

impl Figure {
    /// `None` without values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let median = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
        Some(Self { median, least, most, runs: sorted.len() })
    }
}

/// The figures of Inkstone (`ours`) and of a peer (`theirs`) in one test and one state of the memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub date: String,
    pub commit: String,
    pub machine: String,
    /// Instruction sets that both were held to.
    pub isa: String,
    /// The options of Inkstone that are not the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numerics: Option<String>,
    /// Name of the model's file, without its ending.
    pub model: String,
    #[serde(flatten)]
    pub test: Test,
    pub state: String,
    pub ours: Figure,
    pub peer: String,
    /// How the peer was run.
    pub variant: String,
    pub theirs: Figure,
    /// The figure of Inkstone divided by the figure of the peer.
    pub ratio: f64,
    /// The read rate at the same time, in bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<f64>,
    /// Share of it that Inkstone reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Share of the speed of the fastest integer dot product that Inkstone reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dot: Option<f64>,
    /// For peak memory: the bytes that Inkstone may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<f64>,
    /// Shown, but not compared with floors: the peer had help that it does not have by default.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aside: bool,
}

impl Record {
    /// Instruction set and numerics.
    pub fn set(&self) -> String {
        self.numerics.as_ref().map_or_else(|| self.isa.clone(), |name| format!("{} {name}", self.isa))
    }

    /// A value of the test in its unit: tokens per second, seconds, or megabytes.
    pub fn show(&self, value: f64) -> String {
        match self.test.what {
            What::First => format!("{value:.2} s"),
            What::Peak => format!("{:.0} MB", value / 1e6),
            _ if value < 100.0 => format!("{value:.1}"),
            _ => format!("{value:.0}"),
        }
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |figure: &Figure| {
            let [median, least, most] = [figure.median, figure.least, figure.most].map(|value| self.show(value));
            format!("{median} ({least} to {most}, {} runs)", figure.runs)
        };
        write!(f, "{}, {}, {}, {} state: ", self.model, self.test, self.set(), self.state)?;
        write!(f, "Inkstone {}, {} [{}] {}", show(&self.ours), self.peer, self.variant, show(&self.theirs))?;
        write!(f, ", ratio {:.3}", self.ratio)?;
        if let Some(read) = self.read {
            write!(f, ", memory bandwidth {:.1} GB/s", read / 1e9)?;
        }
        if let Some(share) = self.share {
            write!(f, ", {:.0}% of it", share * 100.0)?;
        }
        if let Some(dot) = self.dot {
            write!(f, ", {:.0}% of the fastest integer dot product", dot * 100.0)?;
        }
        if let Some(allowed) = self.allowed {
            write!(f, ", {} allowed", self.show(allowed))?;
        }
        if self.aside { write!(f, ", aside") } else { Ok(()) }
    }
}

/// The folder of results.
pub fn folder(root: &Path) -> PathBuf {
    root.join("bench/results")
}

/// Adds lines to a file of results.
pub fn append(path: &Path, records: &[Record]) -> Result<(), Error> {
    let at = |source| Error::File { path: path.to_owned(), source };
    let mut file = fs::File::options().create(true).append(true).open(path).map_err(at)?;
    for record in records {
        writeln!(file, "{}", serde_json::to_string(record)?).map_err(at)?;
    }
    Ok(())
}

/// All results, in the order of the files' names and of their lines.
pub fn read(root: &Path) -> Result<Vec<Record>, Error> {
    let folder = folder(root);
    let at = |source| Error::File { path: folder.clone(), source };
    let mut paths = Vec::new();
    for entry in fs::read_dir(&folder).map_err(at)? {
        paths.push(entry.map_err(at)?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    paths.sort();
    let mut records = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|source| Error::File { path: path.clone(), source })?;
        for (number, line) in (1..).zip(text.lines()) {
            let wrong = |error| Error::Result { path: path.clone(), number, error };
            records.push(serde_json::from_str(line).map_err(wrong)?);
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_median_and_range() {
        assert_eq!(Figure::of(&[]), None);
        assert_eq!(Figure::of(&[3.0, 1.0, 2.0]), Some(Figure { median: 2.0, least: 1.0, most: 3.0, runs: 3 }));
        assert_eq!(Figure::of(&[4.0, 1.0]).map(|f| f.median), Some(2.5));
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let figure = Figure { median: 2.0, least: 1.0, most: 3.0, runs: 3 };
        let record = Record {
            date: "2026-11-22".into(),
            commit: "abc".into(),
            machine: "a machine".into(),
            isa: "avx512".into(),
            numerics: None,
            model: "m".into(),
            test: Test::decode(2, 4096, 1).under(2),
            state: "slow".into(),
            ours: figure.clone(),
            peer: "llama.cpp".into(),
            variant: "repack".into(),
            theirs: figure,
            ratio: 1.0,
            read: Some(35e9),
            share: None,
            dot: None,
            allowed: None,
            aside: false,
        };
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder(root.path())).unwrap();
        append(&folder(root.path()).join("a.jsonl"), std::slice::from_ref(&record)).unwrap();
        assert_eq!(read(root.path()).unwrap(), [record]);
        fs::write(folder(root.path()).join("b.jsonl"), "{}\n").unwrap();
        let error = read(root.path()).unwrap_err().to_string();
        assert!(error.contains("b.jsonl:1") && error.contains("missing field"), "{error}");
    }

    #[test]
    fn tests_are_named_by_what_differs() {
        assert_eq!(Test::decode(2, 0, 1).to_string(), "decode");
        assert_eq!(Test::decode(1, 4096, 8).to_string(), "decode, 8 sequences, depth 4096, 1 thread");
        assert_eq!(Test::decode(2, 0, 1).under(2).to_string(), "decode, with 2 busy threads");
    }
}
