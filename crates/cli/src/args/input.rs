//! Arguments that `run`, `complete` and `chat` share: the model, the prompt, and the output.

use super::source::{self, ModelSource, PromptSource};
use super::{EngineArgs, sampling::SamplingArgs};
use crate::Error;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// The model and the prompt.
#[derive(Args, Debug)]
pub(crate) struct InputArgs {
    /// GGUF file, then the prompt [default: the built-in story model, standard input]
    #[arg(value_names = ["MODEL", "PROMPT"], num_args = 0..=2)]
    arguments: Vec<OsString>,
    /// GGUF file, or a name that `list` shows
    #[arg(short, long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// The prompt
    #[arg(short, long, value_name = "PROMPT", allow_hyphen_values = true)]
    prompt: Option<OsString>,
    /// File with the prompt; -: standard input
    #[arg(short, long, value_name = "FILE", conflicts_with = "prompt")]
    file: Option<PathBuf>,
}

impl InputArgs {
    /// The model and the prompt that the arguments name.
    pub(crate) fn sources(&self) -> Result<(ModelSource, PromptSource), Error> {
        source::sources(&source::Given {
            arguments: &self.arguments,
            model: self.model.as_deref(),
            prompt: self.prompt.as_deref(),
            file: self.file.as_deref(),
        })
    }
}

/// The options of the generation and the output.
#[derive(Args, Debug)]
#[command(next_help_heading = None::<&'static str>)]
pub(crate) struct OutputArgs {
    /// Go on from the text or conversation in FILE, if there is one, and save it there at the end
    #[arg(long, value_name = "FILE")]
    pub(crate) session: Option<PathBuf>,
    /// Print one JSON object per piece of text; the last has finish, seed, usage and timings
    #[arg(long)]
    pub(crate) json: bool,
    /// Print more about the model and the timings
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Print the time of each kernel after the text, and its share of the memory bandwidth
    #[arg(long)]
    pub(crate) profile: bool,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
}
