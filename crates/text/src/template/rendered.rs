//! The output of a template.

use super::Origin;
use inkstone_template::Output;
use std::ops::Range;

/// A prompt: its text, with the origin of each byte (the template or the conversation).
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

    /// Byte ranges that cover the text, alternately written by the template and copied from the conversation.
    pub fn runs(&self) -> &[(Range<usize>, Origin)] {
        &self.runs
    }

    /// Byte ranges of the `generation` blocks of the template: the parts that a model is trained to write.
    pub fn generated(&self) -> &[Range<usize>] {
        &self.generated
    }

    /// Steps that the template took.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The largest number of bytes that the values of the template took at the same time.
    pub fn peak_bytes(&self) -> usize {
        self.peak_bytes
    }

    /// The offset of the first byte from the conversation at or after `from`, or the length of the text.
    pub(crate) fn next_input(&self, from: usize) -> usize {
        let later = &self.runs[self.runs.partition_point(|(run, _)| run.end <= from)..];
        let run = later.iter().find(|(_, origin)| *origin == Origin::Input);
        run.map_or(self.text.len(), |(run, _)| run.start.max(from))
    }
}
