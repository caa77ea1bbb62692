//! Arguments of `complete`.

use super::{InputArgs, OutputArgs};
use clap::Args;

const EXAMPLES: &str = "Examples:
  inkstone complete \"Once upon a time\"
  inkstone complete model.gguf \"The capital of France is\" -n 100 --seed 7
  inkstone complete model.gguf < prompt.txt
  inkstone complete model.gguf -p \"Q: 2+2? A:\" --temp 0 --stop \"Q:\" --json
  inkstone complete model.gguf -f turns.txt --special
  inkstone complete model.gguf \"Chapter one:\" --session book   goes on from the file book, and saves it

A single argument is the model if it is an existing file, ends in .gguf, has a path separator and
no space, or is a name that `inkstone list` shows; any other argument is the prompt. The last line
end of standard input or of a file is not part of the prompt. If a prompt is given, a pipe or file
on standard input follows it, after an empty line.";

/// Continue a prompt as raw text, without a chat template
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompleteArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) raw: RawArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Options that apply only to raw text: with one of them `run` continues the prompt as raw text.
#[derive(Args, Debug)]
pub(crate) struct RawArgs {
    /// Encode the texts of control tokens in the prompt, such as <|im_start|>, as control tokens
    #[arg(long)]
    pub(crate) special: bool,
}

impl RawArgs {
    /// The first of these options that is set.
    pub(super) fn given(&self) -> Option<&'static str> {
        self.special.then_some("--special")
    }
}
