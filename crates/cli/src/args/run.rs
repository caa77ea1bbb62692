//! Arguments of `run`.

use super::source::{self, ModelSource, PromptSource};
use super::{EngineArgs, sampling::SamplingArgs};
use crate::Error;
use clap::Args;
use inkstone::Options;
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  inkstone run \"Once upon a time\"
  inkstone run model.gguf \"Once upon a time\" -n 100 --seed 7
  inkstone run model.gguf < prompt.txt
  inkstone run model.gguf -p \"Q: 2+2? A:\" --temp 0 --stop \"Q:\" --json
  inkstone run model.gguf -f turns.txt --special

A single argument is the model if it is an existing file, ends in .gguf, or has a path separator
and no space; any other is the prompt. Of a prompt from standard input or a file, one line end at
its end is left out.";

/// Continues a text
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// GGUF file, then the text to continue [default: the model inside the program, standard input]
    #[arg(value_names = ["MODEL", "PROMPT"], num_args = 0..=2)]
    arguments: Vec<OsString>,
    /// GGUF file
    #[arg(short, long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// The text to continue
    #[arg(short, long, value_name = "PROMPT", allow_hyphen_values = true)]
    prompt: Option<OsString>,
    /// File with the text to continue
    #[arg(short, long, value_name = "FILE", conflicts_with = "prompt")]
    file: Option<PathBuf>,
    /// Makes control tokens out of their texts in the prompt, such as <|im_start|>
    #[arg(long)]
    special: bool,
    /// One JSON object for each piece of text; the last has finish, seed, usage and timings
    #[arg(long)]
    pub(crate) json: bool,
    /// Says more about the model and where the time went
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Shows after the text what each kernel took, and its share of the speed of the memory
    #[arg(long)]
    pub(crate) profile: bool,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
}

impl RunArgs {
    /// The model and the prompt that are meant.
    pub(crate) fn sources(&self) -> Result<(ModelSource, PromptSource), Error> {
        self.sampling.check()?;
        source::sources(&source::Given {
            arguments: &self.arguments,
            model: self.model.as_deref(),
            prompt: self.prompt.as_deref(),
            file: self.file.as_deref(),
        })
    }

    /// As the library takes them.
    pub(crate) fn options(&self) -> Options {
        self.sampling.options().special(self.special)
    }
}
