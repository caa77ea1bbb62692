//! Arguments of `chat`, and the options that a conversation can change.

use super::template::TemplateLimitArgs;
use super::{EngineArgs, InputArgs, OutputArgs, report, sampling::SamplingArgs};
use clap::{Args, FromArgMatches};
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  inkstone chat                                     a conversation with the built-in model
  inkstone chat model.gguf --system \"Be brief.\"
  inkstone chat model.gguf \"What is a GGUF file?\"   one answer, then the end
  inkstone chat model.gguf \"Summarise this text.\" < report.txt
  inkstone chat model.gguf --session talk           goes on from the file talk, and saves it

A single argument is the model if it is an existing file, ends in .gguf, has a path separator and
no space, or is a name that `inkstone list` shows; any other argument is the message. A pipe or
file on standard input follows the message, after an empty line; without a message on the command
line, each line of standard input is a message. In a conversation, /help lists the commands.";

/// Answer a message, or hold a conversation, with the chat template of the model
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) dialogue: DialogueArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Options that apply to messages and their template.
#[derive(Args, Debug)]
pub(crate) struct DialogueArgs {
    /// System message: instructions for the whole conversation
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) system: Option<OsString>,
    /// File with a chat template (Jinja) that replaces the template of the model
    #[arg(long, value_name = "FILE")]
    pub(crate) template: Option<PathBuf>,
    /// Variable of the chat template, such as enable_thinking=false; can be repeated
    #[arg(long, value_name = "NAME=JSON", value_parser = super::template::variable)]
    pub(crate) template_var: Vec<(String, serde_json::Value)>,
    /// Do not store a history of the typed lines
    #[arg(long)]
    pub(crate) no_history: bool,
    #[command(flatten)]
    pub(crate) limits: TemplateLimitArgs,
}

impl DialogueArgs {
    /// The first of the options that only messages have. The limits are not among them: they request nothing.
    pub(super) fn given(&self) -> Option<&'static str> {
        let options = [
            ("--system", self.system.is_some()),
            ("--template", self.template.is_some()),
            ("--template-var", !self.template_var.is_empty()),
        ];
        options.into_iter().find_map(|(name, given)| given.then_some(name))
    }
}

/// Whether an option belongs to the model, which is opened once: a conversation can't change it.
pub(crate) fn is_fixed(name: &str) -> bool {
    let command = EngineArgs::augment_args(clap::Command::new("chat"));
    command
        .get_arguments()
        .any(|option| option.get_long_and_visible_aliases().is_some_and(|names| names.contains(&name)))
}

/// Changes options with a line without dashes, such as `temperature 0.5`. An invalid line changes nothing and returns a
/// one-line error.
pub(crate) fn sampling_line(options: &mut SamplingArgs, line: &str) -> Result<(), String> {
    let (name, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let value = value.trim_start();
    let name = format!("--{}", name.trim_start_matches('-'));
    let argument = if value.is_empty() { name } else { format!("{name}={value}") };
    let command = SamplingArgs::augment_args_for_update(clap::Command::new("set")).disable_help_flag(true);
    let mut changed = options.clone();
    command
        .clone()
        .try_get_matches_from(["set".to_string(), argument])
        .and_then(|matches| changed.update_from_arg_matches(&matches))
        .map_err(|e| report::line(&e, &command).replace("--", "").replace("; see help", "; see /help"))?;
    *options = changed;
    Ok(())
}
