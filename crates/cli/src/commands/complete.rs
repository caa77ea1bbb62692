//! `complete`: continues raw text.

use super::open;
use super::profile;
use super::prompt::Prompt;
use super::results::{Results, describe, summary};
use crate::Error;
use crate::args::{CompleteArgs, ModelSource, OutputArgs, RawArgs};
use crate::signals::Signals;
use inkstone::{FinishReason, Model};

pub(crate) fn complete(args: &CompleteArgs, signals: &Signals) -> Result<(), Error> {
    let (source, prompt) = args.input.sources()?;
    args.output.sampling.check()?;
    let prompt = Prompt::open(&prompt)?;
    let model = open::generating(&source, &args.output, signals)?;
    go_on(&model, &source, prompt, &args.raw, &args.output, signals)
}

/// Continues a prompt with an open model.
pub(super) fn go_on(
    model: &Model,
    source: &ModelSource,
    prompt: Prompt,
    raw: &RawArgs,
    args: &OutputArgs,
    signals: &Signals,
) -> Result<(), Error> {
    let prompt = prompt.read(model)?;
    let _watch = signals.watch();
    if args.verbose {
        describe(model, source);
    }
    let options = args.sampling.options().special(raw.special).cancel(signals.cancel());
    let mut stream = model.stream(&prompt, &options)?;
    let mut out = Results::new(args.json);
    out.prompt(&prompt)?;
    let answer = out.stream(&mut stream)?;
    summary(&stream, args.verbose);
    if args.profile {
        profile::print(model);
    }
    match answer.failure {
        Some(e) => Err(e.into()),
        None if stream.finish() == Some(FinishReason::Cancelled) => Err(Error::Interrupted),
        None => Ok(()),
    }
}
