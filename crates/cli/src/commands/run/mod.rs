//! `run`: continues a text.

mod events;

use super::open;
use crate::args::{ModelSource, PromptSource, RunArgs};
use crate::input::{self, Input};
use crate::signals::Signals;
use crate::{Error, output, terminal};
use events::{End, Event};
use inkstone::{FinishReason, Model, Piece, Stream, TokenScore};
use std::io::{self, Write};

/// Bytes of a prompt for each token of the context: many times what a token of a text has.
const PROMPT_BYTES_A_TOKEN: u64 = 64;

/// Prompt tokens a step: Ctrl-C is seen between steps.
const CHUNK: usize = 64;

pub(crate) fn run(args: &RunArgs, signals: &Signals) -> Result<(), Error> {
    let (source, prompt) = args.sources()?;
    let prompt = Prompt::open(prompt)?;
    let model = open::model(&source, &args.engine, CHUNK, signals)?;
    let prompt = prompt.read(&model)?;
    let _watch = signals.watch();
    if args.verbose {
        describe(&model, &source);
    }
    let mut stream = model.stream(&prompt, &args.options().cancel(signals.cancel()))?;
    let mut out = Results::new(args.json);
    out.prompt(&prompt)?;
    let mut failure = None;
    for piece in stream.by_ref() {
        match piece {
            Ok(piece) => out.piece(piece)?,
            Err(e) => {
                failure = Some(inkstone::Error::from(e));
                break;
            }
        }
    }
    out.end(&stream, failure.as_ref())?;
    summary(&stream, args.verbose);
    match failure {
        Some(e) => Err(e.into()),
        None if stream.finish() == Some(FinishReason::Cancelled) => Err(Error::Interrupted),
        None => Ok(()),
    }
}

/// A prompt whose source is known to be there.
enum Prompt {
    Text(String),
    Input(Input),
}

impl Prompt {
    fn open(source: PromptSource) -> Result<Prompt, Error> {
        Ok(match source {
            PromptSource::Argument(text) => Prompt::Text(input::argument("the prompt", &text)?.to_string()),
            PromptSource::File(path) => Prompt::Input(Input::open(&path)?),
            PromptSource::Stdin => Prompt::Input(Input::stdin()),
        })
    }

    /// The text. Editors and `echo` end it with a line end that nobody means to continue after.
    fn read(self, model: &Model) -> Result<String, Error> {
        let input = match self {
            Prompt::Text(text) => return Ok(text),
            Prompt::Input(input) => input,
        };
        let limit = (model.config().context as u64).saturating_mul(PROMPT_BYTES_A_TOKEN);
        let mut text = input.read(limit, "64 for each token of the context")?;
        if text.ends_with('\n') {
            text.pop();
            if text.ends_with('\r') {
                text.pop();
            }
        }
        Ok(text)
    }
}

/// The pieces on standard output, each at once.
struct Results {
    json: bool,
    terminal: bool,
    /// Log-probabilities for standard error, where the text is no JSON.
    scores: Vec<TokenScore>,
}

impl Results {
    fn new(json: bool) -> Results {
        Results { json, terminal: !json && terminal::shows_results(), scores: Vec::new() }
    }

    fn prompt(&mut self, prompt: &str) -> io::Result<()> {
        if self.terminal { output::print(terminal::bold(&terminal::printable(prompt)).as_bytes()) } else { Ok(()) }
    }

    fn piece(&mut self, piece: Piece) -> io::Result<()> {
        if self.json {
            return print_line(&Event::from(&piece));
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
        if self.terminal {
            output::print(b"\n")?;
        }
        for score in &self.scores {
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

/// One line after the text.
fn summary(stream: &Stream, verbose: bool) {
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

fn describe(model: &Model, source: &ModelSource) {
    let name = match source {
        ModelSource::Embedded => "the model inside the program".to_string(),
        ModelSource::File(path) => path.display().to_string(),
    };
    let (engine, context) = (&model.engine().caps().name, model.config().context);
    let (tokenizer, vocabulary) = (model.tokenizer().model(), model.tokenizer().vocab_size());
    terminal::note(&format!(
        "{name}: engine {engine}, context {context}, tokenizer {tokenizer} of {vocabulary} tokens"
    ));
}
