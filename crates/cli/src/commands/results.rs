//! The output of `run`, `complete` and `chat`: the text, and lines about it.

use super::events::End;
use super::table::figure;
use crate::args::ModelSource;
use crate::{output, terminal};
use inkstone::compute::huge_pages;
use inkstone::tensor::ops::Window;
use inkstone::{Model, Piece, SessionStream, Stream, TokenScore, generate};
use std::io::{self, Write};

/// The result of a stream.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) failure: Option<inkstone::Error>,
}

/// A generation: an iterator over its pieces, with its counts.
pub(super) trait Generation: Iterator<Item = generate::Result<Piece>> {
    /// The stream with the counts.
    fn counts(&self) -> &Stream;
}

impl Generation for Stream {
    fn counts(&self) -> &Stream {
        self
    }
}

impl Generation for SessionStream<'_> {
    fn counts(&self) -> &Stream {
        self.stream()
    }
}

/// Writes the pieces to standard output as soon as they are generated.
pub(super) struct Results {
    json: bool,
    terminal: bool,
    /// Whether more output follows the text.
    line: bool,
    /// The log-probabilities for standard error, if the output is not JSON.
    scores: Vec<TokenScore>,
}

impl Results {
    pub(super) fn new(json: bool) -> Results {
        Results { json, terminal: !json && terminal::shows_results(), line: false, scores: Vec::new() }
    }

    /// Results whose texts each end with a line end.
    pub(super) fn of_chat(json: bool) -> Results {
        Results { line: true, ..Results::new(json) }
    }

    /// Prints the prompt before the text, on a terminal.
    pub(super) fn prompt(&mut self, prompt: &str) -> io::Result<()> {
        if self.terminal { output::print(terminal::bold(&terminal::printable(prompt)).as_bytes()) } else { Ok(()) }
    }

    /// Writes all pieces of a generation, and returns its result. A failure of the model is part of the result, a failure
    /// of the output is an error.
    pub(super) fn stream(&mut self, generation: &mut impl Generation) -> io::Result<Answer> {
        let mut answer = Answer::default();
        for piece in generation.by_ref() {
            match piece {
                Ok(piece) => {
                    answer.text.push_str(&piece.text);
                    self.piece(piece)?;
                }
                Err(e) => {
                    answer.failure = Some(inkstone::Error::from(e));
                    break;
                }
            }
        }
        self.end(generation.counts(), answer.failure.as_ref())?;
        Ok(answer)
    }

    fn piece(&mut self, piece: Piece) -> io::Result<()> {
        if self.json {
            return print_line(&piece);
        }
        self.scores.extend(piece.logprobs);
        match &piece.text {
            text if text.is_empty() => Ok(()),
            text if self.terminal => output::print(terminal::printable(text).as_bytes()),
            text => output::print(text.as_bytes()),
        }
    }

    fn end(&mut self, stream: &Stream, failure: Option<&inkstone::Error>) -> io::Result<()> {
        if self.json {
            return print_line(&End::new(stream, failure));
        }
        if self.terminal || self.line {
            output::print(b"\n")?;
        }
        for score in self.scores.drain(..) {
            let top: Vec<_> = score.top.iter().map(|(id, logprob)| format!("{id} {logprob:.4}")).collect();
            terminal::note(&format!("token {} logprob {:.4} top [{}]", score.id, score.logprob, top.join(", ")));
        }
        Ok(())
    }
}

fn print_line(value: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.write_all(b"\n")?;
    output::print(&line)
}

/// Prints the lines after the text.
pub(super) fn summary(stream: &Stream, verbose: bool) {
    let (usage, timings) = (stream.usage(), stream.timings());
    let rate = timings.decode_rate(&usage).map_or(String::new(), |rate| format!("{rate:.1} tokens/s, "));
    let finish = stream.finish().map_or_else(|| "none".to_owned(), |f| f.to_string());
    let (prompt, text, seed) = (usage.prompt_tokens, usage.completion_tokens, stream.seed());
    terminal::note(&format!("tokens: prompt {prompt}, generated {text}, {rate}seed {seed}, finish {finish}"));
    if verbose {
        let [prefill, decode, total] = [timings.prefill, timings.decode, timings.total].map(|t| t.as_secs_f64());
        terminal::note(&format!("prefill {prefill:.3} s, decode {decode:.3} s, total {total:.3} s"));
    }
}

/// The name of a model in messages.
pub(super) fn model_name(source: &ModelSource) -> String {
    match source {
        ModelSource::Embedded => "the built-in story model".to_string(),
        ModelSource::File(path) => path.display().to_string(),
    }
}

/// Prints lines about the model.
pub(super) fn describe(model: &Model, source: &ModelSource) {
    let name = model_name(source);
    let (engine, context) = (&model.engine().caps().name, model.config().context);
    let (tokenizer, vocabulary) = (model.tokenizer().model(), model.tokenizer().vocab_size());
    terminal::note(&format!(
        "{name}: engine {engine}, context {context}, tokenizer {tokenizer} of {vocabulary} tokens"
    ));
    let (memory, time) = (model.generator().footprint(), model.generator().load_time().as_secs_f64());
    let huge = huge_pages().map_or(String::new(), |bytes| format!(", {} in huge pages", figure(bytes as f64, "B")));
    terminal::note(&format!("weights: {} loaded in {time:.3} s{huge}", figure(memory.weights as f64, "B")));
    if let Some(Window { size, first }) = model.graph().config.kv_window {
        terminal::note(&format!(
            "cache: layers see at most the last {size} tokens and the first {first} (--kv-window)"
        ));
    }
    if memory.streamed > 0 {
        let [locked, streamed] = [memory.locked, memory.streamed].map(|bytes| figure(bytes as f64, "B"));
        terminal::note(&format!("weights: {locked} locked in memory, {streamed} read from the file in every step"));
    }
}
