//! Arguments of `chat`, and the options that a conversation can change.

use super::source::{self, ModelSource, PromptSource};
use super::template::TemplateLimitArgs;
use super::{EngineArgs, report, sampling::SamplingArgs};
use crate::Error;
use clap::{Args, FromArgMatches};
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  inkstone chat                                     a conversation with the model inside the program
  inkstone chat model.gguf --system \"Be brief.\"
  inkstone chat model.gguf \"What is a GGUF file?\"   one answer, then the end

A single argument is the model if it is an existing file, ends in .gguf, or has a path separator
and no space; any other is the message. Without a message each line of the standard input is one.
/help in a conversation lists its commands.";

/// Answers messages in the form of the model's chat template
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ChatArgs {
    /// GGUF file, then a message [default: the model inside the program, a conversation]
    #[arg(value_names = ["MODEL", "MESSAGE"], num_args = 0..=2)]
    arguments: Vec<OsString>,
    /// GGUF file
    #[arg(short, long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// What the model shall keep to
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) system: Option<OsString>,
    /// File with a chat template (Jinja) instead of the model's own
    #[arg(long, value_name = "FILE")]
    pub(crate) template: Option<PathBuf>,
    /// Variable of the chat template, such as enable_thinking=false; may be given several times
    #[arg(long, value_name = "NAME=JSON", value_parser = super::template::variable)]
    pub(crate) template_var: Vec<(String, serde_json::Value)>,
    #[command(flatten)]
    pub(crate) limits: TemplateLimitArgs,
    /// One JSON object for each piece of text; the last of an answer has finish, seed, usage and timings
    #[arg(long)]
    pub(crate) json: bool,
    /// Says more about the model and where the time went
    #[arg(short, long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
}

impl ChatArgs {
    /// The model, and the message if there is one.
    pub(crate) fn sources(&self) -> Result<(ModelSource, Option<OsString>), Error> {
        self.sampling.check()?;
        let (arguments, model) = (&self.arguments[..], self.model.as_deref());
        let (model, prompt) = source::sources(&source::Given { arguments, model, prompt: None, file: None })?;
        Ok((model, if let PromptSource::Argument(text) = prompt { Some(text) } else { None }))
    }
}

/// Changes options by a line without dashes: `temperature 0.5`. If it is wrong nothing changes, and the error is a line.
pub(crate) fn sampling_line(options: &mut SamplingArgs, line: &str) -> Result<(), String> {
    let (name, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let value = value.trim_start();
    let arguments = ["set".to_string(), format!("--{}", name.trim_start_matches('-'))];
    let value = (!value.is_empty()).then(|| value.to_string());
    let command = SamplingArgs::augment_args_for_update(clap::Command::new("set")).disable_help_flag(true);
    let mut changed = options.clone();
    command
        .try_get_matches_from(arguments.into_iter().chain(value))
        .and_then(|matches| changed.update_from_arg_matches(&matches))
        .map_err(|e| report::line(&e).replace("--", "").replace("; see help", "; see /help"))?;
    *options = changed;
    Ok(())
}
