//! Arguments of `list`.

use clap::Args;

const EXPLANATION: &str = "The search reads these folders and their subfolders:
  the folders in INKSTONE_MODELS, a list like PATH
  the caches of llama.cpp (LLAMA_CACHE) and Hugging Face (HF_HUB_CACHE, HF_HOME)
  the models of Ollama (OLLAMA_MODELS) and LM Studio (~/.lmstudio-home-pointer)

Every command takes a listed name as its MODEL: inkstone chat NAME. If NAME is also the path of a
file, the file is the model. The name `story` stands for the built-in story model.";

/// List the models of this machine: name, architecture, size, file, and whether they run
#[derive(Args, Debug)]
#[command(after_help = EXPLANATION, alias = "ls")]
pub(crate) struct ListArgs {
    /// Print a JSON array of objects with name, path, architecture, bytes, runs and reason
    #[arg(long)]
    pub(crate) json: bool,
}
