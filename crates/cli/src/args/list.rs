//! Arguments of `list`.

use clap::Args;

const EXPLANATION: &str = "The search reads these folders and their subfolders:
  the folders in INKSTONE_MODELS, a list like PATH
  the caches of llama.cpp (LLAMA_CACHE) and Hugging Face (HF_HUB_CACHE, HF_HOME)
  the models of Ollama (OLLAMA_MODELS) and LM Studio

Every command takes a listed name as its MODEL: inkstone chat NAME. A file with that path comes
first. The name `story` stands for the built-in story model.";

/// List the models of this machine: name, architecture, size, file, and whether they run
#[derive(Args, Debug)]
#[command(after_help = EXPLANATION, alias = "ls")]
pub(crate) struct ListArgs {
    /// Print a JSON array of objects: name, path, architecture, bytes, runs, reason
    #[arg(long)]
    pub(crate) json: bool,
}
