//! `complete`: continues raw text.

use super::open;
use super::profile;
use super::prompt::Prompt;
use super::results::{Results, describe, summary};
use super::session::SessionFile;
use crate::Error;
use crate::args::{CompleteArgs, ModelSource, OutputArgs, RawArgs};
use crate::signals::Signals;
use inkstone::{FinishReason, Model, Options, Session};

pub(crate) fn complete(args: &CompleteArgs, signals: &Signals) -> Result<(), Error> {
    let (source, prompt) = args.input.sources()?;
    args.output.sampling.check()?;
    let prompt = Prompt::open(&prompt)?;
    let text = Text::open(&args.raw, &args.output)?;
    let model = open::generating(&source, &args.output, signals)?;
    text.go_on(&model, &source, prompt, signals)
}

/// The arguments of a text, with the file that keeps it.
pub(super) struct Text<'a> {
    raw: &'a RawArgs,
    args: &'a OutputArgs,
    file: Option<SessionFile>,
}

impl<'a> Text<'a> {
    /// Checks the file. This happens before the model is loaded, so that errors are found early.
    pub(super) fn open(raw: &'a RawArgs, args: &'a OutputArgs) -> Result<Text<'a>, Error> {
        Ok(Text { raw, args, file: SessionFile::check(args.session.as_deref())? })
    }

    /// Continues the text of the file and the prompt.
    pub(super) fn go_on(
        self,
        model: &Model,
        source: &ModelSource,
        prompt: Prompt,
        signals: &Signals,
    ) -> Result<(), Error> {
        let mut session = self.file.as_ref().map_or_else(|| Ok(model.session()), |file| file.text(model))?;
        let prompt = prompt.read(model)?;
        let _watch = signals.watch();
        if self.args.verbose {
            describe(model, source);
        }
        let options = self.args.sampling.options().special(self.raw.special).cancel(signals.cancel());
        let result = self.write(model, &mut session, &prompt, &options);
        match &self.file {
            Some(file) => file.keep(result, |path| Ok(session.save(path, b"")?)),
            None => result,
        }
    }

    /// Adds the prompt and the continuation to the session, and prints the continuation.
    fn write(&self, model: &Model, session: &mut Session, prompt: &str, options: &Options) -> Result<(), Error> {
        session.append_with(prompt, options).map_err(inkstone::Error::from)?;
        let begin = session.ids().len();
        let mut stream = session.stream(options).map_err(inkstone::Error::from)?;
        let mut out = Results::new(self.args.json);
        out.prompt(prompt)?;
        let answer = out.stream(&mut stream)?;
        summary(stream.stream(), self.args.verbose);
        if self.args.profile {
            profile::print(model);
        }
        let finish = stream.stream().finish();
        drop(stream);
        match (answer.failure, finish) {
            (Some(e), _) => Err(e.into()),
            (None, Some(FinishReason::Cancelled)) => Err(Error::Interrupted),
            (None, Some(FinishReason::End | FinishReason::Stop)) => {
                Ok(session.keep_text(begin, &answer.text).map_err(inkstone::Error::from)?)
            }
            (None, _) => Ok(()),
        }
    }
}
