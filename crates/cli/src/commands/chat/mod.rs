//! `chat`: answers one message, or the messages of a conversation.

mod command;
mod history;
mod lines;
mod quoted;
mod saved;
mod set;
mod show;

use super::open;
use super::profile;
use super::prompt::{Prompt, most_bytes};
use super::results::{Results, describe, model_name, summary};
use super::session::SessionFile;
use crate::args::{ChatArgs, DialogueArgs, ModelSource, OutputArgs, PromptSource, SamplingArgs};
use crate::input::{self, Input};
use crate::signals::Signals;
use crate::{Error, terminal, termination};
use command::{Command, help};
use inkstone::text::MAX_SOURCE;
use inkstone::{ChatTemplate, Dialogue, FinishReason, Model, Options};
use lines::Lines;

pub(crate) fn chat(args: &ChatArgs, signals: &Signals) -> Result<(), Error> {
    let (source, message) = args.input.sources()?;
    args.output.sampling.check()?;
    // Without a message the lines of standard input are messages.
    let message = if message == PromptSource::Stdin { None } else { Some(Prompt::open(&message)?) };
    let chat = Chat::open(&args.dialogue, &args.output)?;
    let model = open::generating(&source, &args.output, signals)?;
    let message = message.map(|prompt| prompt.read(&model)).transpose()?;
    chat.talk(&model, &source, message.as_deref(), signals)
}

/// The arguments of a conversation, with the texts and files that they name.
pub(super) struct Chat<'a> {
    system: Option<&'a str>,
    template: Option<String>,
    dialogue: &'a DialogueArgs,
    args: &'a OutputArgs,
    session: Option<SessionFile>,
}

impl<'a> Chat<'a> {
    /// Reads the files. This happens before the model is loaded, so that errors are found early.
    pub(super) fn open(dialogue: &'a DialogueArgs, args: &'a OutputArgs) -> Result<Chat<'a>, Error> {
        let system = dialogue.system.as_deref().map(|text| input::argument("--system", text)).transpose()?;
        let template = dialogue.template.as_deref().map(Input::open).transpose()?;
        let template = template.map(|input| input.read(MAX_SOURCE as u64, "of a template")).transpose()?;
        let session = SessionFile::check(args.session.as_deref())?;
        Ok(Chat { system, template, dialogue, args, session })
    }

    /// Answers a message, or without one the lines of standard input.
    pub(super) fn talk(
        self,
        model: &Model,
        source: &ModelSource,
        message: Option<&str>,
        signals: &Signals,
    ) -> Result<(), Error> {
        if self.args.verbose {
            describe(model, source);
        }
        let template = template(model, self.template)?;
        if template.is_plain() {
            terminal::note(
                "note: the model has no chat template; a plain form is used, with a line `role: content` per message",
            );
        }
        let mut dialogue = match &self.session {
            Some(session) => session.dialogue(model, template)?,
            None => Dialogue::new(model, template),
        };
        if self.system.is_some() {
            dialogue.set_system(self.system);
        }
        let sampling = self.args.sampling.clone();
        let one = message.is_some();
        let mut conversation = Conversation {
            model,
            name: model_name(source),
            dialogue,
            sampling,
            one,
            verbose: self.args.verbose,
            settings: self.dialogue,
            args: self.args,
            session: self.session,
            signals,
        };
        let result = match message {
            Some(message) => conversation.answer(Some(message)),
            None => conversation.go_on(),
        };
        let result = conversation.keep(result);
        if self.args.profile {
            profile::print(model);
        }
        result
    }
}

/// The given template, or the template of the model.
fn template(model: &Model, given: Option<String>) -> Result<ChatTemplate, Error> {
    match given {
        Some(source) => ChatTemplate::new(source).map_err(Error::of_template),
        None => Ok(model.chat_template().map_err(advised)?),
    }
}

/// An error of the template of a model, with the option that replaces the template.
fn advised(error: inkstone::Error) -> Error {
    match error {
        inkstone::Error::Text(error) => Error::of_template(error),
        other => other.into(),
    }
}

struct Conversation<'a> {
    model: &'a Model,
    /// The name of the model.
    name: String,
    dialogue: Dialogue,
    sampling: SamplingArgs,
    /// Whether only one message is answered.
    one: bool,
    /// Whether lines with counts and times follow each answer.
    verbose: bool,
    settings: &'a DialogueArgs,
    args: &'a OutputArgs,
    /// The file that keeps the conversation.
    session: Option<SessionFile>,
    signals: &'a Signals,
}

impl Conversation<'_> {
    /// Answers all messages until the input ends.
    fn go_on(&mut self) -> Result<(), Error> {
        let mut lines = Lines::new(most_bytes(self.model), !self.settings.no_history, self.signals)?;
        let terminal = lines.is_terminal();
        if terminal {
            terminal::note("/help lists the commands; Ctrl-D ends");
            if !self.dialogue.messages().is_empty() {
                terminal::note(&format!("messages: {}", self.dialogue.messages().len()));
            }
        }
        while let Some(line) = self.next_of(&mut lines)? {
            let command = match Command::of(&line) {
                // On a terminal the user meant a command; a program that writes to a pipe may not know the commands.
                Ok(Command::Unknown(word)) if terminal => Err(Command::unknown(word)),
                Ok(Command::Unknown(word)) => {
                    terminal::note(&format!("note: {word} is not a command: the line is a message"));
                    Ok(Command::Say(&line))
                }
                command => command,
            };
            let result = match command {
                Ok(Command::Quit) => return Ok(()),
                Ok(Command::Say(text)) if text.trim().is_empty() => continue,
                Ok(Command::Say(text)) => self.answer(Some(text)),
                Ok(Command::Regenerate) => self.answer(None),
                Ok(command) => self.obey(&command),
                Err(e) => Err(Error::Usage(e)),
            };
            match result {
                // On a terminal the signal ends only the answer, and the user may continue.
                Err(Error::Interrupted) if terminal && !termination::requested() => self.signals.renew(),
                Err(e) if terminal && !matches!(e, Error::Output(_) | Error::Interrupted) => e.tell(),
                result => result?,
            }
        }
        Ok(())
    }

    /// Waits for the next line. A signal ends the program here, after the conversation is saved.
    fn next_of(&self, lines: &mut Lines) -> Result<Option<String>, Error> {
        let _saving = self.session.clone().map(|session| {
            let (dialogue, options) = (self.dialogue.clone(), self.options());
            self.signals.before_end(move || Ok(dialogue.save(session.path(), &options)?))
        });
        lines.next()
    }

    /// Saves the conversation at the end of the program.
    fn keep(&self, result: Result<(), Error>) -> Result<(), Error> {
        // A second signal ends the program without it.
        let _watch = self.signals.watch();
        match &self.session {
            Some(session) => session.keep(result, |path| self.dialogue.save(path, &self.options())),
            None => result,
        }
    }

    /// The options of the command line, with the changes of `/set`.
    fn options(&self) -> Options {
        let mut options = self.sampling.options().cancel(self.signals.cancel());
        options.template_vars.clone_from(&self.settings.template_var);
        options.template_limits = self.settings.limits.limits();
        options
    }

    /// Answers a message, or without one the last message again. A signal ends the answer.
    fn answer(&mut self, message: Option<&str>) -> Result<(), Error> {
        let _watch = self.signals.watch();
        let options = self.options();
        let turn = match message {
            Some(message) => self.dialogue.ask(message, &options).map(Some),
            None => self.dialogue.ask_again(&options),
        };
        let nothing = || Error::Usage("there is no message to answer again".to_string());
        let mut turn = turn.map_err(advised)?.ok_or_else(nothing)?;
        if turn.forgotten > 0 {
            let turns = match turn.forgotten {
                1 => "turn is".to_string(),
                n => format!("{n} turns are"),
            };
            terminal::note(&format!("note: the context is full; the oldest {turns} forgotten"));
        }
        let answer = Results::of_chat(self.args.json).stream(&mut turn.stream)?;
        self.dialogue.answered(&answer.text);
        if self.one || self.verbose {
            summary(&turn.stream, self.verbose);
        } else if turn.stream.finish() == Some(FinishReason::Context) {
            terminal::note("note: the context is full; the answer ends here");
        }
        match answer.failure {
            Some(e) => Err(e.into()),
            None if turn.stream.finish() == Some(FinishReason::Cancelled) => Err(Error::Interrupted),
            None => Ok(()),
        }
    }

    fn obey(&mut self, command: &Command<'_>) -> Result<(), Error> {
        match *command {
            Command::Help => help().iter().for_each(|line| terminal::note(line)),
            Command::Reset => self.dialogue.reset(),
            Command::System(text) => self.dialogue.set_system(text),
            Command::Show => {
                let lines = show::lines(&self.name, self.model, &self.dialogue, &self.options());
                lines.iter().for_each(|line| terminal::note(line));
            }
            Command::Set(ref line) => {
                let mut changed = self.sampling.clone();
                crate::args::sampling_line(&mut changed, line).map_err(Error::Usage)?;
                changed.check()?;
                self.sampling = changed;
            }
            Command::Verbose(on) => self.verbose = on,
            Command::Save(file) => saved::save(file, self.dialogue.messages())?,
            Command::Load(file) => {
                let messages = saved::load(file)?;
                terminal::note(&format!("messages: {}", messages.len()));
                self.dialogue.set_messages(messages);
            }
            Command::Undo => {
                if !self.dialogue.undo() {
                    terminal::note("there is no message to remove");
                }
            }
            Command::Say(_) | Command::Regenerate | Command::Unknown(_) | Command::Quit => {}
        }
        Ok(())
    }
}
