//! `run`: continues a text.

use super::open;
use super::profile;
use super::results::{Results, describe, summary};
use crate::args::{PromptSource, RunArgs};
use crate::input::{self, Input};
use crate::signals::Signals;
use crate::{Error, terminal};
use inkstone::{FinishReason, Model};

/// Bytes of a prompt for each token of the context: many times what a token of a text has.
pub(super) const PROMPT_BYTES_A_TOKEN: u64 = 64;

/// Prompt tokens a step: Ctrl-C is seen between steps.
pub(super) const CHUNK: usize = 64;

pub(crate) fn run(args: &RunArgs, signals: &Signals) -> Result<(), Error> {
    let (source, prompt) = args.sources()?;
    let prompt = Prompt::open(prompt)?;
    let model = open::model(&source, open::options(&args.engine, CHUNK).profile(args.profile), signals)?;
    let prompt = prompt.read(&model)?;
    let _watch = signals.watch();
    if args.verbose {
        describe(&model, &source);
    }
    let mut stream = model.stream(&prompt, &args.options().cancel(signals.cancel()))?;
    let mut out = Results::new(args.json);
    out.prompt(&prompt)?;
    let answer = out.stream(&mut stream)?;
    let finish = stream.finish().filter(|_| answer.failure.is_none());
    if model.has_chat_template() && finish.is_some_and(|finish| finish != FinishReason::Cancelled) {
        terminal::note("note: this model can chat: inkstone chat uses its template, run continues the text as it is");
    }
    summary(&stream, args.verbose);
    if args.profile {
        profile::print(&model);
    }
    match answer.failure {
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
