//! The results, which are written in the order of the requests.

use crate::commands::events::Whole;
use crate::output;
use inkstone::{BatchEvent, BatchPiece, FinishReason, Piece};
use serde::Serialize;
use serde_json::Value;
use std::collections::VecDeque;
use std::io;
use std::time::Instant;

/// The results that have not been written, and counts of all.
pub(super) struct Results {
    begun: Instant,
    /// The number of results that have been written.
    written: usize,
    entries: VecDeque<Entry>,
    failed: usize,
    /// The bytes of the input up to the last result that was written.
    read: u64,
    prompt: u64,
    cached: u64,
    generated: u64,
}

/// A request without a written result.
struct Entry {
    id: Option<Value>,
    /// The bytes of the input up to its end.
    end: u64,
    samples: Vec<Sample>,
    outcome: Option<Outcome>,
}

/// A sample: its text so far, then the whole reply.
#[derive(Default)]
struct Sample {
    piece: Piece,
    reply: Option<Whole>,
}

/// The result of a request.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Replies(Vec<Whole>),
    Error(String),
}

/// A line of the output.
#[derive(Serialize)]
struct Line<'e> {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'e Value>,
    #[serde(flatten)]
    outcome: &'e Outcome,
}

impl Results {
    pub(super) fn new() -> Results {
        let (written, failed, read) = (0, 0, 0);
        let (begun, entries) = (Instant::now(), VecDeque::new());
        Results { begun, written, entries, failed, read, prompt: 0, cached: 0, generated: 0 }
    }

    /// The number of requests without a written result.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The number of the next request.
    pub(super) fn next(&self) -> usize {
        self.written + self.entries.len()
    }

    /// Adds a request, or its error.
    pub(super) fn begin(&mut self, id: Option<Value>, end: u64, error: Option<String>) {
        self.entries.push_back(Entry { id, end, samples: Vec::new(), outcome: error.map(Outcome::Error) });
    }

    /// Adds an event to its request. A request with an error needs no more events.
    pub(super) fn take(&mut self, event: BatchEvent) {
        let request = match &event {
            BatchEvent::Piece(BatchPiece { request, .. }) => *request,
            BatchEvent::End { request, .. } | BatchEvent::Done { request } => *request,
            _ => return,
        };
        let entry = request.checked_sub(self.written).and_then(|at| self.entries.get_mut(at));
        let Some(entry) = entry.filter(|entry| entry.outcome.is_none()) else { return };
        match event {
            BatchEvent::Piece(BatchPiece { sample, piece: Ok(mut piece), .. }) => {
                let whole = &mut entry.sample(sample).piece;
                whole.text.push_str(&piece.text);
                whole.ids.append(&mut piece.ids);
                whole.logprobs.append(&mut piece.logprobs);
            }
            BatchEvent::Piece(BatchPiece { piece: Err(error), .. }) => {
                entry.outcome = Some(Outcome::Error(error.to_string()));
            }
            // The text is not complete.
            BatchEvent::End { end, .. } if end.finish == FinishReason::Cancelled => {}
            BatchEvent::End { sample, end, .. } => {
                let sample = entry.sample(sample);
                sample.reply = Some(Whole::new(std::mem::take(&mut sample.piece), &end));
                self.prompt += end.usage.prompt_tokens;
                self.cached += end.usage.cached_tokens;
                self.generated += end.usage.completion_tokens;
            }
            BatchEvent::Done { .. } if entry.samples.iter().all(|sample| sample.reply.is_some()) => {
                let replies = entry.samples.drain(..).filter_map(|sample| sample.reply);
                entry.outcome = Some(Outcome::Replies(replies.collect()));
            }
            _ => {}
        }
    }

    /// Writes the results that are complete, up to the first that is not.
    pub(super) fn write(&mut self) -> io::Result<()> {
        while let Some(entry) = self.entries.pop_front_if(|entry| entry.outcome.is_some()) {
            self.failed += usize::from(matches!(entry.outcome, Some(Outcome::Error(_))));
            self.read = entry.end;
            entry.write(self.written)?;
            self.written += 1;
        }
        Ok(())
    }

    /// Writes all results that are complete, also behind others that are not.
    pub(super) fn write_complete(&mut self) -> io::Result<()> {
        self.write()?;
        self.entries.iter().enumerate().try_for_each(|(at, entry)| entry.write(self.written + at))
    }

    /// The number of failed requests.
    pub(super) fn failed(&self) -> usize {
        self.failed
    }

    /// The number of all requests whose results have been written.
    pub(super) fn all(&self) -> usize {
        self.written
    }

    /// The bytes of the input up to the last result that was written.
    pub(super) fn read(&self) -> u64 {
        self.read
    }

    /// A line about all requests.
    pub(super) fn summary(&self) -> String {
        let Results { written, failed, prompt, cached, generated, .. } = self;
        let rate = *generated as f64 / self.begun.elapsed().as_secs_f64().max(1e-9);
        format!(
            "requests: {written}, failed {failed}; tokens: prompt {prompt}, cached {cached}, generated {generated}, {rate:.1} tokens/s"
        )
    }
}

impl Entry {
    /// A sample, which is added with its first event.
    fn sample(&mut self, sample: usize) -> &mut Sample {
        let samples = self.samples.len().max(sample + 1);
        self.samples.resize_with(samples, Sample::default);
        &mut self.samples[sample]
    }

    fn write(&self, index: usize) -> io::Result<()> {
        let Some(outcome) = &self.outcome else { return Ok(()) };
        let mut line = serde_json::to_vec(&Line { index, id: self.id.as_ref(), outcome })?;
        line.push(b'\n');
        output::print(&line)
    }
}
