//! Arguments of `template`, and the arguments about templates that `chat` shares.

use super::{FileArgs, number};
use clap::Args;
use inkstone::text::TemplateLimits;
use serde_json::Value;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  inkstone template model.gguf --messages chat.json
  echo '[{\"role\": \"user\", \"content\": \"Hi\"}]' | inkstone template model.gguf --ids
  inkstone template model.gguf --template new.jinja --messages chat.json --runs
  inkstone template model.gguf --lines < requests.jsonl

MODEL may be a vocabulary without tensors; the default is the built-in story model.
A conversation is a JSON list of messages, in the format of chat APIs. On a terminal, the text that
the template wrote is dim; only this text can become control tokens.
With --lines each line of standard input is a request: an object with any of the fields template,
messages, tools, documents, variables, add_generation_prompt and now. The result is a line with
the field text, refused or failed.";

/// Print the prompt that a chat template renders for a conversation
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TemplateArgs {
    #[command(flatten)]
    pub(crate) model: FileArgs,
    /// File with a chat template (Jinja) that replaces the template of the model
    #[arg(long, value_name = "FILE")]
    pub(crate) template: Option<PathBuf>,
    /// JSON file with the messages; -: standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) messages: PathBuf,
    /// JSON file with the functions that the model may call
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// JSON file with documents that the answer should be based on
    #[arg(long, value_name = "FILE")]
    pub(crate) documents: Option<PathBuf>,
    /// Variable of the chat template, such as enable_thinking=false; can be repeated
    #[arg(long, value_name = "NAME=JSON", value_parser = variable)]
    pub(crate) template_var: Vec<(String, Value)>,
    /// Do not end the prompt with the beginning of an answer
    #[arg(long)]
    pub(crate) no_answer: bool,
    /// Time for the template, in seconds since 1970, UTC [default: now]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) now: Option<i64>,
    /// Print the token ids that `chat` would use: [1, 2, 3]
    #[arg(long)]
    pub(crate) ids: bool,
    /// Print the origin of the bytes of the prompt as JSON: start, end, origin, generated
    #[arg(long)]
    pub(crate) runs: bool,
    /// Read one request per line and print one result per line, in JSON
    #[arg(long, conflicts_with_all = ["messages", "tools", "documents", "template_var", "no_answer", "now"])]
    pub(crate) lines: bool,
    #[command(flatten)]
    pub(crate) limits: TemplateLimitArgs,
}

/// The limits of a chat template. A missing limit grows with the conversation.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits of the chat template")]
pub(crate) struct TemplateLimitArgs {
    /// Maximum number of steps [default: grows with the conversation]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::whole::<u64>(1, u64::MAX))]
    template_steps: Option<u64>,
    /// Maximum memory of its values in bytes [default: grows with the conversation]
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, value_parser = number::whole::<u64>(1, u64::MAX))]
    template_memory: Option<u64>,
    /// Maximum size of the prompt in bytes [default: grows with the conversation]
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, value_parser = number::whole::<u64>(1, u64::MAX))]
    template_output: Option<u64>,
}

impl TemplateLimitArgs {
    /// The limits for the library.
    pub(crate) fn limits(&self) -> TemplateLimits {
        let mut limits = TemplateLimits::default();
        limits.steps = self.template_steps;
        limits.memory = self.template_memory;
        limits.output = self.template_output;
        limits
    }
}

/// `NAME=JSON`
pub(super) fn variable(argument: &str) -> Result<(String, Value), String> {
    let wrong = "allowed: NAME=JSON, as in enable_thinking=false or style=\"short\"";
    let (name, json) = argument.split_once('=').ok_or(wrong)?;
    Ok((name.to_string(), serde_json::from_str(json).map_err(|e| format!("{wrong}; {e}"))?))
}
