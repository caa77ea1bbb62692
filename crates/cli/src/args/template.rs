//! Arguments of `template`, and those of chat templates that `chat` has, too.

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

MODEL may be a vocabulary without tensors; without it the built-in story model is used.
A conversation is a JSON list of messages, as the APIs of chat servers have it. On a terminal,
what the template wrote is dim; special tokens are found only there.
With --lines each line of the standard input is a request, an object with any of template,
messages, tools, documents, variables, add_generation_prompt, now; its answer is a line with text,
refused or failed.";

/// Prints the prompt that a chat template makes of a conversation
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TemplateArgs {
    #[command(flatten)]
    pub(crate) model: FileArgs,
    /// File with a chat template (Jinja) instead of the model's own
    #[arg(long, value_name = "FILE")]
    pub(crate) template: Option<PathBuf>,
    /// JSON file with the messages; -: standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) messages: PathBuf,
    /// JSON file with the functions that the model may call
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// JSON file with texts to answer from
    #[arg(long, value_name = "FILE")]
    pub(crate) documents: Option<PathBuf>,
    /// Variable of the chat template, such as enable_thinking=false; may be given several times
    #[arg(long, value_name = "NAME=JSON", value_parser = variable)]
    pub(crate) template_var: Vec<(String, Value)>,
    /// The prompt does not end where an answer begins
    #[arg(long)]
    pub(crate) no_answer: bool,
    /// The time that the template is told: seconds since 1970, UTC [default: now]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) now: Option<i64>,
    /// The tokens of the prompt, as `chat` sends them: [1, 2, 3]
    #[arg(long)]
    pub(crate) ids: bool,
    /// Where the bytes of the prompt come from, as JSON: start, end, origin, generated
    #[arg(long)]
    pub(crate) runs: bool,
    /// Reads requests and writes answers, a line of JSON each
    #[arg(long, conflicts_with_all = ["messages", "tools", "documents", "template_var", "no_answer", "now"])]
    pub(crate) lines: bool,
    #[command(flatten)]
    pub(crate) limits: TemplateLimitArgs,
}

/// What is not given grows with the conversation.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits of the chat template")]
pub(crate) struct TemplateLimitArgs {
    /// Steps that the template may take [default: grows with the conversation]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::whole::<u64>(1, u64::MAX))]
    template_steps: Option<u64>,
    /// Bytes that its values may have at a time [default: grows with the conversation]
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, value_parser = number::whole::<u64>(1, u64::MAX))]
    template_memory: Option<u64>,
    /// Bytes of the prompt [default: grows with the conversation]
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, value_parser = number::whole::<u64>(1, u64::MAX))]
    template_output: Option<u64>,
}

impl TemplateLimitArgs {
    /// As the library takes them.
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
