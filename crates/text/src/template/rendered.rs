//! A prompt that a template wrote.

use super::Origin;
use inkstone_template::Output;
use std::ops::Range;

/// A prompt: its text, and which of its bytes the template wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    text: String,
    runs: Vec<(Range<usize>, Origin)>,
    generated: Vec<Range<usize>>,
    steps: u64,
    peak_bytes: usize,
}

impl Rendered {
    pub(super) fn new(output: Output) -> Rendered {
        let Output { text, runs, generated, steps, peak_bytes, .. } = output;
        Rendered { text, runs, generated, steps, peak_bytes }
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Byte ranges that cover the text, in turns the template's and the conversation's.
    pub fn runs(&self) -> &[(Range<usize>, Origin)] {
        &self.runs
    }

    /// Byte ranges of the template's `generation` blocks: what a model learns to write.
    pub fn generated(&self) -> &[Range<usize>] {
        &self.generated
    }

    /// Steps that the template took.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The most bytes that the template's values had at a time.
    pub fn peak_bytes(&self) -> usize {
        self.peak_bytes
    }

    /// The first byte of the conversation's from an offset on; the text's length if there is none.
    pub(crate) fn next_input(&self, from: usize) -> usize {
        let later = &self.runs[self.runs.partition_point(|(run, _)| run.end <= from)..];
        let run = later.iter().find(|(_, origin)| *origin == Origin::Input);
        run.map_or(self.text.len(), |(run, _)| run.start.max(from))
    }
}
