//! Arguments of `explain`.

use super::{EngineArgs, FileArgs, ModelSource, number};
use crate::Error;
use clap::Args;
use inkstone::Phase;

const EXAMPLES: &str = "Examples:
  inkstone explain                       the built-in story model, decoding one token
  inkstone explain model.gguf --rows 8   decoding with eight sequences
  inkstone explain model.gguf --prefill --isa avx2 --threads 1";

/// The tokens of the first step of a long prompt. The time of a step decides how many the next one has.
const PROMPT_ROWS: usize = 64;

/// Show the steps of a model with their kernels, and why other kernels were rejected
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    model: FileArgs,
    /// Number of sequences that decode, or of prompt tokens with --prefill [default: 1, or 64 with --prefill, as in
    /// the first step of a prompt]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::whole::<usize>(1, 0x7FFF_FFFF))]
    rows: Option<usize>,
    /// Show a step with prompt tokens instead of decoding sequences
    #[arg(long)]
    prefill: bool,
    /// Show all layers, including layers that are equal to an earlier one
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the traced graphs of the model
    #[arg(long, conflicts_with_all = ["plan", "json", "all", "rows", "prefill"])]
    pub(crate) graph: bool,
    /// Print the plan for the engine
    #[arg(long, conflicts_with_all = ["json", "all"])]
    pub(crate) plan: bool,
    /// Print one JSON object
    #[arg(long, conflicts_with = "all")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

impl ExplainArgs {
    pub(crate) fn source(&self) -> Result<ModelSource, Error> {
        self.model.given().map_or(Ok(ModelSource::Embedded), ModelSource::named)
    }

    /// The plan to explain.
    pub(crate) fn phase(&self) -> Phase {
        match self.prefill {
            true => Phase::Prefill(self.rows.unwrap_or(PROMPT_ROWS)),
            false => Phase::Decode(self.rows.unwrap_or(1)),
        }
    }
}
