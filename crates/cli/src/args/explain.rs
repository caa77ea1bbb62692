//! Arguments of `explain`.

use super::{EngineArgs, FileArgs, ModelSource, number};
use crate::Error;
use clap::Args;
use inkstone::Phase;

const EXAMPLES: &str = "Examples:
  inkstone explain                       the built-in story model, as it draws a token
  inkstone explain model.gguf --rows 8   as it draws for eight sequences at once
  inkstone explain model.gguf --prefill --isa avx2 --threads 1";

/// Shows what a model runs as: each step with its kernel, and why others were refused
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    model: FileArgs,
    /// Sequences that draw a token each, or with --prefill tokens of a prompt [default: 1; with --prefill 64, as run has them]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::whole::<usize>(1, 0x7FFF_FFFF))]
    rows: Option<usize>,
    /// Tokens of a prompt, instead of sequences that draw
    #[arg(long)]
    prefill: bool,
    /// Each layer, also where it is like one before
    #[arg(long)]
    pub(crate) all: bool,
    /// The graphs of the model, as they are traced
    #[arg(long, conflicts_with_all = ["plan", "json", "all", "rows", "prefill"])]
    pub(crate) graph: bool,
    /// The plan, as engines get it
    #[arg(long, conflicts_with_all = ["json", "all"])]
    pub(crate) plan: bool,
    /// One JSON object
    #[arg(long, conflicts_with = "all")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

impl ExplainArgs {
    pub(crate) fn source(&self) -> Result<ModelSource, Error> {
        self.model.given().map_or(Ok(ModelSource::Embedded), ModelSource::named)
    }

    /// The plan that is meant, where a step of a prompt has at most `chunk` tokens.
    pub(crate) fn phase(&self, chunk: usize) -> Phase {
        match self.prefill {
            true => Phase::Prefill(self.rows.unwrap_or(chunk)),
            false => Phase::Decode(self.rows.unwrap_or(1)),
        }
    }
}
